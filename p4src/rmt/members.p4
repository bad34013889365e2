#ifndef CANOPY_RMT_MEMBERS_P4
#define CANOPY_RMT_MEMBERS_P4

#include "../include/metadata.p4"

// Members and whom to tell of them, each register a pair of words that a packet reads and writes once, one after the other
// (docs/hardware.md, "Joins"). Ports are numbered up to 32.
typedef bit<32> ports_t;
typedef bit<64> pair_t;
#define FIRST_OF(pair)  pair[63:32]
#define SECOND_OF(pair) pair[31:0]

// {epoch, ports that joined in it}, for every second epoch. `held`: what it has of the expected epoch; `gone`: of another.
control members_of_epoch(in slot_t slot, in bit<32> expected, in bit<1> ages, in ports_t joins, in ports_t leaves,
                         out ports_t held, out ports_t gone) {
    register<pair_t>(MAX_SLOTS) epochs;

    apply {
        pair_t pair;
        epochs.read(pair, (bit<32>)slot);
        held = 0;
        gone = 0;
        if (FIRST_OF(pair) == expected) {
            held = SECOND_OF(pair);
        } else {
            gone = SECOND_OF(pair);
        }
        if (leaves != 0) {
            epochs.write((bit<32>)slot, FIRST_OF(pair) ++ (SECOND_OF(pair) & ~leaves));
        } else if (ages == 1) {
            epochs.write((bit<32>)slot, expected ++ (held | joins));
        }
    } // apply
} // members_of_epoch

// The members of a slot before this packet: of this epoch and the one before. `expired`: who was one and is not any more,
// told once, for with `ages` the slot is written as it is now.
control slot_members(in metadata_t meta, in slot_t slot, in bit<1> ages, in ports_t joins, in ports_t leaves,
                     out ports_t members, out ports_t expired) {
    members_of_epoch() even;
    members_of_epoch() odd;

    apply {
        bit<32> epoch = meta.tick >> 2;
        bit<32> even_epoch = epoch;
        bit<32> odd_epoch = epoch - 1;
        ports_t even_joins = joins;
        ports_t odd_joins = 0;
        if (epoch[0:0] == 1) {
            even_epoch = epoch - 1;
            odd_epoch = epoch;
            even_joins = 0;
            odd_joins = joins;
        }
        ports_t even_held;
        ports_t even_gone;
        ports_t odd_held;
        ports_t odd_gone;
        even.apply(slot, even_epoch, ages, even_joins, leaves, even_held, even_gone);
        odd.apply(slot, odd_epoch, ages, odd_joins, leaves, odd_held, odd_gone);
        members = even_held | odd_held;
        expired = (even_gone | odd_gone) & ~members;
    } // apply
} // slot_members

// {tick, ports noted in it}: `before` are those that were noted earlier in this tick.
control note_in_tick(in slot_t slot, in bit<32> tick, in ports_t ports, out ports_t before) {
    register<pair_t>(MAX_SLOTS) ticks;

    apply {
        pair_t pair;
        ticks.read(pair, (bit<32>)slot);
        before = 0;
        if (FIRST_OF(pair) == tick) {
            before = SECOND_OF(pair);
        }
        ticks.write((bit<32>)slot, tick ++ (before | ports));
    } // apply
} // note_in_tick

#endif
