"""What holds for every test."""

from __future__ import annotations

import hypothesis

# A slow machine is no defect: no example fails for the time it takes.
hypothesis.settings.register_profile("strandline", deadline=None)
hypothesis.settings.load_profile("strandline")
