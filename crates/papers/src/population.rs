//! Populations: many flows of one sender over random networks, captured at the server and analyzed.
//!
//! The studies of real traffic describe populations of connections. A simulated population stands in for
//! theirs: each flow has its own path, receiver and traffic, drawn at random. Two senders with the same
//! population meet the same flows, because every draw is a function of (seed, flow, purpose).
//!
//! | drawn per flow  | distribution                                                                  |
//! |-----------------|-------------------------------------------------------------------------------|
//! | path            | RTT, rate, queue and loss rate lognormal; loss independent or in bursts; some paths reorder packets or pause ([`Networks`]) |
//! | traffic         | requests and responses on one connection: number geometric, sizes and think times lognormal ([`Traffic`]) |
//! | receiver        | SACK, timestamps and delayed ACKs in a share of the flows each ([`Receivers`]) |
//! | users           | patience lognormal, the part of a capture that is left uniform ([`Users`]); or neither |
//!
//! The captures have what a capture of the server's traffic has: headers and times in whole microseconds.
//! A flow begins every 100 ms, and each client has its own address. So connections overlap, as they do in
//! captures of busy servers.
//!
//! The analysis knows the sender's profile, and which receivers report duplicates. Without the first it would
//! identify the sender, and its errors would blur the differences between senders. The second it would learn
//! from the other connections of a receiver; here each receiver has one.
//!
//! Deviations from real populations: flows share no queue; clients of all flows have the sender's
//! profile, which matters for their requests alone.

mod capture;
mod draw;
mod flow;
mod users;

use crate::prelude::*;
pub use capture::EndCaptures;
pub use flow::{Exchange, exchanges, losses, millis, probability, write};
pub use flow::{Flow, Networks, Receivers, Traffic};
pub use recoup_path::draws::LogNormal;
pub use users::Users;

use recoup_trace::analyze::{Findings, Settings, follow};
use recoup_trace::hosts::{DuplicateReports, HostFacts, Hosts};
use recoup_trace::read::CapturedPacket;

/// Flows captured and analyzed together.
pub const FLOWS_PER_CAPTURE: u64 = 64;

/// A population of flows. Its fields describe how the flows differ; the sender is not one of them.
#[derive(Clone, Debug)]
pub struct Population {
    /// The number of flows.
    pub flows: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// The paths.
    pub networks: Networks,
    /// The applications' writes.
    pub traffic: Traffic,
    /// The clients, which receive the data.
    pub receivers: Receivers,
    /// Clients that give up, and captures that end. `None`: they wait for ever, and captures have whole flows.
    pub users: Option<Users>,
}

impl Population {
    /// Flows of `seed` over wide area networks of the early 2000s, with web traffic.
    #[cfg(test)]
    pub const fn web(flows: u64, seed: u64) -> Self {
        Self {
            flows,
            seed,
            networks: Networks::WIDE_AREA,
            traffic: Traffic::WEB,
            receivers: Receivers::MIXED,
            users: None,
        }
    }

    /// Flow number `number`, from 0.
    pub fn flow(&self, number: u64) -> Flow {
        Flow::draw(self, number)
    }

    /// The bench of flow `number` between hosts that `spec` makes for it.
    ///
    /// # Errors
    /// If the path cannot be built. The paths of [`web`](Self::web) can.
    pub fn bench(&self, number: u64, spec: impl FnOnce(&Flow) -> FlowSpec) -> Result<Bench> {
        let flow = self.flow(number);
        Ok(Bench { spec: spec(&flow), simulation: simulation(&flow.path)?, seed: self.seed })
    }

    /// Runs flow `number` of a [`bench`](Self::bench) under an observer. Its client may give up.
    pub fn observe(&self, bench: &mut Bench, number: u64, observer: &mut impl Observer) -> FlowRecord {
        let mut applications = users::applications(self, number, &bench.spec.workload);
        let flow = FlowId(number);
        bench.simulation.run_applications(&bench.spec, bench.seed, flow, &mut applications, observer)
    }

    /// Simulates these flows with servers of profile `sender`. Returns the packets that a capture at the
    /// servers holds, in the order of time, with frames from 1.
    ///
    /// # Errors
    /// If a path cannot be built. The paths of [`web`](Self::web) can.
    pub fn capture(&self, sender: &Profile, flows: impl IntoIterator<Item = u64>) -> Result<Vec<CapturedPacket>> {
        Ok(self.capture_both_ends(sender, flows)?.at_servers)
    }

    /// As [`capture`](Self::capture), with a capture at the clients beside it.
    ///
    /// # Errors
    /// As [`capture`](Self::capture).
    pub fn capture_both_ends(&self, sender: &Profile, flows: impl IntoIterator<Item = u64>) -> Result<EndCaptures> {
        capture::capture_both_ends(self, sender, flows)
    }

    /// Captures the flows with servers of profile `sender`, 64 in a capture, and analyzes the captures on all
    /// cores. Each of the findings covers a part of the flows of one capture. Their order does not depend on
    /// the number of cores. Frames and connections are numbered anew in each capture, so order
    /// collectors (`Collector::order`) before they are merged.
    ///
    /// # Errors
    /// As [`capture`](Self::capture).
    pub fn analyze<F: Findings>(&self, sender: &Profile, findings: impl Fn() -> F + Sync) -> Result<Vec<F>> {
        self.analyze_flows(sender, &(0..self.flows).collect::<Vec<_>>(), findings)
    }

    /// As [`analyze`](Self::analyze), with these flows alone.
    ///
    /// # Errors
    /// As [`capture`](Self::capture).
    pub fn analyze_flows<F: Findings>(
        &self,
        sender: &Profile,
        flows: &[u64],
        findings: impl Fn() -> F + Sync,
    ) -> Result<Vec<F>> {
        let captures: Vec<&[u64]> = flows.chunks(FLOWS_PER_CAPTURE as usize).collect();
        let parts = in_parallel(captures.len(), cores(), |i| {
            let flows = captures[i];
            let packets = self.capture(sender, flows.iter().copied())?;
            let settings = Settings {
                profile: Some(sender.clone()),
                threads: 0,
                hosts: Arc::new(self.receivers(sender, flows)),
                ..Settings::default()
            };
            Ok::<_, ExperimentError>(follow(packets.into_iter(), &settings, &findings))
        })?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// The receivers of these flows that report duplicates: those that use SACK.
    fn receivers(&self, sender: &Profile, flows: &[u64]) -> Hosts {
        let mut hosts = Hosts::default();
        let reports = HostFacts { duplicates: DuplicateReports { seen: 1, missing: 0 }, ..HostFacts::default() };
        for &number in flows {
            if sender.mechanisms().sack && flow::offers_sack(self, number) {
                hosts.add(capture::client(number).into(), &reports);
            }
        }
        hosts
    }
}

#[cfg(test)]
mod tests;
