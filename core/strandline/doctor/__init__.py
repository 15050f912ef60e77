"""Collects the findings that each room offers about its own things. Findings decide nothing and change nothing."""
