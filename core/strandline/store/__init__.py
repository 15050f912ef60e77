"""The session store: the rows of sessions.json as the real program holds them."""
