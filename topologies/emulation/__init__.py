"""Scenarios in real time: Mininet hosts, live P4 switches, real sockets."""
