"""Data that ships with Strandline: fonts and the recipe of the sample state. No code."""
