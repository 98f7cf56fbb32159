//! The experiments of the paper on tail loss recovery.

mod mutations;

use super::{Id, NAME, OWN_SETTINGS, detection, dumbbell, timers, web};
use crate::experiment::{Budget, Experiment};

/// The experiments, in the order of the command line.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        paper: NAME,
        name: detection::ID,
        section: "1, 2, 4",
        about: "When duplicate ACKs reveal a loss, and when only a timeout does",
        budget: Budget { full_s: 2, quick_s: 1 },
        scenario: NAME,
        own_settings: &detection::OWN_SETTINGS,
        mutations: mutations::DETECTION,
        run: |setup| Ok(detection::sheet(setup)?),
    },
    Experiment {
        paper: NAME,
        name: timers::ID,
        section: "2, 3.2, 3.3, 3.4, 4",
        about: "What the timers of TCP, RTO restart, TLP and TLPR do, on single flows",
        budget: Budget { full_s: 6, quick_s: 2 },
        scenario: NAME,
        own_settings: &timers::OWN_SETTINGS,
        mutations: mutations::TIMERS,
        run: |setup| Ok(timers::sheet(setup)?),
    },
    Experiment {
        paper: NAME,
        name: "fig1",
        section: "3.1, figure 1",
        about: "One segment lost, RTT 10 to 640 ms",
        budget: Budget { full_s: 6, quick_s: 2 },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: mutations::FIG1,
        run: |setup| Ok(super::sheet(Id::Fig1, setup)?),
    },
    Experiment {
        paper: NAME,
        name: "fig2",
        section: "3.1, figure 2",
        about: "One to five segments lost, RTT 80 ms",
        budget: Budget { full_s: 4, quick_s: 2 },
        scenario: NAME,
        own_settings: &OWN_SETTINGS,
        mutations: mutations::FIG2,
        run: |setup| Ok(super::sheet(Id::Fig2, setup)?),
    },
    Experiment {
        paper: NAME,
        name: dumbbell::ID,
        section: "3.2, figure 3",
        about: "Flows of 4 to 100 segments beside Tmix traffic on a congested bottleneck",
        budget: Budget { full_s: 260, quick_s: 20 },
        scenario: NAME,
        own_settings: &dumbbell::OWN_SETTINGS,
        mutations: mutations::FIG3,
        run: dumbbell::sheet,
    },
    Experiment {
        paper: NAME,
        name: web::ID,
        section: "3.3, figure 4",
        about: "Web pages over six persistent connections per subdomain",
        budget: Budget { full_s: 40, quick_s: 8 },
        scenario: NAME,
        own_settings: &web::OWN_SETTINGS,
        mutations: mutations::FIG4,
        run: web::sheet,
    },
    Experiment {
        paper: NAME,
        name: web::subdomains::ID,
        section: "3.3, figure 4f",
        about: "The newspaper's object completion times by the number of subdomains",
        budget: Budget { full_s: 15, quick_s: 3 },
        scenario: NAME,
        own_settings: &web::OWN_SETTINGS,
        mutations: mutations::SUBDOMAINS,
        run: web::subdomains::sheet,
    },
];
