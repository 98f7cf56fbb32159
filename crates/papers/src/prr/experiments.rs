//! The experiments of the paper on proportional rate reduction.

use super::{Id, NAME, OWN_SETTINGS, properties, servers};
use crate::experiment::{Budget, Experiment};

/// The experiments, in the order of the command line.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        paper: NAME,
        name: "fig2",
        section: "4.1, figure 2",
        about: "PRR, Linux's rate halving and RFC 3517: segments 1 to 4 of 20 lost",
        budget: Budget {
            full_s: 5,
            quick_s: 2,
        },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Fig2, &setup.base)?),
    },
    Experiment {
        paper: NAME,
        name: "fig3",
        section: "4.3, figure 3",
        about: "PRR under heavy loss: segments 1 to 4 and 11 to 16 of 20",
        budget: Budget {
            full_s: 5,
            quick_s: 2,
        },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Fig3, &setup.base)?),
    },
    Experiment {
        paper: NAME,
        name: "fig4",
        section: "4.3, figure 4",
        about: "PRR saves up transmissions while the application has no data",
        budget: Budget {
            full_s: 5,
            quick_s: 2,
        },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Fig4, &setup.base)?),
    },
    Experiment {
        paper: NAME,
        name: "properties",
        section: "4.3",
        about: "Section 4.3's properties, checked in every recovery of thousands of flows",
        budget: Budget {
            full_s: 60,
            quick_s: 5,
        },
        scenario: NAME,
        own_settings: &properties::OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(properties::sheet(&setup.base)?),
    },
    Experiment {
        paper: NAME,
        name: "web",
        section: "5.3, tables 2, 3, 5 to 9, figures 1 and 5",
        about: "Web servers with PRR, RFC 3517 and rate halving",
        budget: Budget {
            full_s: 40,
            quick_s: 8,
        },
        scenario: NAME,
        own_settings: &servers::OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(servers::sheet(servers::Id::Web, &setup.base, setup.users)?),
    },
    Experiment {
        paper: NAME,
        name: "video",
        section: "5.4, tables 2, 3 and 10",
        about: "Video servers with the same three",
        budget: Budget {
            full_s: 50,
            quick_s: 8,
        },
        scenario: NAME,
        own_settings: &servers::OWN_SETTINGS,
        mutations: &[],
        run: |setup| {
            Ok(servers::sheet(
                servers::Id::Video,
                &setup.base,
                setup.users,
            )?)
        },
    },
    Experiment {
        paper: NAME,
        name: "early",
        section: "6, table 11",
        about: "Early retransmit, naive and mitigated",
        budget: Budget {
            full_s: 60,
            quick_s: 8,
        },
        scenario: NAME,
        own_settings: &servers::OWN_SETTINGS,
        mutations: &[],
        run: |setup| {
            Ok(servers::sheet(
                servers::Id::Early,
                &setup.base,
                setup.users,
            )?)
        },
    },
];
