"""What P4 switches did with a packet of a simulated run: `canopy explain` (docs/web.md)."""
