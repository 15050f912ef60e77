"""When history is summarised, and what is left of it."""
