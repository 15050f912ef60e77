"""State that another program or machine keeps: looked at, never written."""
