//! Measures one sender in one case.

use crate::{
    case::{COMPLETION_RTT, Case, LOSS_RTT, LOST_BOTH_WAYS, Reader},
    clients::{Exchanges, connections, requests},
    network::Network,
    process::SenderProcess,
    receiver::{connect, read_answer, read_for},
    senders::{Failed, Options, Sender},
};
use procfs::{Current, CurrentSI, KernelStats, Meminfo};
use recoup_path::DropRules;
use recoup_units::Direction;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::{net::SocketAddr, sync::OnceLock, thread, time::Duration};

/// The bytes of an answer of ten segments at an MTU of 1500 bytes, with timestamps in the TCP header.
const ANSWER: u64 = 10 * 1448;

/// Connections without a request whose memory is measured.
const IDLE_CONNECTIONS: usize = 1000;

/// The shortest processor time that is reported (s).
const LEAST_TIME: f64 = 0.04;

/// How long memory may take to come to rest.
const REST: Duration = Duration::from_millis(500);

/// How long a stream is measured.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Without delay.
    pub direct: Duration,
    /// On a path with delay, where cwnd takes longer to settle.
    pub delayed: Duration,
}

/// The result of one measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    Stream {
        /// Goodput (Mbit/s).
        rate: f64,
        /// Processor time of the sender's process (s per GB); `None` if it is too short to measure.
        sender_time: Option<f64>,
        /// Processor time of the whole machine (s per GB), as above.
        machine_time: Option<f64>,
    },
    /// Connections, or requests, that were answered.
    Served(Served),
    /// Flow completion time, from the request to the last byte (ms).
    Completion(f64),
    /// Memory of a connection without a request (kB).
    Memory(f64),
}

/// How short connections, or requests, were answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// Answers per second.
    pub rate: f64,
    /// Processor time of the whole machine (s per 1,000 answers); `None` if it is too short to measure.
    pub machine_time: Option<f64>,
    /// Time until an answer was complete (µs): the median, and what 99 % of them did not exceed.
    pub median: f64,
    pub most: f64,
}

/// Measures one sender in one case.
pub fn measure(sender: Sender, case: Case, times: Times) -> Result<Measured, Failed> {
    use_processors(case.processors())?;
    let options = Options { offloads: case.offloads(), ..Options::PLAIN };
    match case {
        Case::Bulk { reader, .. } => {
            let network = Network::direct(sender, options)?;
            stream(&network, sender, options, reader, times.direct)
        }
        Case::Loss { reader, percent, .. } => {
            let network = Network::direct(sender, options)?;
            network.lose(percent, 0.0)?;
            stream(&network, sender, options, reader, times.direct)
        }
        Case::DelayedLoss { reader, percent } => {
            let network = Network::with_path(LOSS_RTT, Vec::new())?;
            network.lose(percent, 0.0)?;
            stream(&network, sender, options, reader, times.delayed)
        }
        Case::LossBothWays { delayed } => {
            let (network, time) = match delayed {
                true => (Network::with_path(LOSS_RTT, Vec::new())?, times.delayed),
                false => (Network::direct(sender, options)?, times.direct),
            };
            network.lose(LOST_BOTH_WAYS, LOST_BOTH_WAYS)?;
            stream(&network, sender, options, Reader::Often, time)
        }
        Case::Connections { .. } => exchanges(sender, options, move |to| connections(to, times.direct)),
        Case::Requests { .. } => exchanges(sender, options, move |to| requests(to, times.direct)),
        Case::Completion(lost) => {
            let rules: DropRules = lost.rules().parse()?;
            let lossy = rules.hops(Direction::Up).collect();
            let network = Network::with_path(COMPLETION_RTT, lossy)?;
            let process = SenderProcess::start(&network, sender, options)?;
            let to = process.address;
            let answer = move || read_answer(&mut connect(to)?, ANSWER);
            let took = network.run_at_receiver(answer)??;
            Ok(Measured::Completion(took.as_secs_f64() * 1e3))
        }
        Case::Idle => idle(sender, options),
    }
}

