//! Whether the analysis finds what happened (§IV-A). The study's tool is not published; ours follows the same idea: each
//! profile replays what the capture shows.
//!
//! The captures hold servers whose system the analysis does not know. What each server really did is known from the
//! simulation ([`watch`](super::watch)). A retransmission of the capture is the one that was sent at that time with that
//! sequence number.
//!
//! Deviations: Linux's servers have the kernel's minimum RTO (`linux-2.4+minrttvar`), as captured ones do. The flows are those
//! of the populations that lose data. The receivers' SACK and timestamps are as in the populations, so that many verdicts cannot be known.

use super::captures::{CAPTURES, FIT, lossy_flows};
use super::claims::by_system;
use super::columns::{measured, sheet_of_measured};
use super::published::seen_in;
use super::watch::{Repeated, Watch};
use crate::population::Population;
use crate::prelude::*;
use recoup_captures::merge_fields;
use recoup_captures::study::{Detector, Merge};
use recoup_trace::analyze::{Kept, Settings, follow};
use recoup_trace::finding::{Identification, Retransmission, Verdict};
use recoup_trace::read::CapturedPacket;

use recoup_wire::Endpoints;
use std::net::{Ipv4Addr, SocketAddr};

/// The name on the command line.
pub const ID: &str = "tool";

/// Flows analyzed together.
const TOGETHER: usize = 200;

/// The servers' port.
const HTTP: u16 = 80;

/// When the captures begin, and the time between two flows, as in [`Population`].
const EPOCH: Duration = Duration::from_secs(946_684_800);
const NEXT_FLOW: u64 = 100_000_000;

/// How the analysis agrees with the simulation, for the servers of one system.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// Retransmissions sent.
    sent: u64,
    /// Those of them that the analysis has.
    found: u64,
    /// Retransmissions of the analysis that were not sent.
    invented: u64,
    /// Found ones with a class of trigger: RTO or FR/R.
    classified: u64,
    /// Those with the true one.
    rightly_classified: u64,
    /// Found ones whose verdict is known.
    judged: u64,
    /// Those with the true one.
    rightly_judged: u64,
    /// Servers with one profile.
    identified: u64,
    /// Those with their own.
    rightly_identified: u64,
    /// Servers that retransmitted something.
    servers: u64,
}

merge_fields!(
    Found: sent, found, invented, classified, rightly_classified, judged, rightly_judged, identified,
    rightly_identified, servers
);

impl Found {
    fn compare(&mut self, row: &Retransmission, truth: &Repeated) {
        self.found += 1;
        let class = Detector::of(row.triggers.first());
        if let Some((here, there)) = class.zip(Detector::of(Some(truth.trigger))) {
            self.classified += 1;
            self.rightly_classified += u64::from(here == there);
        }
        if row.verdict != Verdict::Unknowable {
            self.judged += 1;
            let spurious = row.verdict == Verdict::Spurious;
            self.rightly_judged += u64::from(spurious == truth.spurious);
        }
    }
}

/// Gives each flow a server of its own, because the analysis learns from all connections of a host. The study identified
/// connections.
fn give_own_server(packet: &mut CapturedPacket) {
    let Endpoints { src, dst } = &mut packet.endpoints;
    let (client, server) = match src.port() {
        HTTP => (dst, src),
        _ => (src, dst),
    };
    if let Some(flow) = flow_of(*client) {
        let address = Ipv4Addr::from(11 << 24 | flow as u32);
        *server = SocketAddr::from((address, HTTP));
    }
}

/// The number of a flow, from its client's address.
fn flow_of(client: SocketAddr) -> Option<u64> {
    match client {
        SocketAddr::V4(address) => Some(u64::from(u32::from(*address.ip()) & 0xff_ffff)),
        SocketAddr::V6(_) => None,
    }
}

/// Retransmissions of the servers of some flows, by flow, sequence number and time in the capture.
fn truth(population: &Population, profile: &Profile, flows: &[u64]) -> Result<HashMap<(u64, u32, Instant), Repeated>> {
    let mut all = HashMap::new();
    for &number in flows {
        let mut watch = Watch::default();
        population.bench(number, |flow| flow.spec(profile))?.observe(number, &mut watch);
        for one in watch.repeated() {
            let begun = one.at.as_nanos() + NEXT_FLOW * number;
            let at = Instant::from_nanos(begun / 1000 * 1000) + EPOCH;
            all.insert((number, one.seq, at), one);
        }
    }
    Ok(all)
}

