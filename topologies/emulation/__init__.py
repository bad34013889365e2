"""Scenarios in real time: Mininet hosts, live P4 switches, real sockets."""

import sys

# Mininet compares two versions with `distutils`. setuptools puts its own in the place of Python's, and that takes
# 0.15 s of each program's start.
if sys.version_info < (3, 12) and (shim := sys.modules.get("_distutils_hack")) is not None:
    shim.remove_shim()
