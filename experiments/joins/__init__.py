"""Joins as a Linux bridge answers them, and as the switches do, in real time."""
