"""What all tests share."""

from hypothesis import settings

# A busy machine is no failure: what a test may take is bounded by the test run, not by each example.
settings.register_profile("canopy", deadline=None)
settings.load_profile("canopy")
