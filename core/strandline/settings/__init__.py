"""openclaw.json: the document, what each setting accepts, and the frozen policies that follow from it."""
