"""The embedded switch against simple_switch_grpc: the same random entries and packets through both.

`values`, `entries` and `packets` make them for any program, from its P4Info and its JSON; `switches` has the two sides;
`compare` runs a program on both and says where they differ.
"""
