//! The experiments of the study of loss detection.

use super::{Id, NAME, impact};
use crate::experiment::{Budget, Experiment};

/// The experiments, in the order of the command line.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        paper: NAME,
        name: "tables",
        section: "IV, V-A, tables I, III and IV",
        about: "Tables I, III and IV, and how long recoveries take by the number of segments lost",
        budget: Budget {
            full_s: 10,
            quick_s: 4,
        },
        scenario: "fetch",
        own_settings: &[],
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Tables, setup.seed())?),
    },
    Experiment {
        paper: NAME,
        name: "fig1",
        section: "III, figure 1",
        about: "Bytes per connection",
        budget: Budget {
            full_s: 10,
            quick_s: 2,
        },
        scenario: "fetch",
        own_settings: &[],
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Fig1, setup.seed())?),
    },
    Experiment {
        paper: NAME,
        name: "fig2",
        section: "V-A2, figure 2",
        about: "How long FR/R and timeouts took to detect losses",
        budget: Budget {
            full_s: 10,
            quick_s: 2,
        },
        scenario: "fetch",
        own_settings: &[],
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Fig2, setup.seed())?),
    },
    Experiment {
        paper: NAME,
        name: "fig3",
        section: "V-A3, figure 3",
        about: "How much ideal loss detection would shorten connections",
        budget: Budget {
            full_s: 10,
            quick_s: 2,
        },
        scenario: "fetch",
        own_settings: &[],
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Fig3, setup.seed())?),
    },
    Experiment {
        paper: NAME,
        name: "fig4",
        section: "V-B, figure 4",
        about: "What other k (and m) would save",
        budget: Budget {
            full_s: 10,
            quick_s: 2,
        },
        scenario: "fetch",
        own_settings: &[],
        mutations: &[],
        run: |setup| Ok(impact::sheet(impact::Id::Fig4, setup.seed())?),
    },
    Experiment {
        paper: NAME,
        name: "fig5a",
        section: "V-B, figure 5a",
        about: "What another minimum RTO would save",
        budget: Budget {
            full_s: 10,
            quick_s: 2,
        },
        scenario: "fetch",
        own_settings: &[],
        mutations: &[],
        run: |setup| Ok(impact::sheet(impact::Id::Fig5a, setup.seed())?),
    },
    Experiment {
        paper: NAME,
        name: "fig5b",
        section: "V-B, figure 5b",
        about: "What other a and b would save",
        budget: Budget {
            full_s: 10,
            quick_s: 2,
        },
        scenario: "fetch",
        own_settings: &[],
        mutations: &[],
        run: |setup| Ok(impact::sheet(impact::Id::Fig5b, setup.seed())?),
    },
];
