//! The experiments of the paper on proportional rate reduction.

use super::{Id, OWN_SETTINGS, acks, er, lengths, linux, losses, pipe, properties, servers};
use crate::experiment::{Run, run};

/// The experiments, in the order of the command line.
pub const RUNS: &[Run] = &[
    run("fig2", &OWN_SETTINGS, |setup| super::sheet(Id::Fig2, setup)),
    run("fig3", &OWN_SETTINGS, |setup| super::sheet(Id::Fig3, setup)),
    run("fig4", &OWN_SETTINGS, |setup| super::sheet(Id::Fig4, setup)),
    run(linux::ID, &linux::OWN_SETTINGS, linux::sheet),
    run(losses::ID, &losses::OWN_SETTINGS, losses::sheet),
    run(acks::ID, &acks::OWN_SETTINGS, acks::sheet),
    run(pipe::ID, &pipe::OWN_SETTINGS, pipe::sheet),
    run(lengths::ID, &lengths::OWN_SETTINGS, lengths::sheet),
    run(er::ID, &er::OWN_SETTINGS, er::sheet),
    run("properties", &properties::OWN_SETTINGS, properties::sheet),
    run("web", &servers::OWN_SETTINGS, |setup| servers::sheet(servers::Id::Web, setup)),
    run("video", &servers::OWN_SETTINGS, |setup| servers::sheet(servers::Id::Video, setup)),
    run("early", &servers::OWN_SETTINGS, |setup| servers::sheet(servers::Id::Early, setup)),
    run(servers::ab::ID, &servers::OWN_SETTINGS, servers::ab::sheet),
];
