//! The experiments of the paper on tail loss recovery.

use super::{Id, OWN_SETTINGS, detection, dumbbell, timers, web};
use crate::experiment::{Run, run};

/// The experiments, in the order of the command line.
pub const RUNS: &[Run] = &[
    run(detection::ID, &detection::OWN_SETTINGS, detection::sheet),
    run(timers::ID, &timers::OWN_SETTINGS, timers::sheet),
    run("fig1", &OWN_SETTINGS, |setup| super::sheet(Id::Fig1, setup)),
    run("fig2", &OWN_SETTINGS, |setup| super::sheet(Id::Fig2, setup)),
    run(dumbbell::ID, &dumbbell::OWN_SETTINGS, dumbbell::sheet),
    run(web::ID, &web::OWN_SETTINGS, web::sheet),
];
