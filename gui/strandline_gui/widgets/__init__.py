"""Widgets that pages are made of, painted from the tokens of ``theme``."""
