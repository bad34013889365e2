"""Scenarios in virtual time: the protocol cores, the P4 program and the controller's core around the simulator."""
