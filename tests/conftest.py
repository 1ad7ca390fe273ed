"""Profiles of hypothesis for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The time of an example depends more on the machine than on the code.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=400)  # in `make integration`
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