fn study(setup: &Setup, place: usize) -> Result<Found> {
    let system = &System::ALL[place];
    let profile = setup.profile(system.captured);
    let lossy = setup.effort.of(4000, 500);
    let mut pieces = vec![];
    for (capture, share) in CAPTURES.iter().zip(seen_in(place)) {
        let wanted = (lossy as f64 * share).round() as u64;
        let population = capture.population(&setup.fitted(FIT), wanted, setup.seed());
        let flows = lossy_flows(&population, &profile, 0, wanted)?;
        pieces.extend(flows.chunks(TOGETHER).map(|flows| (population.clone(), flows.to_vec())));
    }
    let parts = in_parallel(pieces.len(), cores(), |part| {
        let (population, flows) = &pieces[part];
        let mut truth = truth(population, &profile, flows)?;
        let captures = population.capture_both_ends(&profile, flows.iter().copied())?;
        let mut packets =
            if setup.is_mutated("captured-at-clients") { captures.at_clients } else { captures.at_servers };
        packets.iter_mut().for_each(give_own_server);
        let settings = Settings { threads: 0, ..Settings::default() };
        let mut found = Found { sent: truth.len() as u64, ..Found::default() };
        for kept in follow(packets.into_iter(), &settings, Kept::default) {
            for connection in &kept.connections {
                let [_, server] = &connection.directions;
                if server.retransmissions.total() == 0 {
                    continue;
                }
                found.servers += 1;
                if let Identification::Profile(explanation) = &server.profile {
                    found.identified += 1;
                    let own = *explanation.profile == *system.captured;
                    found.rightly_identified += u64::from(own);
                }
            }
            let is_data = |row: &&Retransmission| !row.syn && row.len > 0;
            for row in kept.retransmissions.iter().filter(is_data) {
                if row.endpoints.src.port() != HTTP {
                    continue;
                }
                let key = flow_of(row.endpoints.dst).map(|flow| (flow, row.seq.0, row.at));
                match key.and_then(|key| truth.remove(&key)) {
                    Some(truth) => found.compare(row, &truth),
                    None => found.invented += 1,
                }
            }
        }
        Ok::<_, ExperimentError>(found)
    })?;
    let mut all = Found::default();
    parts.iter().for_each(|part| all.merge(part));
    Ok(all)
}

/// A share of each system and its interval, in %.
fn shares(of: &[Found; 4], counts: impl Fn(&Found) -> [u64; 2]) -> [Share; 4] {
    of.each_ref().map(|found| {
        let [hits, trials] = counts(found);
        Share::of(hits, trials)
    })
}

fn shown(shares: &[Share; 4]) -> String {
    by_system(shares, Share::to_string)
}

/// Whether all shares are above a bound, in %.
fn all_above(shares: &[Share; 4], bound: f64) -> ClaimVerdict {
    ClaimVerdict::all(shares.iter().map(|share| share.above(bound / 100.0)))
}

fn claims(found: &[Found; 4]) -> Vec<Claim> {
    let all = shares(found, |one| [one.found, one.sent]);
    let invented: u64 = found.iter().map(|one| one.invented).sum();
    let missing: u64 = found.iter().map(|one| one.sent - one.found).sum();
    let classes = shares(found, |one| [one.rightly_classified, one.found]);
    let verdicts = shares(found, |one| [one.rightly_judged, one.judged]);
    let judged = shares(found, |one| [one.judged, one.found]);
    let systems = shares(found, |one| [one.rightly_identified, one.identified]);
    let identified = shares(found, |one| [one.identified, one.servers]);
    vec![
        claim!("finds-all", "{missing} missing, {invented} others; {}", shown(&all))
            .holds(missing == 0 && invented == 0),
        claim("classifies").shows(shown(&classes)).needs(all_above(&classes, 95.0)),
        claim!("judges", "{}; judged at all: {}", shown(&verdicts), shown(&judged)).needs(all_above(&verdicts, 95.0)),
        claim!("identifies-systems", "{}; identified at all: {}", shown(&systems), shown(&identified))
            .needs(all_above(&systems, 99.9)),
    ]
}

/// Compares the analysis with what happened.
///
/// # Errors
/// Never with these populations.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let mut found = [Found::default(); 4];
    for (place, found) in found.iter_mut().enumerate() {
        *found = study(setup, place)?;
    }
    let percent = |part, whole| 100.0 * part as f64 / whole as f64;
    let of = |one: &Found| {
        [
            percent(one.found, one.sent),
            percent(one.rightly_classified, one.found),
            percent(one.rightly_judged, one.judged),
            percent(one.rightly_identified, one.identified),
        ]
    };
    let names = ["found", "rightly classified", "rightly judged, where judged", "rightly identified, where identified"];
    let systems = System::ALL.iter().zip(found.each_ref().map(of));
    let cells = systems.clone().flat_map(|(system, values)| {
        names.into_iter().zip(values).map(|(name, value)| measured(format!("{name} (%)"), system.name, value))
    });
    let title = "What the analysis finds of simulated servers";
    let y_label = "% of the retransmissions, last bar: of the servers";
    let chart = BarChart::new(title, "system of the servers", y_label, names)
        .panel("", systems.map(|(system, values)| (system.name, values.map(Some))));
    let cells = cells.collect();
    Ok(sheet_of_measured(ID, title, claims(&found), chart, cells, &["quantity", "case", "engine"]))
}
