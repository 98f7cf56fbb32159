//! The experiments of the paper on tail loss recovery.

use super::{Id, NAME, OWN_SETTINGS, detection, dumbbell, timers, web};
use crate::experiment::{Budget, Change, Experiment, Mutation};

/// RTO restart is off.
const NO_RESTART: Change = Change::Swap(&[("rtor", "")]);
/// No mechanism probes.
const NO_PROBES: Change = Change::Swap(&[("tlp", ""), ("tlpr", "")]);
/// TLPR is TLP.
const NO_PROBE_RESTART: Change = Change::Swap(&[("tlpr", "tlp")]);

/// The experiments, in the order of the command line.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        paper: NAME,
        name: detection::ID,
        section: "1, 2, 4",
        about: "When duplicate ACKs reveal a loss, and when only a timeout does",
        budget: Budget {
            full_s: 2,
            quick_s: 1,
        },
        scenario: NAME,
        own_settings: &detection::OWN_SETTINGS,
        mutations: &[
            Mutation {
                name: "one-duplicate-ack",
                about: "fast retransmit after one duplicate ACK",
                change: Change::Set(&[("dupthresh", "1")]),
                turns: &[],
            },
            Mutation {
                name: "linux-6",
                about: "RACK and probes in place of early retransmit",
                change: Change::Swap(&[("linux-3.17", "linux-6")]),
                turns: &[],
            },
            Mutation {
                name: "no-limited-transmit",
                about: "limited transmit is off",
                change: Change::Swap(&[("lt", "nolt")]),
                turns: &[],
            },
            Mutation {
                name: "nothing-lost",
                about: "the path loses nothing",
                change: Change::Own,
                turns: &[],
            },
        ],
        run: |setup| Ok(detection::sheet(setup)?),
    },
    Experiment {
        paper: NAME,
        name: timers::ID,
        section: "2, 3.2, 3.3, 3.4, 4",
        about: "What the timers of TCP, RTO restart, TLP and TLPR do, on single flows",
        budget: Budget {
            full_s: 6,
            quick_s: 2,
        },
        scenario: NAME,
        own_settings: &timers::OWN_SETTINGS,
        mutations: &[
            Mutation {
                name: "no-restart",
                about: "RTO restart is off",
                change: NO_RESTART,
                turns: &[],
            },
            Mutation {
                name: "no-probes",
                about: "TLP and TLPR are off",
                change: NO_PROBES,
                turns: &[],
            },
            Mutation {
                name: "no-probe-restart",
                about: "TLPR is TLP",
                change: NO_PROBE_RESTART,
                turns: &[],
            },
            Mutation {
                name: "probe-for-restart",
                about: "RTOR probes in place of restarting its timer",
                change: Change::Swap(&[("rtor", "tlp")]),
                turns: &[],
            },
            Mutation {
                name: "probe-of-rfc-8985",
                about: "the probe timeout of RFC 8985",
                change: Change::Swap(&[("tlp", "tlprfc")]),
                turns: &[],
            },
            Mutation {
                name: "short-minimum",
                about: "a minimum RTO of 20 ms",
                change: Change::Set(&[("rto.min_of", "rttvar"), ("rto.min", "20ms")]),
                turns: &[],
            },
            Mutation {
                name: "undo",
                about: "spurious timeouts are undone",
                change: Change::Swap(&[("noundo", "undo"), ("nofrto", "frto")]),
                turns: &[],
            },
            Mutation {
                name: "nothing-delayed",
                about: "the path delays no packet",
                change: Change::Own,
                turns: &[],
            },
            Mutation {
                name: "nothing-lost",
                about: "the path loses nothing",
                change: Change::Own,
                turns: &[],
            },
        ],
        run: |setup| Ok(timers::sheet(setup)?),
    },
    Experiment {
        paper: NAME,
        name: "fig1",
        section: "3.1, figure 1",
        about: "One segment lost, RTT 10 to 640 ms",
        budget: Budget {
            full_s: 6,
            quick_s: 2,
        },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: &[
            Mutation {
                name: "no-restart",
                about: "RTO restart is off",
                change: NO_RESTART,
                turns: &[],
            },
            Mutation {
                name: "no-probes",
                about: "TLP and TLPR are off",
                change: NO_PROBES,
                turns: &[],
            },
            Mutation {
                name: "no-probe-restart",
                about: "TLPR is TLP",
                change: NO_PROBE_RESTART,
                turns: &[],
            },
            Mutation {
                name: "coarse-ticks",
                about: "the hosts' timers have ticks of 10 ms",
                change: Change::Set(&[("timers", "granularity:10ms")]),
                turns: &[],
            },
            Mutation {
                name: "probing-baseline",
                about: "the baseline is TLPR",
                change: Change::Swap(&[("linux-3.17", "linux-3.17+tlpr")]),
                turns: &[],
            },
        ],
        run: |setup| Ok(super::sheet(Id::Fig1, setup)?),
    },
    Experiment {
        paper: NAME,
        name: "fig2",
        section: "3.1, figure 2",
        about: "One to five segments lost, RTT 80 ms",
        budget: Budget {
            full_s: 4,
            quick_s: 2,
        },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: &[
            Mutation {
                name: "no-restart",
                about: "RTO restart is off",
                change: NO_RESTART,
                turns: &[],
            },
            Mutation {
                name: "no-probes",
                about: "TLP and TLPR are off",
                change: NO_PROBES,
                turns: &[],
            },
            Mutation {
                name: "no-probe-restart",
                about: "TLPR is TLP",
                change: NO_PROBE_RESTART,
                turns: &[],
            },
            Mutation {
                name: "probing-baseline",
                about: "the baseline is TLP",
                change: Change::Swap(&[("linux-3.17", "linux-3.17+tlp")]),
                turns: &[],
            },
            Mutation {
                name: "probe-with-restart",
                about: "RTOR probes, too",
                change: Change::Swap(&[("rtor", "rtor+tlp")]),
                turns: &[],
            },
            Mutation {
                name: "coarse-ticks",
                about: "the hosts' timers have ticks of 20 ms",
                change: Change::Set(&[("timers", "granularity:20ms")]),
                turns: &[],
            },
        ],
        run: |setup| Ok(super::sheet(Id::Fig2, setup)?),
    },
    Experiment {
        paper: NAME,
        name: dumbbell::ID,
        section: "3.2, figure 3",
        about: "Flows of 4 to 100 segments beside Tmix traffic on a congested bottleneck",
        budget: Budget {
            full_s: 230,
            quick_s: 18,
        },
        scenario: NAME,
        own_settings: &dumbbell::OWN_SETTINGS,
        mutations: &[
            Mutation {
                name: "no-restart",
                about: "RTO restart is off",
                change: NO_RESTART,
                turns: &[],
            },
            Mutation {
                name: "no-probes",
                about: "TLP and TLPR are off",
                change: NO_PROBES,
                turns: &[],
            },
            Mutation {
                name: "no-probe-restart",
                about: "TLPR is TLP",
                change: NO_PROBE_RESTART,
                turns: &[],
            },
            Mutation {
                name: "no-fast-retransmit",
                about: "fast retransmit after 100 duplicate ACKs",
                change: Change::Set(&[("dupthresh", "100")]),
                turns: &[],
            },
            Mutation {
                name: "slow-access",
                about: "the sender's link has 5 Mbit/s, so that bursts are spread out before the bottleneck",
                change: Change::Own,
                turns: &[],
            },
            Mutation {
                name: "deep-queue",
                about: "the bottleneck's queue holds 70 ms",
                change: Change::Own,
                turns: &[],
            },
        ],
        run: dumbbell::sheet,
    },
    Experiment {
        paper: NAME,
        name: web::ID,
        section: "3.3, figure 4",
        about: "Web pages over six persistent connections per subdomain",
        budget: Budget {
            full_s: 40,
            quick_s: 8,
        },
        scenario: NAME,
        own_settings: &web::OWN_SETTINGS,
        mutations: &[
            Mutation {
                name: "no-restart",
                about: "RTO restart is off",
                change: NO_RESTART,
                turns: &[],
            },
            Mutation {
                name: "no-probes",
                about: "TLP and TLPR are off",
                change: NO_PROBES,
                turns: &[],
            },
            Mutation {
                name: "no-probe-restart",
                about: "TLPR is TLP",
                change: NO_PROBE_RESTART,
                turns: &[],
            },
            Mutation {
                name: "nothing-lost",
                about: "the channel loses nothing",
                change: Change::Set(&[("drop", "none")]),
                turns: &[],
            },
        ],
        run: web::sheet,
    },
    Experiment {
        paper: NAME,
        name: web::subdomains::ID,
        section: "3.3, figure 4f",
        about: "The newspaper's object completion times by the number of subdomains",
        budget: Budget {
            full_s: 12,
            quick_s: 2,
        },
        scenario: NAME,
        own_settings: &web::OWN_SETTINGS,
        mutations: &[Mutation {
            name: "fast-link",
            about: "a link of 100 Mbit/s",
            change: Change::Set(&[("rate", "100Mbit")]),
            turns: &[],
        }],
        run: web::subdomains::sheet,
    },
];
