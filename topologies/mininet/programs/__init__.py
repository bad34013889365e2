"""P4 programs to begin with in Mininet, with what p4c made of them."""
