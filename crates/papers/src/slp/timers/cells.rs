//! The flows.

use super::LossCell;
use crate::prelude::*;
use crate::slp::micro::{fct_ms, plain, run};

/// The kernels' loss recovery of the paper's time.
const SENDER: &str = "linux-3.17";

/// A kernel without early retransmit.
const BEFORE: &str = "linux-2.6";

/// RTTs in ms: a campus, a continent, an ocean, a satellite.
pub const RTTS: [u64; 4] = [20, 80, 160, 320];

/// Smallest RTOs in ms: finer than Linux's, Linux's, RFC 6298's, and three times that.
pub const LEAST_RTOS: [u64; 4] = [1, 200, 1000, 3000];

/// The most segments that follow a lost one.
const MOST_FOLLOW: u64 = 6;

/// All that the claims need.
#[derive(Debug, Default)]
pub struct Cells {
    /// The costs of losses.
    pub losses: Vec<LossCell>,
    /// How long the sender's transmissions are the same if its segment is lost and if it is delayed: transmissions
    /// compared, and those that differ; then whether the retransmission was needless in either.
    pub ambiguous: (usize, usize, [bool; 2]),
    /// Needless retransmissions of 60 flows each whose ACKs are delayed, by smallest RTO: 1 ms and Linux's.
    pub needless: [u64; 2],
    /// The cost of losing the last of eight segments with SLP and without, in ms, by RTT and smallest RTO.
    pub copied: Vec<(u64, u64, f64, f64)>,
    /// By segments that follow a lost one: whether a timer retransmitted it, if it is plain and if it carries PSH.
    pub follow: Vec<[bool; 2]>,
    /// Whether a timer retransmitted a plain segment with the kernel before early retransmit.
    pub follow_before: Vec<bool>,
}

impl Cells {
    /// Runs all flows.
    pub fn run(setup: &Setup) -> Result<Self> {
        let (mut follow, mut follow_before) = (vec![], vec![]);
        for n in 0..=MOST_FOLLOW {
            follow.push([times_out(setup, SENDER, n, false)?, times_out(setup, SENDER, n, true)?]);
            follow_before.push(times_out(setup, BEFORE, n, false)?);
        }
        Ok(Self {
            losses: losses(setup)?,
            ambiguous: ambiguous(setup)?,
            needless: needless(setup)?,
            copied: copied(setup)?,
            follow,
            follow_before,
        })
    }

    /// A cell.
    pub fn get(&self, rtt_ms: u64, least_rto_ms: u64, lost: &str) -> &LossCell {
        let is_it = |c: &&LossCell| (c.rtt_ms, c.least_rto_ms, c.lost) == (rtt_ms, least_rto_ms, lost);
        self.losses.iter().find(is_it).expect("a cell of the grid")
    }
}

/// Each RTT with each smallest RTO.
fn timers() -> impl Iterator<Item = (u64, u64)> {
    RTTS.into_iter().flat_map(|rtt_ms| LEAST_RTOS.map(|least_rto_ms| (rtt_ms, least_rto_ms)))
}

/// A flow at this RTT and with this smallest RTO. With SLP its last segment is worth a copy.
fn timed(
    setup: &Setup,
    profile: &str,
    (rtt_ms, least_rto_ms): (u64, u64),
    segments: &str,
    drop: &str,
) -> Result<FlowRecord> {
    Ok(run(setup, profile, &format!("rtt={rtt_ms}ms rto.min={least_rto_ms}ms rto.min_of=rttvar segments={segments} drop={drop} slp.q=tail:1 slp.p=0.5"))?.record)
}

fn losses(setup: &Setup) -> Result<Vec<LossCell>> {
    let last = if setup.is_mutated("first-lost") { "data:1" } else { "tail:1" };
    let mut cells = vec![];
    for (rtt_ms, least_rto_ms) in timers() {
        let with = |drop| timed(setup, SENDER, (rtt_ms, least_rto_ms), "10", drop);
        let lossless = fct_ms(&with("none")?);
        for (lost, drop) in [("first", "data:1"), ("last", last)] {
            let record = with(drop)?;
            let timeouts = record.counters.retransmissions.of(Trigger::Rto);
            cells.push(LossCell { rtt_ms, least_rto_ms, lost, cost_ms: fct_ms(&record) - lossless, timeouts });
        }
    }
    Ok(cells)
}

