"""Canopy beside living implementations of multicast congestion control: `canopy compare-peers`."""
