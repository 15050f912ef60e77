"""The worker process: long decoding happens there, so that no loop and no window waits for it."""
