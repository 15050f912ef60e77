"""Which model a session counts for, and how much its context holds."""
