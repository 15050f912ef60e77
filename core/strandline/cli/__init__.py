"""The ``strandline`` command: a thin front end that prints what the gateway answers."""
