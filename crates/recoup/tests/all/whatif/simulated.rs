//! Flows in the simulator.

use super::networks::Network;
use super::seed;
use super::truth::{Cost, Run, Stage};
use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_recovery::Profile;
use recoup_sim::{NoObserver, Simulation};
use std::fs;
use std::path::Path;

/// The client's mechanisms.
const CLIENT: &str = "linux-6";

/// The simulator.
pub struct Simulator;

impl Stage for Simulator {
    fn run(&self, network: &Network, flows: u64, server: &str, capture: Option<&Path>) -> Run {
        run(network, flows, server, capture, seed())
    }
}

/// Runs the flows with these random losses.
pub fn run(network: &Network, flows: u64, server: &str, capture: Option<&Path>, seed: u64) -> Run {
    let paths = capture.map(|path| CapturePaths { server: path.into(), client: path.with_extension("client") });
    let mut capture = paths.as_ref().map(|paths| Capture::create(paths).expect("a capture"));
    let [client, server] = [CLIENT, server].map(|name| name.parse::<Profile>().expect("a profile"));
    let run = |number| {
        let flow = network.flow(number);
        let mut spec = flow.settings.flow(&client);
        spec.server = flow.settings.flow(&server).server;
        let mut simulation = Simulation::new(&flow.path).expect("a path");
        let record = match &mut capture {
            Some(capture) => simulation.run(&spec, seed, flow.id, capture),
            None => simulation.run(&spec, seed, flow.id, &mut NoObserver),
        };
        Cost::from(&record)
    };
    let run = (0..flows).map(run).collect();
    if let (Some(capture), Some(paths)) = (capture, paths) {
        capture.finish().expect("a capture");
        fs::remove_file(paths.client).expect("a capture");
    }
    run
}
