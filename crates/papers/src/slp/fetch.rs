//! §III-B: a web client fetches a file, with and without SLP, and loses 2 % of the packets it sends.
//!
//! The setting is the scenario `fetch`. What the paper leaves open is chosen there: 40 ms, 20 Mbit/s, a
//! request of 300 bytes. A *run* is fifty fetches, which the paper shows one of; here a run has a seed of
//! its own, so that `recoup run fetch --seed N` is any one of them, and how often a run shows what the
//! paper saw is told with an interval of 95 % confidence.
//!
//! With one seed, the n-th packet the client sends in a flow is lost with SLP if it is without: the copy of
//! a SYN if otherwise its first retransmission is.
//!
//! [`fig7`] is the distribution of completion times, [`sizes`] what becomes of it with files from 0.25 kB
//! to 8 MB.

pub mod fig7;
pub mod sizes;

use recoup_lab::run::{cores, in_parallel, simulation};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_recovery::{Event, Profile, Send};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant, Offset};
use std::time::Duration;

/// Fetches a run.
pub const FETCHES: u64 = 50;

/// What is added is negligible below this, in percent.
const NEGLIGIBLE: f64 = 5.0;

/// What is copied in a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The client's SYN.
    Syn,
    /// The server's SYN-ACK.
    SynAck,
    /// The request.
    Request,
    /// Something of the file.
    File,
}

impl Copied {
    /// All, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Syn, Self::SynAck, Self::Request, Self::File];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
            Self::Request => "request",
            Self::File => "file",
        }
    }
}

/// Fifty fetches.
#[derive(Clone, Debug)]
struct Run {
    /// How long each took; `None` for one that did not complete.
    times: Vec<Option<Duration>>,
    /// IP bytes sent, both ways.
    bytes: u64,
    watch: Watch,
}

impl Run {
    /// How many took longer.
    fn over(&self, limit: Duration) -> u64 {
        let longer = |time: &&Option<Duration>| time.is_none_or(|time| time > limit);
        self.times.iter().filter(longer).count() as u64
    }
}

/// Counts packets and copies, both ways together.
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
        if let Event::Sent {
            what: Send::Copy(span),
            ..
        } = event
        {
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

/// So many runs of a profile, of the seed of `base` and those that follow it.
fn runs(base: &Scenario, profile: &Profile, runs: usize) -> Result<Vec<Run>, SettingsError> {
    let path = base.settings.path()?;
    let spec = base.settings.flow(profile);
    in_parallel(runs, cores(), |i| {
        let mut simulation = simulation(&path)?;
        let seed = base.seed.wrapping_add(i as u64);
        let (mut watch, mut bytes) = (Watch::default(), 0);
        let times = (0..FETCHES).map(|flow| {
            let record = simulation.run(&spec, seed, FlowId(flow), &mut watch);
            bytes += record.bytes_sent;
            record.fct
        });
        let times = times.collect();
        Ok(Run {
            times,
            bytes,
            watch,
        })
    })
}

/// A profile that exists.
fn profile(name: &str) -> Profile {
    name.parse().expect("a profile that exists")
}

/// In ms.
fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
