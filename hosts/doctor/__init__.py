"""`canopy doctor`: what a machine has for Canopy, what it lacks, and what to do about it."""
