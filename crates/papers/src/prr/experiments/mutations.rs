//! The mutations of the experiments, and the claims that they turn.

mod populations;

pub use populations::{EARLY, PROPERTIES, VIDEO, WEB};

use crate::experiment::{Change, Mutation};

/// Parts of profile names, and what they become.
type Pairs = &'static [(&'static str, &'static str)];

/// Parts of profile names become others.
const fn swap(name: &'static str, about: &'static str, parts: Pairs, turns: &'static [&'static str]) -> Mutation {
    Mutation { name, about, change: Change::Swap(parts), turns }
}

/// Of `fig2`.
pub const FIG2: &[Mutation] = &[
    swap(
        "prr-is-halving",
        "PRR's servers run rate halving",
        &[("prr", "halving")],
        &["prr-alternate-acks", "prr-leaves-at-ssthresh", "prr-one-rtt"],
    ),
    swap(
        "halving-is-prr",
        "Linux's servers run PRR",
        &[("halving", "prr")],
        &["linux-pipe-plus-one", "linux-four-rtts"],
    ),
    swap(
        "halving-is-standard",
        "Linux's servers run RFC 3517",
        &[("halving", "std")],
        &["linux-timings", "linux-pipe-plus-one", "linux-four-rtts"],
    ),
    swap(
        "standard-is-prr",
        "RFC 3517's servers run PRR",
        &[("std", "prr")],
        &["rfc3517-silence", "rfc3517-second-after-half"],
    ),
    swap(
        "no-fack",
        "losses are found by counting duplicates",
        &[("fack", "nofack")],
        &["first-dupack", "prr-alternate-acks", "rfc3517-silence", "rfc3517-second-after-half"],
    ),
];

/// Of `fig3`.
pub const FIG3: &[Mutation] = &[
    swap(
        "prr-is-halving",
        "PRR's servers run rate halving",
        &[("prr", "halving")],
        &["prr-alternate-first", "prr-two-an-ack", "linux-one-an-ack"],
    ),
    swap("halving-is-prr", "Linux's servers run PRR", &[("halving", "prr")], &["linux-one-an-ack"]),
    swap("standard-is-prr", "RFC 3517's servers run PRR", &[("std", "prr")], &["rfc3517-burst"]),
];

/// Of `fig4`.
pub const FIG4: &[Mutation] = &[
    swap(
        "prr-is-halving",
        "PRR's servers run rate halving",
        &[("prr", "halving")],
        &["banks-at-any-time", "bank-at-most-three"],
    ),
    swap(
        "prr-is-standard",
        "PRR's servers run RFC 3517",
        &[("prr", "std")],
        &["banks-at-any-time", "bank-at-most-three", "then-spread"],
    ),
    swap("halving-is-prr", "Linux's servers run PRR", &[("halving", "prr")], &["linux-banks-nothing"]),
    swap("standard-is-halving", "RFC 3517's servers run rate halving", &[("std", "halving")], &["rfc3517-banks-gap"]),
];

/// Of `linux`.
pub const LINUX: &[Mutation] = &[
    swap(
        "no-fack",
        "losses are found by counting duplicates",
        &[("fack", "nofack")],
        &["fack-first-sack", "lost-retransmission", "lost-retransmission-rtts", "large-reordering-ends-fack"],
    ),
    swap(
        "fack-everywhere",
        "the profiles without FACK have it",
        &[("nofack", "fack")],
        &["fack-first-sack", "undetected-timeout"],
    ),
    swap(
        "no-holes",
        "recovery sends nothing but lost segments and new data",
        &[("holes", "noholes")],
        &["holes-repaired"],
    ),
    swap(
        "halving-is-prr",
        "Linux runs PRR",
        &[("halving", "prr")],
        &[
            "linux-alternate-acks",
            "halving-for-cubic",
            "linux-follows-pipe",
            "linux-window-of-one",
            "linux-slow-start-after-one-loss",
        ],
    ),
];

