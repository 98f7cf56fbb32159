//! The experiments of the paper on selective loss prevention.

use super::timeouts::Traces;
use super::{
    arbitrator, combined, congestion, duplication, fec, fetch, overhead, stakes, tails, timeouts, timers, window,
};
use crate::experiment::{Run, run};

/// The experiments, in the order of the command line.
pub const RUNS: &[Run] = &[
    run(fec::ID, &[], fec::sheet),
    run(timers::ID, &[], timers::sheet),
    run(duplication::ID, &[], duplication::sheet),
    run(timeouts::POSITIONS[0], &[], |setup| timeouts::positions(setup, Traces::DataCenter)),
    run(timeouts::FLAGS[0], &[], |setup| timeouts::flags(setup, Traces::DataCenter)),
    run(timeouts::POSITIONS[1], &[], |setup| timeouts::positions(setup, Traces::Backbone)),
    run(timeouts::FLAGS[1], &[], |setup| timeouts::flags(setup, Traces::Backbone)),
    run(arbitrator::ID, &[], arbitrator::sheet),
    run(stakes::ID, &[], stakes::sheet),
    run(window::ID, &[], window::sheet),
    run(timeouts::TABLE, &[], timeouts::table),
    run(fetch::fig7::ID, &[], fetch::fig7::sheet),
    run(fetch::sizes::ID, &fetch::sizes::OWN_SETTINGS, fetch::sizes::sheet),
    run(overhead::ID, &[], overhead::sheet),
    run(tails::ID, &[], tails::sheet),
    run(combined::ID, &[], combined::sheet),
    run(congestion::ID, &[], congestion::sheet),
];
