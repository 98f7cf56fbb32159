//! The experiments of the study of loss detection.

use super::{Id, causes, equations, impact, published, reactions, senders, tool};
use crate::experiment::{Run, run};

/// The experiments, in the order of the command line.
pub const RUNS: &[Run] = &[
    run("tables", &[], |setup| super::sheet(Id::Tables, setup)),
    run("fig1", &[], |setup| super::sheet(Id::Fig1, setup)),
    run("fig2", &[], |setup| super::sheet(Id::Fig2, setup)),
    run("fig3", &[], |setup| super::sheet(Id::Fig3, setup)),
    run("fig4", &[], |setup| impact::sheet(impact::Id::Fig4, setup)),
    run("fig5a", &[], |setup| impact::sheet(impact::Id::Fig5a, setup)),
    run("fig5b", &[], |setup| impact::sheet(impact::Id::Fig5b, setup)),
    run(senders::ID, &[], senders::sheet),
    run(reactions::ID, &[], reactions::sheet),
    run(equations::ID, &[], equations::sheet),
    run("tradeoff", &[], |setup| impact::sheet(impact::Id::Tradeoff, setup)),
    run(tool::ID, &[], tool::sheet),
    run(causes::ID, &[], causes::sheet),
    run(published::ID, &[], published::sheet),
];
