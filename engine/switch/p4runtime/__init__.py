"""The P4Runtime server of the embedded switch: gRPC on one side, `canopy_engine.Switch` on the other.

The modules follow the specification's chapters (P4Runtime 1.5.0):

- `bytestrings`, `translation`, `p4info`, `program`, `match`, `actions`: how values, ids and names are written and
  checked; `restrictions`: what the program itself asks of entries and arguments.
- `tables`, `action_profiles`, `replication`, `counters`, `meters`, `value_sets`, `digests`: the entities. Each keeps
  what the data plane does not (metadata, cookies, one-shot groups), changes the data plane first and itself after.
- `pipeline`: one forwarding pipeline config with the entities that belong to it.
- `kinds`: one table of what writes each kind of entity and what a Read selects of it, by the functions of `selection`.
- `intake`, `rights`: what is taken of whom before it is parsed.
- `write`, `read`: batches. `arbitration`, `roles`: who may. `packet_io`, `streams`, `notifications`: the StreamChannel.
- `device`, `service`, `server`: the switch as a whole, its RPCs, and the gRPC server around them.
- `datapath`: where packets come from, which is a live switch on AF_PACKET ports or the memory of a test.
"""
