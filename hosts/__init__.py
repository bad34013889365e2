"""Protocols' endpoints, and what drives them."""
