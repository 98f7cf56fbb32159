//! What is broken on purpose in each experiment, and the claims that notice it.

use crate::experiment::{Change, Mutation};

/// RTO restart is off.
const NO_RESTART: Change = Change::Swap(&[("rtor", "")]);
/// No mechanism probes.
const NO_PROBES: Change = Change::Swap(&[("tlp", ""), ("tlpr", "")]);
/// TLPR is TLP.
const NO_PROBE_RESTART: Change = Change::Swap(&[("tlpr", "tlp")]);

/// Of `detection`.
pub const DETECTION: &[Mutation] = &[
    Mutation {
        name: "one-duplicate-ack",
        about: "fast retransmit after one duplicate ACK",
        change: Change::Set(&[("dupthresh", "1")]),
        turns: &[
            "fast-retransmit-after-three",
            "mild-reordering-is-no-loss",
            "nothing-follows-the-tail",
            "early-retransmit-adapts",
            "limited-transmit",
            "limited-transmit-without-data",
        ],
    },
    Mutation {
        name: "linux-6",
        about: "RACK and probes in place of early retransmit",
        change: Change::Swap(&[("linux-3.17", "linux-6")]),
        turns: &[
            "fast-retransmit-after-three",
            "nothing-follows-the-tail",
            "early-retransmit-adapts",
            "limited-transmit",
            "limited-transmit-without-data",
            "everything-lost-needs-a-timeout",
        ],
    },
    Mutation {
        name: "no-limited-transmit",
        about: "limited transmit is off",
        change: Change::Swap(&[("lt", "nolt")]),
        turns: &["limited-transmit"],
    },
    Mutation {
        name: "nothing-lost",
        about: "the path loses nothing",
        change: Change::Own,
        turns: &[
            "duplicate-ack-per-segment",
            "fast-retransmit-after-three",
            "nothing-follows-the-tail",
            "early-retransmit-adapts",
            "limited-transmit",
            "limited-transmit-without-data",
            "everything-lost-needs-a-timeout",
        ],
    },
];

/// Of `timers`.
pub const TIMERS: &[Mutation] = &[
    Mutation {
        name: "no-restart",
        about: "RTO restart is off",
        change: NO_RESTART,
        turns: &["restart-below-four", "no-probe-after-earlier-loss"],
    },
    Mutation {
        name: "no-probes",
        about: "TLP and TLPR are off",
        change: NO_PROBES,
        turns: &[
            "rto-converges-in-long-flows",
            "repaired-segment-is-acked-late",
            "one-probe-when-idle",
            "equation-by-outstanding",
            "tlpr-from-last-transmission",
            "pto-below-rto-at-small-rtt",
            "probe-induces-sack",
            "probe-new-data-or-last",
            "fin-is-probed",
            "no-probe-after-earlier-loss",
        ],
    },
    Mutation {
        name: "no-probe-restart",
        about: "TLPR is TLP",
        change: NO_PROBE_RESTART,
        turns: &["tlpr-from-last-transmission"],
    },
    Mutation {
        name: "probe-for-restart",
        about: "RTOR probes in place of restarting its timer",
        change: Change::Swap(&[("rtor", "tlp")]),
        turns: &[
            "restart-below-four",
            "rtor-never-below-rto",
            "rto-converges-in-long-flows",
            "repaired-segment-is-acked-late",
            "no-probe-after-earlier-loss",
        ],
    },
    Mutation {
        name: "probe-of-rfc-8985",
        about: "the probe timeout of RFC 8985",
        change: Change::Swap(&[("tlp", "tlprfc")]),
        turns: &["equation-by-outstanding"],
    },
    Mutation {
        name: "short-minimum",
        about: "a minimum RTO of 20 ms",
        change: Change::Set(&[("rto.min_of", "rttvar"), ("rto.min", "20ms")]),
        turns: &[
            "rto-follows-the-rtt",
            "restart-below-four",
            "pto-below-rto-at-small-rtt",
            "probe-induces-sack",
            "delayed-data-is-not-repeated",
        ],
    },
    Mutation {
        name: "undo",
        about: "spurious timeouts are undone",
        change: Change::Swap(&[("noundo", "undo"), ("nofrto", "frto")]),
        turns: &["spurious-timeouts-cost-time"],
    },
    Mutation {
        name: "nothing-delayed",
        about: "the path delays no packet",
        change: Change::Own,
        turns: &["delayed-data-is-not-repeated", "lower-minimum-is-more-spurious"],
    },
    Mutation {
        name: "nothing-lost",
        about: "the path loses nothing",
        change: Change::Own,
        turns: &[
            "rto-without-ack",
            "rto-after-last-ack",
            "restart-below-four",
            "below-four-no-fast-retransmit",
            "rtor-never-below-rto",
            "rto-converges-in-long-flows",
            "lost-ack-is-spurious",
            "repaired-segment-is-acked-late",
            "one-probe-when-idle",
            "equation-by-outstanding",
            "tlpr-from-last-transmission",
            "pto-below-rto-at-small-rtt",
            "probe-induces-sack",
            "probe-new-data-or-last",
            "no-probe-after-earlier-loss",
            "minimum-rto-decides",
        ],
    },
];

