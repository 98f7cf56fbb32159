//! The mutations of `properties` and of the data centers.

use super::swap;
use crate::experiment::{Change, Mutation};

/// Of `properties`.
pub const PROPERTIES: &[Mutation] = &[
    swap(
        "prr-is-halving",
        "PRR's servers run rate halving",
        &[("prr", "halving")],
        &[
            "window-as-intended",
            "slow-start-part",
            "inhibits-reductions",
            "converges",
            "linux-below-ssthresh",
            "precise",
            "linux-imprecise",
        ],
    ),
    swap(
        "prr-is-standard",
        "PRR's servers run RFC 3517",
        &[("prr", "std")],
        &[
            "slow-start-part",
            "clocked",
            "rfc3517-bursts",
            "banks",
            "precise",
            "linux-imprecise",
            "twice-delivered-if-each-delivers",
            "slow-start-bound",
        ],
    ),
    swap(
        "other-bounds",
        "the conservative bound and SafeACK are the slow-start bound",
        &[("prrcrb", "prr"), ("prrsafe", "prr")],
        &["conservative-bound", "safe-ack-bound"],
    ),
    swap(
        "bounds-are-halving",
        "all bounds of PRR are rate halving",
        &[("prr", "halving"), ("prrcrb", "halving"), ("prrsafe", "halving"), ("prrub", "halving")],
        &["slow-start-part", "inhibits-reductions", "converges", "linux-below-ssthresh", "precise", "linux-imprecise"],
    ),
    swap(
        "halving-is-prr",
        "Linux's servers run PRR",
        &[("halving", "prr")],
        &["linux-pipe-shrinks", "linux-clocked", "linux-below-ssthresh", "linux-banks-nothing", "linux-imprecise"],
    ),
    swap(
        "standard-is-prr",
        "RFC 3517's servers run PRR",
        &[("std", "prr")],
        &["rfc3517-bursts", "rfc3517-not-in-proportion"],
    ),
    swap(
        "standard-is-halving",
        "RFC 3517's servers run rate halving",
        &[("std", "halving")],
        &["rfc3517-banks", "rfc3517-bursts", "rfc3517-converges", "rfc3517-not-in-proportion"],
    ),
    swap(
        "no-sack",
        "no ACK carries SACK blocks",
        &[("sack", "nosack")],
        &["delivered-is-progress", "delivered-observed", "rfc3517-bursts", "linux-imprecise"],
    ),
    Mutation {
        name: "one-block",
        about: "observers read the first SACK block of an ACK alone",
        change: Change::Own,
        turns: &["delivered-observed", "delivered-anywhere"],
    },
];

/// Of `web`.
pub const WEB: &[Mutation] = &[
    swap(
        "prr-is-halving",
        "PRR's servers run rate halving",
        &[("prr", "halving")],
        &["table7-similar", "table8-total", "table9-similar", "table7-cwnd-is-ssthresh", "table6-too-heavy"],
    ),
    swap(
        "prr-is-standard",
        "PRR's servers run RFC 3517",
        &[("prr", "std")],
        &["table8-timeouts-prr-rfc", "table8-lost-order", "table6-too-heavy", "table7-larger-by-timeouts"],
    ),
    swap(
        "halving-is-prr",
        "Linux's servers run PRR",
        &[("halving", "prr")],
        &["table7-below-three", "table7-similar", "table8-total", "table9-similar"],
    ),
    swap(
        "prr-with-naive-er",
        "PRR's servers have naive ER",
        &[("prr", "prr+ernaive")],
        &["table7-similar", "table8-total", "table9-similar", "table3-insensitive", "table6-too-heavy"],
    ),
    swap(
        "prr-without-sack",
        "PRR's servers do not use SACK",
        &[("prr", "prr+nosack")],
        &["table7-similar", "table8-total", "table9-similar"],
    ),
    Mutation {
        name: "single-losses",
        about: "losses do not come in bursts",
        change: Change::Own,
        turns: &["table9-similar", "fig1-spread", "table6-too-heavy"],
    },
];

/// Of `video`.
pub const VIDEO: &[Mutation] = &[
    swap(
        "standard-is-halving",
        "RFC 3517's servers run rate halving",
        &[("std", "halving")],
        &["table10-transmit-rfc", "table10-bytes", "table10-slow-start-none"],
    ),
    swap(
        "halving-is-prr",
        "Linux's servers run PRR",
        &[("halving", "prr")],
        &["table10-transmit-rfc", "table10-bytes", "table10-slow-start-linux"],
    ),
];

/// Of `early`.
pub const EARLY: &[Mutation] = &[
    swap("naive-is-off", "naive ER is off", &[("ernaive", "noer")], &["er-naive-spurious", "er-first-hardly-helps"]),
    swap(
        "first-is-naive",
        "the first mitigation is missing",
        &[("erfirst", "ernaive")],
        &["er-first-needs-long-connections"],
    ),
    swap(
        "first-is-both",
        "the first mitigation comes with the second",
        &[("erfirst", "er")],
        &["er-first-hardly-helps"],
    ),
    swap(
        "both-are-off",
        "ER with both mitigations is off",
        &[("er", "noer")],
        &["er-naive-spurious", "er-both-total", "table11-short-most", "er-both-repairs", "er-overall-limited"],
    ),
    swap(
        "both-are-naive",
        "ER with both mitigations is naive",
        &[("er", "ernaive")],
        &["er-naive-spurious", "er-both-spurious", "er-both-total"],
    ),
    Mutation {
        name: "one-timer-off",
        about: "the arm that waits for SRTT has no ER",
        change: Change::Own,
        turns: &["er-timer"],
    },
];
