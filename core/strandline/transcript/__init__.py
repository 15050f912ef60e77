"""From a transcript's bytes to its records, their tree and what its ends say; nothing is ever written.

Reading goes in one direction: ``lines`` splits bytes into envelopes and damage (``salvage`` searches what is broken),
``index`` puts a file's entries behind one interface and reads older versions as the real program migrates them,
``tree`` joins them, ``records`` decodes one entry with every field. ``head`` and ``tail`` answer from a few reads.
"""
