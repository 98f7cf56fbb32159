//! What turns the claims of the study of loss detection: other networks, other systems, other senders.
//!
//! The changed networks are in [`populations`](super::populations), the changed senders in each experiment.

use crate::experiment::{Change, Mutation};

type Names = &'static [&'static str];

const fn own(name: &'static str, about: &'static str, turns: Names) -> Mutation {
    Mutation { name, about, change: Change::Own, turns }
}

const fn one_system(turns: Names) -> Mutation {
    Mutation {
        name: "one-system",
        about: "all systems are Linux",
        change: Change::Swap(&[("windows-xp", "linux-2.4"), ("solaris-10", "linux-2.4"), ("freebsd-5", "linux-2.4")]),
        turns,
    }
}

const fn all_freebsd(turns: Names) -> Mutation {
    Mutation {
        name: "all-freebsd",
        about: "all systems are FreeBSD, with its minimum RTO of 1.2 s",
        change: Change::Swap(&[("windows-xp", "freebsd-5"), ("solaris-10", "freebsd-5"), ("linux-2.4", "freebsd-5")]),
        turns,
    }
}

const fn modern(turns: Names) -> Mutation {
    Mutation {
        name: "modern",
        about: "all systems are Linux 6: RACK, tail loss probes, undo, CUBIC",
        change: Change::Swap(&[
            ("windows-xp", "linux-6"),
            ("solaris-10", "linux-6"),
            ("linux-2.4", "linux-6"),
            ("linux-2.4+minrttvar", "linux-6"),
            ("freebsd-5", "linux-6"),
        ]),
        turns,
    }
}

const fn quic(turns: Names) -> Mutation {
    Mutation {
        name: "quic",
        about: "all systems recover as QUIC does (RFC 9002)",
        change: Change::Swap(&[
            ("windows-xp", "rfc9002"),
            ("solaris-10", "rfc9002"),
            ("linux-2.4", "rfc9002"),
            ("freebsd-5", "rfc9002"),
        ]),
        turns,
    }
}

const fn reordering(turns: Names) -> Mutation {
    own("reordering-networks", "every path reorders, none pauses", turns)
}

const fn long_bursts(turns: Names) -> Mutation {
    own("long-bursts", "losses come in bursts of twenty, and no receiver has SACK", turns)
}

const fn long_rtts(turns: Names) -> Mutation {
    own("long-rtts", "RTTs around 2 s", turns)
}

const fn lossless(turns: Names) -> Mutation {
    own("lossless", "paths lose nothing", turns)
}

const fn uniform(turns: Names) -> Mutation {
    own("uniform", "all paths and connections are alike", turns)
}

const fn heavy_loss(turns: Names) -> Mutation {
    own("heavy-loss", "paths lose 15 % of the packets", turns)
}

pub const TABLES: &[Mutation] = &[
    one_system(&["spurious-timeouts-vary"]),
    reordering(&["timeouts-most-spurious", "three-suffices"]),
    own(
        "one-size",
        "every connection carries 100 kB, and every receiver has SACK",
        &["lossy-are-large", "sack-few-losses"],
    ),
    long_bursts(&["recovery-mechanism", "recovery-losses", "recovery-system"]),
    heavy_loss(&["sack-three-losses"]),
];

pub const FIG2: &[Mutation] = &[
    one_system(&["timeouts-differ"]),
    Mutation {
        name: "windows-as-freebsd",
        about: "Windows is FreeBSD",
        change: Change::Swap(&[("windows-xp", "freebsd-5")]),
        turns: &["windows-like-linux", "solaris-freebsd-slower"],
    },
    long_bursts(&["fast-1-2-rtts", "few-outstanding"]),
    long_rtts(&["timeouts-slower", "solaris-fast-tail"]),
    own("one-size", "every connection carries 100 kB, and every receiver has SACK", &["windows-tail-early"]),
];

pub const FIG4: &[Mutation] = &[
    all_freebsd(&[
        "k-2-factor-5",
        "small-k-shortens",
        "small-k-shortens-most",
        "k-6-lengthens",
        "small-k-costs-small-ones",
        "k-most-influential",
    ]),
    uniform(&["scope-orders", "settings-not-optimal", "m-1-is-best"]),
    lossless(&["estimators-conservative", "k-others-less"]),
];

pub const FIG5A: &[Mutation] =
    &[all_freebsd(&["larger-min-rto", "large-min-rto", "linux-100-most"]), long_rtts(&["solaris-100"])];

pub const FIG5B: &[Mutation] = &[uniform(&["larger-weights-hurt-many"])];

pub const TRADEOFF: &[Mutation] = &[
    lossless(&[
        "larger-rto-more-accurate",
        "smaller-rto-sooner",
        "rto-conflict",
        "larger-rto-more-fast",
        "larger-d-more-accurate",
        "smaller-d-more-fast",
        "d-conflict",
    ]),
    long_rtts(&["six-parameters"]),
];

pub const SENDERS: &[Mutation] = &[
    own(
        "other-values",
        "every parameter has another value",
        &["granularity", "initial-rto", "min-rto", "a", "b", "m", "k", "dupthresh", "formula", "values-differ"],
    ),
    own(
        "swapped-estimators",
        "Linux has the usual estimator, and Windows that of Linux",
        &["linux-differs", "sampling", "linux-converges", "small-steady-rtt"],
    ),
    own(
        "deaf-estimator",
        "other parameters of the RTO do nothing",
        &["rto-grows-with-m-k", "weights", "variability-raises-rto"],
    ),
    own("eager-timer", "the RTO is half of SRTT", &["rto-exceeds-rtt"]),
    modern(&["timer", "linux-adapts-dupthresh"]),
];

pub const REACTIONS: &[Mutation] = &[
    own(
        "deaf",
        "no number of duplicate ACKs means a loss",
        &[
            "reordering",
            "waits-for-d",
            "immediate",
            "sack-shows-losses",
            "timeouts-take-longer",
            "timeouts-cost-more",
            "fast-halves",
            "smaller-d-more-fast",
            "small-connections-gain",
        ],
    ),
    own("lossy-acks", "every second ACK is lost", &["duplicates"]),
    modern(&[
        "needless-costs",
        "late-detection-costs",
        "rto-change-is-duration",
        "window-stalls",
        "fast-sooner-slightly",
    ]),
    quic(&["timeout-to-one"]),
];

pub const EQUATIONS: &[Mutation] =
    &[modern(&["r", "goodput"]), own("deaf", "no number of duplicate ACKs means a loss", &["dth-duplicate"])];

pub const TOOL: &[Mutation] = &[
    own("captured-at-clients", "the captures are those of the clients", &["finds-all", "judges"]),
    modern(&["classifies", "identifies-systems"]),
];

pub const CAUSES: &[Mutation] = &[
    own(
        "no-change",
        "the changed runs are like the others",
        &[
            "spurious-fast-needs-reordering",
            "reordering-main-cause",
            "minimum-is-the-cause",
            "smaller-d-more-fast",
            "k-2-rerun",
            "ticks-hide-small-k",
        ],
    ),
    own(
        "other-networks",
        "the changed runs are over other networks",
        &["granularity-no-limit", "min-rto-no-limit", "losses-independent", "recovery-independent"],
    ),
    own("quick-acks", "every receiver acknowledges every segment at once", &["rtts-independent"]),
];