/// Of `losses`.
pub const LOSSES: &[Mutation] = &[
    swap(
        "standard-is-prr",
        "RFC 3517's servers run PRR",
        &[("std", "prr")],
        &[
            "algorithm-1",
            "rfc3517-silent-acks",
            "rfc3517-in-proportion-to-losses",
            "rfc3517-gap-at-once",
            "prr-clocked-at-any-loss",
            "rfc3517-bursts-lose-retransmissions",
        ],
    ),
    swap(
        "standard-is-halving",
        "RFC 3517's servers run rate halving",
        &[("std", "halving")],
        &[
            "algorithm-1",
            "rfc3517-silent-acks",
            "rfc3517-more-losses-larger-bursts",
            "rfc3517-in-proportion-to-losses",
            "rfc3517-gap-at-once",
            "rfc3517-more-aggressive",
            "prr-clocked-at-any-loss",
            "rfc3517-converges-at-any-loss",
            "rfc3517-bursts-lose-retransmissions",
        ],
    ),
    swap(
        "prr-is-halving",
        "PRR's servers run rate halving",
        &[("prr", "halving")],
        &["prr-converges-after-few-losses", "linux-prolonged"],
    ),
    swap(
        "prr-is-standard",
        "PRR's servers run RFC 3517",
        &[("prr", "std")],
        &["prr-clocked-at-any-loss", "rfc3517-bursts-lose-retransmissions"],
    ),
    swap(
        "halving-is-prr",
        "Linux's servers run PRR",
        &[("halving", "prr")],
        &["linux-does-not-converge", "linux-pipe-does-not-grow", "linux-prolonged"],
    ),
];

/// Of `acks`.
pub const ACKS: &[Mutation] = &[
    swap(
        "prr-is-standard",
        "PRR's servers run RFC 3517",
        &[("prr", "std")],
        &["cubic-seven-for-ten", "prr-out-approaches-ssthresh", "prr-precise-with-stretch-acks", "very-heavy-losses"],
    ),
    swap("cubic-is-reno", "Reno halves the window in place of CUBIC", &[("cubic", "reno")], &["cubic-seven-for-ten"]),
    swap(
        "prr-is-halving",
        "PRR's servers run rate halving",
        &[("prr", "halving")],
        &["cubic-seven-for-ten", "prr-out-approaches-ssthresh", "prr-precise-with-stretch-acks"],
    ),
    swap("halving-is-prr", "Linux's servers run PRR", &[("halving", "prr")], &["linux-lost-acks"]),
    swap(
        "no-sack",
        "no ACK carries SACK blocks",
        &[("linux-2.6", "linux-2.6+nosack")],
        &["cubic-seven-for-ten", "prr-precise-with-stretch-acks", "later-acks-deliver-more"],
    ),
];

/// Of `pipe`.
pub const PIPE: &[Mutation] = &[
    swap("standard-is-prr", "RFC 3517's servers run PRR", &[("std", "prr")], &["prr-less-sensitive-than-rfc3517"]),
    Mutation {
        name: "large-dupthresh",
        about: "reordered segments are not taken for lost",
        change: Change::Set(&[("dupthresh", "25")]),
        turns: &["prr-less-sensitive-than-rfc3517", "rfc3517-imprecise-pipe"],
    },
    Mutation {
        name: "duplicates",
        about: "the network duplicates packets",
        change: Change::Set(&[("duplicate", "0.1")]),
        turns: &["dsacks-lower-bound"],
    },
];

/// Of `lengths`.
pub const LENGTHS: &[Mutation] = &[
    swap(
        "probes",
        "tail loss probes are sent",
        &[("linux-2.6", "linux-2.6+tlp")],
        &["one-segment-times-out", "three-kinds"],
    ),
    Mutation {
        name: "small-window",
        about: "the initial window has two segments",
        change: Change::Set(&[("initial_window", "2")]),
        turns: &["ideal-fits-the-window"],
    },
    Mutation {
        name: "no-fast-retransmit",
        about: "a thousand duplicate ACKs are needed for a fast retransmit",
        change: Change::Set(&[("dupthresh", "1000")]),
        turns: &["longer-flows-more-fast"],
    },
    swap(
        "rack",
        "losses are found by time",
        &[("fack", "rack")],
        &["short-flows-lack-dupacks", "longer-flows-more-slow-start"],
    ),
    swap(
        "probe-timeout",
        "a probe timeout takes the place of the retransmission timeout",
        &[("linux-2.6", "linux-2.6+pto")],
        &["one-segment-times-out", "three-kinds", "timeout-resets-window", "longer-flows-more-slow-start"],
    ),
];

/// Of `er`.
pub const ER: &[Mutation] = &[
    swap(
        "naive-is-off",
        "naive ER is off",
        &[("ernaive", "noer")],
        &[
            "er-lowers-dupthresh",
            "er-end-of-stream",
            "er-reordering-triggers",
            "er-false-recovery-lowers-window",
            "er-false-recovery-slows-next",
            "er-off-after-reordering",
            "er-delay-cancels",
        ],
    ),
    swap(
        "mitigations-off",
        "the mitigations are off",
        &[("erfirst", "ernaive"), ("er", "ernaive")],
        &["er-off-after-reordering", "er-delay-cancels", "er-delay"],
    ),
    swap("probes", "ER comes with tail loss probes", &[("er", "er+tlp")], &["er-single-segment"]),
    swap("timestamps-undo", "timestamps undo reductions, too", &[("dsack", "undo")], &["er-false-recovery-slows-next"]),
];
