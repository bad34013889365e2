"""What all tests share."""

import os

from hypothesis import settings

# Sources are tested, not a compiled copy of them; with CANOPY_FAST=.venv/fast it is that.
os.environ.setdefault("CANOPY_FAST", "0")

# A busy machine is no failure: what a test may take is bounded by the test run, not by each example.
# The same examples each time; `--hypothesis-profile=default` looks for others.
settings.register_profile("canopy", deadline=None, derandomize=True)
settings.load_profile("canopy")
