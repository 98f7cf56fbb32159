//! One stack in one case with one seed.

use super::{
    case::{Case, Chosen, RTT, SPIKE, lose_packets},
    judge::Agreement,
    stack::Stack,
    truth::Truth,
};
use crate::{
    bench::{Bench, BenchFlow, Completion, Log},
    guests::GuestName,
};
use recoup_guest::{Guest, Setup, Transport};
use recoup_path::PathSpec;
use recoup_units::{Direction, FlowId, Instant};
use std::{net::SocketAddr, time::Duration};

/// The longest that a flow may take.
const LIMIT: Duration = Duration::from_secs(600);

/// The stack that receives what TCP stacks send, and that shares a queue with others.
pub const OURS: GuestName = GuestName::Linux6;

/// The first client's port.
const FIRST_PORT: u16 = 32_768;

/// What a flow cost.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// From the client's SYN until both applications had all data (ms); `None`: never.
    pub completion: Option<f64>,
    /// Data packets of the server that the path lost.
    pub lost: Option<u64>,
    /// The most data packets that left at one instant.
    pub burst: Option<u64>,
    /// Packets sent again; of datagrams: those that the stack declares lost, if it says so.
    pub again: Option<u64>,
    /// Of them, those that were needless. Of datagrams: at least so many, because no more than `lost` were lost.
    pub needless: Option<u64>,
    /// How often a timer made the server send data again.
    pub timeouts: Option<u64>,
    /// What is known of TCP alone.
    pub tcp: Option<TcpTrial>,
    /// The flow with `linux-6` beside it: its completion time (ms).
    pub beside: Option<f64>,
}

/// What a flow of TCP cost.
#[derive(Clone, Debug)]
pub struct TcpTrial {
    /// After the delay spike: bytes in flight within five RTTs, as a share of those before.
    pub restored: Option<f64>,
    pub agreement: Agreement,
}

/// A trial and its packets.
pub struct Finished {
    pub trial: Trial,
    pub log: Log,
}

impl Trial {
    /// Runs flow number `flow` of `seed`.
    ///
    /// # Errors
    /// In one line: a guest cannot be made or fails.
    pub fn run(stack: &Stack, case: Case, seed: u64, flow: u64) -> Result<Finished, String> {
        let mut path = case.path()?;
        if let Chosen::Last(count) = case.chosen() {
            let (completions, log) = run(stack, case, &path, seed, flow)?;
            let complete = completions.first().and_then(|flow| flow.complete);
            lose_packets(&mut path, &last_data_packets(&log, complete, count));
        }
        let (completions, log) = run(stack, case, &path, seed, flow)?;
        let trial = Self::of(stack, case, &completions, &log)?;
        Ok(Finished { trial, log })
    }

    fn of(stack: &Stack, case: Case, completions: &[Completion], log: &Log) -> Result<Self, String> {
        let completion = |index: usize| {
            let completion = completions.get(index)?;
            Some(completion.complete?.since(completion.start).as_secs_f64() * 1e3)
        };
        let is_tcp = stack.about().transport == Transport::Tcp;
        let truth = if is_tcp { Truth::of_tcp(log, 0) } else { Truth::of_datagrams(log, 0) };
        let counters = completions.first().map(|flow| flow.counters).unwrap_or_default();
        let (again, needless, timeouts) = match is_tcp {
            true => {
                let again = truth.retransmissions.len() as u64;
                (Some(again), Some(truth.spurious()), Some(truth.timeouts()))
            }
            false => {
                let lost = log.packets.iter().filter(|sent| sent.is_lost_by(0, Direction::Down)).count() as u64;
                (counters.lost, counters.lost.map(|declared| declared.saturating_sub(lost)), counters.timeouts)
            }
        };
        let tcp = match is_tcp {
            false => None,
            true => Some(TcpTrial {
                restored: (case == Case::DelaySpike).then(|| restored(&truth)).flatten(),
                agreement: Agreement::of(log, 0, &truth)?,
            }),
        };
        let beside = case.is_shared().then(|| completion(1)).flatten();
        let (lost, burst) = (Some(truth.lost), Some(truth.burst));
        Ok(Self { completion: completion(0), lost, burst, again, needless, timeouts, tcp, beside })
    }
}

/// The flight just after the spike, as a share of the flight just before.
fn restored(truth: &Truth) -> Option<f64> {
    let [begin, end] = SPIKE;
    truth.restored([begin - 5 * RTT, begin], [end + RTT, end + 6 * RTT])
}

/// The numbers of the server's last packets with data that was needed, of a run without loss. What arrives later are probes of
/// the path MTU and the like.
fn last_data_packets(log: &Log, complete: Option<Instant>, count: usize) -> Vec<u64> {
    let data = log.packets.iter().filter(|sent| sent.direction == Direction::Down && sent.is_long());
    let needed = data.filter(|sent| sent.arrived.is_some_and(|at| complete.is_none_or(|complete| at <= complete)));
    let needed: Vec<u64> = needed.map(|sent| sent.ordinal).collect();
    needed.iter().rev().take(count).copied().collect()
}

fn run(stack: &Stack, case: Case, path: &PathSpec, seed: u64, flow: u64) -> Result<(Vec<Completion>, Log), String> {
    let mut flows = vec![bench_flow(stack, case, seed, flow, 0)?];
    if case.is_shared() {
        flows.push(bench_flow(&Stack::named(OURS)?, case, seed, flow, 1)?);
    }
    let bench = Bench::new(path, seed, flows);
    let mut bench = bench.map_err(|error| error.to_string())?;
    let completions = bench.run(LIMIT).map_err(|error| error.to_string())?;
    Ok((completions, bench.into_log()))
}

/// Flow `place` of a bench. TCP stacks send to our receiver, others to themselves.
fn bench_flow(stack: &Stack, case: Case, seed: u64, flow: u64, place: u16) -> Result<BenchFlow, String> {
    let client: SocketAddr = ([198, 51, 100, 1], FIRST_PORT + place).into();
    let server: SocketAddr = ([192, 0, 2, 1], 80).into();
    let setup = |local, peer, of_host: u64, has_nagle: bool| {
        // Each host and flow has random numbers of its own.
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(flow * 4 + u64::from(place) * 2 + of_host);
        // Servers of requests and responses switch it off.
        let options = has_nagle.then(|| ("no-delay".into(), "true".into()));
        Setup { seed, mtu: 1500, local, peer, options: options.into_iter().collect() }
    };
    let receiver: Box<dyn Guest> = match stack.about().transport {
        Transport::Tcp => OURS.make(&setup(client, server, 0, true)).map_err(|error| error.to_string())?,
        _ => stack.make(&setup(client, server, 0, stack.has_nagle()))?,
    };
    let sender = stack.make(&setup(server, client, 1, stack.has_nagle()))?;
    Ok(BenchFlow {
        id: FlowId(flow * 2 + u64::from(place)),
        start: Instant::ZERO,
        guests: [receiver, sender],
        workload: case.workload(),
    })
}
