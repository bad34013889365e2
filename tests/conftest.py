"""What all tests share."""

from hypothesis import settings

# A busy machine is no failure: what a test may take is bounded by the test run, not by each example.
# The same examples each time; `--hypothesis-profile=default` looks for others.
settings.register_profile("canopy", deadline=None, derandomize=True)
settings.load_profile("canopy")
