"""`canopy bench switch`: what the embedded switch does in a second, and what it costs.

- `workload`: a program, its entries, the frame that is sent and where it should come out; as data
- `replication`, `forwarding`: the project's program copying 1 to 8, and plain L2 and L3 programs (programs/*.p4)
- `in_process`: the data path alone, on one core; `tables`: with many entries; `files`: simple_switch_grpc's likewise
- `network`: the same workloads between veth pairs, for the embedded switch and for simple_switch_grpc
- `footprint`: start-up time and memory of the processes
- `report`, `cli`: figures with their targets, and the command
"""
