"""Packet-level tests of the P4 program, on the embedded switch and, where it is installed, on simple_switch_grpc."""
