#ifndef CANOPY_MULTICAST_MEMBERSHIP_P4
#define CANOPY_MULTICAST_MEMBERSHIP_P4

#include "../include/metadata.p4"

// One word per slot: the epoch it was written in, the ports that reported in that epoch (recent), and those of the
// epoch before (older). Members are both. When an epoch ends the older ones are forgotten, so that silence expires a
// member after one to two epochs. Nothing runs when no packet comes: the word is aged by whoever reads it. Only ingress
// touches the register.
typedef bit<(32 + 2 * MAX_PORTS)> membership_t;
#define EPOCH_OF(word)  word[2 * MAX_PORTS + 31:2 * MAX_PORTS]
#define RECENT_OF(word) word[2 * MAX_PORTS - 1:MAX_PORTS]
#define OLDER_OF(word)  word[MAX_PORTS - 1:0]

@name(".membership")
register<membership_t>(MAX_SLOTS) membership;

control age_membership(in membership_t word, in bit<32> epoch, out port_bitmap_t recent, out port_bitmap_t older) {
    apply {
        bit<32> age = epoch - EPOCH_OF(word);
        recent = 0;
        older = 0;
        if (age == 0) {
            recent = RECENT_OF(word);
            older = OLDER_OF(word);
        } else if (age == 1) {
            older = RECENT_OF(word);
        }
    } // apply
} // age_membership

// For data: the slot's members. The first packet of an epoch writes the aged word back, so that an expiry is told once.
control read_members(in slot_t slot, in bit<32> epoch, in bit<1> may_tell, out port_bitmap_t members,
                     out port_bitmap_t expired) {
    apply {
        membership_t word;
        port_bitmap_t recent;
        port_bitmap_t older;
        membership.read(word, (bit<32>)slot);
        age_membership.apply(word, epoch, recent, older);
        members = recent | older;
        expired = 0;
        if (EPOCH_OF(word) != epoch && may_tell == 1) {
            expired = (RECENT_OF(word) | OLDER_OF(word)) & ~members;
            membership.write((bit<32>)slot, epoch ++ recent ++ older);
        }
    } // apply
} // read_members

// The one place that sends members_changed: p4c makes a digest of its own of every call.
control tell_members_changed(inout metadata_t meta) {
    apply {
        if (meta.change.change != (bit<8>)change_t.none) {
            meta.change.group = meta.group;
            meta.change.timestamp = meta.now;
            digest<members_changed>(1, meta.change);
        }
    } // apply
} // tell_members_changed

#endif
