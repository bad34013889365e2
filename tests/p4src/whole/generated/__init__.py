"""Sequences of entries and packets that pass canopy.p4's statements, with what simple_switch_grpc made of them."""
