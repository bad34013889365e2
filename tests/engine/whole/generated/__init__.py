"""Packet tests that P4Testgen made of the project's programs (docs/conformance.md), and what makes them anew."""
