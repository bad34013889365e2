#ifndef CANOPY_FORWARDING_SWITCH_CONFIG_P4
#define CANOPY_FORWARDING_SWITCH_CONFIG_P4

#include "../include/metadata.p4"

// What the controller sets once per switch, as the default action. Until then every packet is dropped.
control switch_config_lookup(inout metadata_t meta) {
    // mac: the switch's own address, on every port.
    // epoch_shift: an epoch of membership is 2^epoch_shift us; a silent member expires after one to two.
    // bitmap_groups: 1 if every port bitmap has its multicast group (up to 12 ports), 0 for slot groups.
    action set_config(mac_address_t mac, bit<8> epoch_shift, bit<1> bitmap_groups) {
        meta.configured = 1;
        meta.switch_mac = mac;
        meta.bitmap_groups = bitmap_groups;
        meta.tick = (bit<32>)(meta.now >> (epoch_shift - 2));
    }

    action not_configured() {
        meta.configured = 0;
    }

    @name(".switch_config")
    table switch_config {
        actions = { set_config; not_configured; }
        default_action = not_configured;
    }

    apply {
        switch_config.apply();
    } // apply
} // switch_config_lookup

#endif