/// Restricts this thread, and the threads and processes it starts, to the first `count` processors that it had at
/// first.
fn use_processors(count: usize) -> Result<(), Failed> {
    static ALL: OnceLock<CpuSet> = OnceLock::new();
    let all = ALL.get_or_init(|| sched_getaffinity(None).unwrap_or_default());
    let mut set = CpuSet::new();
    let permitted = (0..CpuSet::MAX_CPU).filter(|&processor| all.is_set(processor));
    permitted.take(count).for_each(|processor| set.set(processor));
    Ok(sched_setaffinity(None, &set)?)
}

/// Measures one stream.
fn stream(
    network: &Network,
    sender: Sender,
    options: Options,
    reader: Reader,
    time: Duration,
) -> Result<Measured, Failed> {
    let process = SenderProcess::start(network, sender, options)?;
    let to = process.address;
    let stream = network.run_at_receiver(move || connect(to))??;
    let before = (process.processor_time()?, machine_time()?);
    let (bytes, took) = network.run_at_receiver(move || read_for(stream, time, reader))??;
    let after = (process.processor_time()?, machine_time()?);
    // The kernel counts in ticks of 10 ms.
    let per_gigabyte = |time: f64| (time >= LEAST_TIME).then_some(time / (bytes as f64 / 1e9));
    Ok(Measured::Stream {
        rate: bytes as f64 * 8.0 / 1e6 / took.as_secs_f64(),
        sender_time: per_gigabyte(after.0 - before.0),
        machine_time: per_gigabyte(after.1 - before.1),
    })
}

/// Measures what `clients` exchange with the sender at this address.
fn exchanges(
    sender: Sender,
    options: Options,
    clients: impl FnOnce(SocketAddr) -> Result<Exchanges, Failed> + Send + 'static,
) -> Result<Measured, Failed> {
    let network = Network::direct(sender, options)?;
    let process = SenderProcess::start(&network, sender, options)?;
    let to = process.address;
    let before = machine_time()?;
    let exchanges = network.run_at_receiver(move || clients(to))??;
    let busy = machine_time()? - before;
    let count = exchanges.times.len() as f64;
    Ok(Measured::Served(Served {
        rate: count / exchanges.took.as_secs_f64(),
        machine_time: (busy >= LEAST_TIME && count > 0.0).then_some(busy * 1e3 / count),
        median: exchanges.quantile(0.5),
        most: exchanges.quantile(0.99),
    }))
}

/// The time that all processors have been busy (s).
fn machine_time() -> Result<f64, Failed> {
    let all = KernelStats::current()?.total;
    let interrupts = all.irq.unwrap_or(0) + all.softirq.unwrap_or(0);
    let ticks = all.user + all.nice + all.system + interrupts;
    Ok(ticks as f64 / procfs::ticks_per_second() as f64)
}

/// Measures the memory of connections without a request.
///
/// The sockets of the kernel count for both ends of a connection, so half of the kernel's memory is the sender's.
fn idle(sender: Sender, options: Options) -> Result<Measured, Failed> {
    let network = Network::direct(sender, options)?;
    let process = SenderProcess::start(&network, sender, options)?;
    let memory = || match sender.is_kernel() {
        true => Ok::<_, Failed>(Meminfo::current()?.slab / 2),
        false => process.memory(),
    };
    let to = process.address;
    let before = memory()?;
    let open = move || (0..IDLE_CONNECTIONS).map(|_| connect(to)).collect::<Result<Vec<_>, _>>();
    let connections = network.run_at_receiver(open)??;
    thread::sleep(REST);
    let taken = memory()?.saturating_sub(before);
    drop(connections);
    Ok(Measured::Memory(taken as f64 / IDLE_CONNECTIONS as f64 / 1e3))
}
