//! The experiments of the paper on tail loss recovery.

use super::{Id, NAME, OWN_SETTINGS, dumbbell, web};
use crate::experiment::{Budget, Experiment};

/// The experiments, in the order of the command line.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        paper: NAME,
        name: "fig1",
        section: "3.1, figure 1",
        about: "One segment lost, RTT 10 to 640 ms",
        budget: Budget {
            full_s: 10,
            quick_s: 5,
        },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Fig1, &setup.base)?),
    },
    Experiment {
        paper: NAME,
        name: "fig2",
        section: "3.1, figure 2",
        about: "One to five segments lost, RTT 80 ms",
        budget: Budget {
            full_s: 10,
            quick_s: 5,
        },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(super::sheet(Id::Fig2, &setup.base)?),
    },
    Experiment {
        paper: NAME,
        name: "fig3",
        section: "3.2, figure 3",
        about: "Flows of 4 to 100 segments beside Tmix traffic on a congested bottleneck",
        budget: Budget {
            full_s: 240,
            quick_s: 20,
        },
        scenario: NAME,
        own_settings: &dumbbell::OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(dumbbell::sheet(&setup.base, setup.background.as_deref())?),
    },
    Experiment {
        paper: NAME,
        name: "fig4",
        section: "3.3, figure 4",
        about: "Web pages over six persistent connections per subdomain",
        budget: Budget {
            full_s: 40,
            quick_s: 10,
        },
        scenario: NAME,
        own_settings: &web::OWN_SETTINGS,
        mutations: &[],
        run: |setup| Ok(web::sheet(&setup.base, &setup.pages)?),
    },
];
