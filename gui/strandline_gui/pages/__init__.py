"""Pages: one question each, with the evidence and the tools for it."""
