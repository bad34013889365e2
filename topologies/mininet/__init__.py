"""Canopy's switch and links for anybody's Mininet script (docs/mininet.md)."""

from topologies.mininet.link import CanopyLink
from topologies.mininet.switch import CanopySwitch

__all__ = ["CanopyLink", "CanopySwitch"]
