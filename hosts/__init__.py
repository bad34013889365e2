"""Protocols' endpoints, and what drives them. Modules may come from a compiled copy (hosts/compiled.py)."""

from hosts import compiled

compiled.take_over(__path__)
