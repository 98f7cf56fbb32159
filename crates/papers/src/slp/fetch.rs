//! §III-B: a web client fetches a file, with and without SLP, and loses 2 % of the packets it sends.
//!
//! The setting is the scenario `fetch`. It has values that the paper does not give: an RTT of 40 ms,
//! 20 Mbit/s, and a request of 300 bytes. A *run* is fifty fetches with one seed; `recoup run fetch --seed
//! N` repeats one. The paper shows a single run. We report how often a run shows the paper's findings,
//! with an interval of 95 % confidence.
//!
//! With the same seed, the n-th packet that the client sends in a flow is lost both with and without SLP.
//! So the copy of a SYN is lost if the first retransmission of the SYN is lost without SLP.
//!
//! [`fig7`] shows the distribution of completion times, [`sizes`] files from 0.25 kB to 8 MB.

pub mod fig7;
#[cfg(target_os = "linux")]
pub mod guarded;
pub mod sizes;

use crate::prelude::*;

/// Fetches per run.
pub const FETCHES: u64 = 50;

choices! {
    /// A kind of copied packet.
    pub enum Copied {
        /// The client's SYN.
        Syn = "syn",
        /// The server's SYN-ACK.
        SynAck = "syn_ack",
        /// The request.
        Request = "request",
        /// A segment of the file.
        File = "file",
    }
}

/// Fifty fetches.
#[derive(Clone, Debug)]
struct Run {
    /// The completion time of each fetch; `None` if it did not complete.
    times: Vec<Option<Duration>>,
    /// IP bytes sent, both directions.
    bytes: u64,
    watch: Watch,
}

impl Run {
    /// The number of fetches that took longer than `limit`.
    fn over(&self, limit: Duration) -> u64 {
        let longer = |time: &&Option<Duration>| time.is_none_or(|time| time > limit);
        self.times.iter().filter(longer).count() as u64
    }
}

/// Counts packets and copies in both directions.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    packets: u64,
    copies: [u64; Copied::ALL.len()],
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, point: Point, _: Direction, _: &Packet) {
        self.packets += u64::from(point == Point::Sent);
    }

    fn on_event(&mut self, _: Instant, _: FlowId, host: Host, event: &Event) {
        if let Event::Sent { what: Transmission::Copy(span), .. } = event {
            let copied = match (host, span.start == Offset::SYN) {
                (Host::Client, true) => Copied::Syn,
                (Host::Server, true) => Copied::SynAck,
                (Host::Client, false) => Copied::Request,
                (Host::Server, false) => Copied::File,
            };
            self.copies[copied as usize] += 1;
        }
    }
}

/// Runs a profile `runs` times, with the seed of `setup` and the seeds that follow it.
fn runs(setup: &Setup, profile: &str, runs: usize) -> Result<Vec<Run>> {
    in_parallel(runs, cores(), |i| {
        let mut bench = Bench::new(setup, profile, "")?;
        bench.seed = bench.seed.wrapping_add(i as u64);
        let (mut watch, mut bytes) = (Watch::default(), 0);
        let times = (0..FETCHES).map(|flow| {
            let record = bench.observe(flow, &mut watch);
            bytes += record.bytes_sent;
            record.fct
        });
        let times = times.collect();
        Ok(Run { times, bytes, watch })
    })
}