/// Of `fig1`.
pub const FIG1: &[Mutation] = &[
    Mutation {
        name: "no-restart",
        about: "RTO restart is off",
        change: NO_RESTART,
        turns: &[
            "rtor-exactly-rto",
            "rtor-reduces",
            "rtor-quick-rtt",
            "rtor-delayed-ack",
            "delack-weighs-at-small-rtt",
            "all-reduce",
            "rtor-or-tlp-by-scenario",
            "reset-is-the-reason",
            "tlpr-best-in-almost-all",
            "delayed-ack-slows-tlp",
            "no-spurious",
        ],
    },
    Mutation {
        name: "no-probes",
        about: "TLP and TLPR are off",
        change: NO_PROBES,
        turns: &[
            "tlp-large-gains",
            "tlp-gains-end-at-160",
            "quick-equation-2",
            "tlpr-from-transmission",
            "equation-1-much-smaller",
            "pto-capped-by-rto",
            "probe-without-loss",
            "all-reduce",
            "tlp-has-the-larger-gains",
            "rtor-or-tlp-by-scenario",
            "tlp-depends-on-factors",
            "reset-is-the-reason",
            "tlpr-best",
        ],
    },
    Mutation {
        name: "no-probe-restart",
        about: "TLPR is TLP",
        change: NO_PROBE_RESTART,
        turns: &["tlpr-from-transmission", "reset-is-the-reason", "tlpr-best"],
    },
    Mutation {
        name: "coarse-ticks",
        about: "the hosts' timers have ticks of 10 ms",
        change: Change::Set(&[("timers", "granularity:10ms")]),
        turns: &[
            "restart-costs-rtt",
            "rtor-exactly-rto",
            "tlp-large-gains",
            "tlp-gains-end-at-160",
            "tlpr-from-transmission",
            "pto-capped-by-rto",
            "no-variation",
            "no-spurious",
        ],
    },
    Mutation {
        name: "probing-baseline",
        about: "the baseline is TLPR",
        change: Change::Swap(&[("linux-3.17", "linux-3.17+tlpr")]),
        turns: &[
            "restart-costs-rtt",
            "rtor-exactly-rto",
            "rtor-reduces",
            "rtor-quick-rtt",
            "rtor-delayed-ack",
            "delack-weighs-at-small-rtt",
            "tlp-large-gains",
            "recovery-takes-round-trips",
            "all-reduce",
            "tlp-has-the-larger-gains",
            "rtor-or-tlp-by-scenario",
            "tlp-depends-on-factors",
            "reset-is-the-reason",
            "tlpr-best",
            "no-variation",
            "no-spurious",
        ],
    },
];

/// Of `fig2`.
pub const FIG2: &[Mutation] = &[
    Mutation {
        name: "no-restart",
        about: "RTO restart is off",
        change: NO_RESTART,
        turns: &["rtor-at-least-one-rtt", "held-ack-saved-where-held", "no-spurious"],
    },
    Mutation {
        name: "no-probes",
        about: "TLP and TLPR are off",
        change: NO_PROBES,
        turns: &[
            "probes-help-at-any-degree",
            "probe-repairs-the-last",
            "early-retransmit-for-2-3",
            "fack-for-4-and-more",
            "tlpr-best",
        ],
    },
    Mutation { name: "no-probe-restart", about: "TLPR is TLP", change: NO_PROBE_RESTART, turns: &["tlpr-best"] },
    Mutation {
        name: "probing-baseline",
        about: "the baseline is TLP",
        change: Change::Swap(&[("linux-3.17", "linux-3.17+tlp")]),
        turns: &[
            "rtor-at-least-one-rtt",
            "probes-help-at-any-degree",
            "held-ack-saved-where-held",
            "early-retransmit-no-help",
            "no-spurious",
        ],
    },
    Mutation {
        name: "probe-with-restart",
        about: "RTOR probes, too",
        change: Change::Swap(&[("rtor", "rtor+tlp")]),
        turns: &["rtor-not-above-three", "held-ack-saved-where-held", "no-spurious"],
    },
    Mutation {
        name: "coarse-ticks",
        about: "the hosts' timers have ticks of 20 ms",
        change: Change::Set(&[("timers", "granularity:20ms")]),
        turns: &["no-variation", "no-spurious"],
    },
];

