"""From a transcript's entries to what the model sees."""
