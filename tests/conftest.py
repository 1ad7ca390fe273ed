"""What holds for every test."""

from __future__ import annotations

import os

from hypothesis import settings

# How long an example takes says more of the machine than of the code.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=400)  # in `make integration`
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
