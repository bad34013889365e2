//! What the switch counts, by name.

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counts since the start or the last reset.
        #[derive(Debug, Default, Clone, PartialEq, Eq)]
        pub(crate) struct Stats {
            $($(#[$doc])* pub $name: u64),*
        }

        impl Stats {
            pub(crate) fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),*]
            }
        }
    };
}

stats! {
    /// Packets given to ingress.
    packets_in,
    /// Packets that left egress.
    packets_out,
    /// Packets for which the parser found an error; they go on, as in BMv2.
    parser_errors,
    /// Packets with a wrong checksum; they go on.
    checksum_errors,
    /// Multicast and clone copies beyond the first.
    replicas,
    ingress_clones,
    egress_clones,
    resubmitted,
    recirculated,
    digests,
    /// Digests beyond what a port may cause.
    digests_limited,
    /// Digests with contents that came too often.
    digests_repeated,
    /// Dropped by ingress (`egress_spec` is the drop port).
    drop_ingress,
    /// Dropped by egress.
    drop_egress,
    /// To a multicast group that does not exist or is empty.
    drop_no_group,
    /// Clones to a session that does not exist.
    drop_no_session,
    /// To a port beyond the switch's.
    drop_no_port,
    /// From a port beyond the switch's.
    drop_bad_port,
    /// Longer than 65,535 bytes.
    drop_oversize,
    /// Resubmitted, recirculated or cloned too often.
    drop_loop,
    /// An assertion of the program failed.
    drop_assert,
    /// Digests and idle timeouts that nobody took.
    events_lost,
    /// Idle timeouts reported.
    idle_timeouts,
}
