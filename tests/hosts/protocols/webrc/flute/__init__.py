"""FLUTE's parts, each alone."""