/// Of `fig3`.
pub const FIG3: &[Mutation] = &[
    Mutation {
        name: "no-restart",
        about: "RTO restart is off",
        change: NO_RESTART,
        turns: &[
            "rtor-saves-an-rtt",
            "rtor-saves-200-ms",
            "rtor-saves-200-ms-two-lost",
            "tlp-is-close-to-rtor",
            "early-retransmit-costs-rtt-over-4",
            "tlp-beats-rtor-with-two-lost",
            "long-flows-differ-little",
        ],
    },
    Mutation {
        name: "no-probes",
        about: "TLP and TLPR are off",
        change: NO_PROBES,
        turns: &[
            "tlp-is-close-to-rtor",
            "early-retransmit-costs-rtt-over-4",
            "tlp-beats-rtor-with-two-lost",
            "tlpr-is-best",
            "tlpr-saves-rtt-and-200-ms",
            "probes-are-fast-up-to-70-percent",
            "equation-1-alone-with-delayed-acks",
            "probes-gain-more-with-delayed-acks",
            "tlp-below-rtor-in-many-cases",
            "probes-are-no-more-spurious",
        ],
    },
    Mutation { name: "no-probe-restart", about: "TLPR is TLP", change: NO_PROBE_RESTART, turns: &["tlpr-is-best"] },
    Mutation {
        name: "no-fast-retransmit",
        about: "fast retransmit after 100 duplicate ACKs",
        change: Change::Set(&[("dupthresh", "100")]),
        turns: &[
            "tlp-is-close-to-rtor",
            "tlpr-is-best",
            "equation-1-alone-with-delayed-acks",
            "probes-gain-more-with-delayed-acks",
            "acks-recover-most-of-long-flows",
            "spurious-is-small",
        ],
    },
    Mutation {
        name: "slow-access",
        about: "the sender's link has 5 Mbit/s, so that bursts are spread out before the bottleneck",
        change: Change::Own,
        turns: &[
            "short-flows-lose-tails",
            "long-flows-are-less-bursty",
            "rtor-saves-200-ms-near",
            "tlp-is-close-to-rtor",
            "early-retransmit-costs-rtt-over-4",
            "tlp-beats-rtor-with-two-lost",
            "tlpr-is-best",
            "probes-gain-more-with-delayed-acks",
            "tlp-below-rtor-in-many-cases",
            "spurious-is-small",
        ],
    },
    Mutation {
        name: "deep-queue",
        about: "the bottleneck's queue holds 70 ms",
        change: Change::Own,
        turns: &[
            "congestion",
            "losses-are-rare",
            "rtor-saves-200-ms-near",
            "rtor-saves-200-ms-two-lost",
            "tlp-is-close-to-rtor",
            "early-retransmit-costs-rtt-over-4",
            "tlp-beats-rtor-with-two-lost",
            "tlpr-is-best",
            "probes-are-fast-up-to-70-percent",
            "equation-1-alone-with-delayed-acks",
            "equations-converge-at-large-rtt",
        ],
    },
    Mutation {
        name: "one-burst",
        about: "an initial window of 100 segments",
        change: Change::Set(&[("initial_window", "100")]),
        turns: &[
            "long-flows-lose-elsewhere",
            "long-flows-are-less-bursty",
            "long-flows-are-less-bursty-far",
            "acks-recover-most-of-long-flows",
            "rtor-is-best-in-long-flows",
            "rtor-is-best-after-earlier-losses",
        ],
    },
    Mutation {
        name: "quick-acks",
        about: "all receivers acknowledge every segment",
        change: Change::Own,
        turns: &[
            "rtor-saves-200-ms",
            "rtor-saves-200-ms-two-lost",
            "delayed-ack-resets-the-probe",
            "tlp-beats-rtor-with-two-lost",
            "tlp-beats-rtor-with-three-lost",
            "tlpr-saves-rtt-and-200-ms",
            "equation-1-alone-with-delayed-acks",
            "probes-gain-more-with-delayed-acks",
        ],
    },
];

/// Of `fig4`.
pub const FIG4: &[Mutation] = &[
    Mutation {
        name: "no-restart",
        about: "RTO restart is off",
        change: NO_RESTART,
        turns: &["web-10ms-better", "web-160ms-rtor-by-loss", "web-spurious-order"],
    },
    Mutation {
        name: "no-probes",
        about: "TLP and TLPR are off",
        change: NO_PROBES,
        turns: &[
            "web-selection-shows-more",
            "web-10ms-probes",
            "web-160ms-tlpr",
            "web-160ms-rtor",
            "web-10ms-probes-by-loss",
            "web-160ms-tlpr-by-loss",
            "web-160ms-rtor-by-loss",
            "web-spurious-order",
        ],
    },
    Mutation {
        name: "no-probe-restart",
        about: "TLPR is TLP",
        change: NO_PROBE_RESTART,
        turns: &["web-spurious-order"],
    },
    Mutation {
        name: "quick-acks",
        about: "the browser's host acknowledges every segment",
        change: Change::Own,
        turns: &[
            "web-selection-shows-more",
            "web-10ms-better",
            "web-160ms-rtor",
            "web-spurious-probes",
            "web-spurious-costs-no-time",
        ],
    },
    Mutation {
        name: "nothing-lost",
        about: "the channel loses nothing",
        change: Change::Set(&[("drop", "none")]),
        turns: &[
            "web-loss-rate",
            "web-selection-shows-more",
            "web-10ms-probes",
            "web-160ms-less-pronounced",
            "web-160ms-tlpr",
            "web-160ms-rtor",
            "web-10ms-better-by-loss",
            "web-spurious-costs-no-time",
        ],
    },
];

/// Of `subdomains`.
pub const SUBDOMAINS: &[Mutation] = &[Mutation {
    name: "one-subdomain",
    about: "all objects have one subdomain",
    change: Change::Own,
    turns: &["subdomains-decide-1s"],
}];