/// The cost of losing the last of eight segments with a copy and without.
fn copied(setup: &Setup) -> Result<Vec<(u64, u64, f64, f64)>> {
    let costs = |timer: (u64, u64)| {
        let fct = |profile, drop| Ok::<_, ExperimentError>(fct_ms(&timed(setup, profile, timer, "8", drop)?));
        let cost = |profile| Ok::<_, ExperimentError>(fct(profile, "tail:1")? - fct(profile, "none")?);
        Ok((timer.0, timer.1, cost("linux-3.17+slp")?, cost(SENDER)?))
    };
    timers().map(costs).collect()
}

/// The server's transmissions up to its first retransmission.
fn until_again(log: &Log) -> Vec<(Instant, Transmission)> {
    let is_again = |(_, what): &(Instant, Transmission)| matches!(what, Transmission::Again(..));
    log.sent(Host::Server).take_while(|one| !is_again(one)).chain(log.sent(Host::Server).find(is_again)).collect()
}

/// A flow of one segment, which is lost, or delayed beyond the RTO.
fn ambiguous(setup: &Setup) -> Result<(usize, usize, [bool; 2])> {
    let lost = run(setup, SENDER, "segments=1 drop=tail:1")?;
    let lost_sent = until_again(&lost);
    let delay = if setup.is_mutated("short-delay") { "20ms" } else { "600ms" };
    let mut bench = Bench::new(setup, SENDER, &plain(&format!("segments=1 reorder=down:0.5:{delay}")))?;
    // Draws are by flow: of some flows, the segment is delayed and the SYN-ACK is not.
    for flow in 0..64 {
        let late = bench.run(flow);
        let sent = until_again(&late);
        let begins_alike =
            lost_sent.len() > 1 && sent.get(..lost_sent.len() - 1) == Some(&lost_sent[..lost_sent.len() - 1]);
        let is_delayed = late.record.fct.is_some_and(|fct| fct > std::time::Duration::from_millis(125));
        if begins_alike && (is_delayed || setup.is_mutated("short-delay")) {
            let pairs = lost_sent.len().max(sent.len());
            let differ = (0..pairs).filter(|i| lost_sent.get(*i) != sent.get(*i)).count();
            return Ok((pairs, differ, [&lost, &late].map(|log| log.record.spurious > 0)));
        }
    }
    Ok((0, 0, [false; 2]))
}

/// Flows of 1 to 20 segments whose receivers delay ACKs, over three paths without loss.
fn needless(setup: &Setup) -> Result<[u64; 2]> {
    let ack = if setup.is_mutated("short-delay") { "quick" } else { "delayed:200ms" };
    let mut needless = [0; 2];
    for rtt in ["5ms", "20ms", "40ms"] {
        for segments in 1..=20 {
            let common = format!("rtt={rtt} segments={segments} ack={ack} rto.min_of=rttvar");
            for (place, least) in ["1ms", "profile"].into_iter().enumerate() {
                needless[place] += run(setup, SENDER, &format!("{common} rto.min={least}"))?.record.spurious_data;
            }
        }
    }
    Ok(needless)
}

/// Whether a timer retransmits the fourth segment, if so many segments follow it. With PSH it ends a write, and the
/// others are another one.
fn times_out(setup: &Setup, sender: &str, follow: u64, push: bool) -> Result<bool> {
    const MSS: u64 = 1448;
    let first = if push { 4 } else { 4 + follow };
    let rest = 4 + follow - first;
    let later = if setup.is_mutated("late-write") { "5s" } else { "0" };
    let writes = match rest {
        0 => format!("{}B@0", first * MSS),
        _ => format!("{}B@0,{}B@{later}", first * MSS, rest * MSS),
    };
    let log = run(setup, sender, &format!("writes={writes} drop=data:4"))?;
    let fourth = Offset::DATA + 3 * MSS;
    let again = log.sent(Host::Server).find_map(|(_, what)| match what {
        Transmission::Again(span, trigger) if span.start == fourth => Some(trigger),
        _ => None,
    });
    Ok(again == Some(Trigger::Rto))
}
