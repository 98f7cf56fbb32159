//! Single flows whose packets and senders are recorded: what the engine does, step by step.
//!
//! Such a run is deterministic unless its `drop` setting is random. It decides sentences about a mechanism, where a
//! population would only blur the answer.

use crate::experiment::Setup;
use recoup_lab::run::simulation;
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_recovery::{Event, Transmission};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::Endpoint;
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use recoup_wire::SeqNumber;
use std::path::Path;
use std::time::Duration;

/// Settings as `--set` takes them.
pub type Keys<'a> = &'a [(&'a str, &'a str)];

/// The settings that every such flow begins with: no losses, no rate, an ACK per segment.
const PLAIN: Keys<'static> = &[
    ("rtt", "80ms"),
    ("rate", "none"),
    ("queue", "none"),
    ("request", "0"),
    ("writes", "none"),
    ("drop", "none"),
    ("ack", "quick"),
];

/// A transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAt {
    /// When.
    pub at: Instant,
    /// By whom.
    pub host: Host,
    /// What and why.
    pub what: Transmission,
}

/// The server's sender when it had nothing more to do at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// When.
    pub at: Instant,
    /// The lowest unacknowledged offset.
    pub una: Offset,
    /// The next offset to be sent for the first time.
    pub nxt: Offset,
    /// The end of the data written.
    pub limit: Offset,
    /// The congestion window in segments.
    pub cwnd: u64,
    /// The window that the client offers, in bytes.
    pub offered: u64,
    /// The largest payload of a segment in bytes.
    pub mss: u64,
}

/// What happened in a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// All transmissions, in order.
    pub sent: Vec<SentAt>,
    /// Segments whose copy was favoured and not sent.
    pub withheld: Vec<Span>,
    /// The states of the server's sender, in order.
    pub states: Vec<SenderState>,
    /// The windows that the client's packets offered, as in their headers.
    pub windows: Vec<u16>,
    /// The packets that the server sent: ordinal and first sequence number.
    pub sent_down: Vec<(u64, SeqNumber)>,
    /// The ordinals of those that arrived.
    pub arrived_down: Vec<u64>,
    /// The most heap memory of both senders, in bytes.
    pub memory: usize,
}

impl Log {
    /// The transmissions of a host.
    pub fn of(&self, host: Host) -> impl Iterator<Item = &SentAt> {
        self.sent.iter().filter(move |sent| sent.host == host)
    }

    /// The copies of a host: the segment, and when it and its copy were sent.
    pub fn copies(&self, host: Host) -> Vec<(Span, Instant, Instant)> {
        let copy = |sent: &SentAt| match sent.what {
            Transmission::Copy(span) => Some((span, sent.at)),
            _ => None,
        };
        let original = |span: Span| {
            let mut own = self.of(host);
            own.find(|sent| sent.what.is_new() && sent.what.span().is_some_and(|one| one.start == span.start))
        };
        let copies = self.of(host).filter_map(copy);
        copies.filter_map(|(span, at)| Some((span, original(span)?.at, at))).collect()
    }
}

impl Observer for Log {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        match (direction, point) {
            (Direction::Up, Point::Sent) => self.windows.push(packet.segment.window),
            (Direction::Down, Point::Sent) => {
                self.sent_down.push((packet.ordinal, packet.segment.seq));
            }
            (Direction::Down, Point::Arrived) => self.arrived_down.push(packet.ordinal),
            _ => {}
        }
    }

    fn on_event(&mut self, at: Instant, _: FlowId, host: Host, event: &Event) {
        match event {
            Event::Sent { what, .. } => self.sent.push(SentAt { at, host, what: *what }),
            Event::CopyWithheld { span, .. } => self.withheld.push(*span),
            _ => {}
        }
    }

    fn on_settled(&mut self, at: Instant, host: Host, endpoint: &Endpoint) {
        let sender = endpoint.sender();
        self.memory = self.memory.max(sender.memory());
        if host == Host::Server {
            self.states.push(SenderState {
                at,
                una: sender.una(),
                nxt: sender.nxt(),
                limit: sender.limit(),
                cwnd: sender.cwnd().0.into(),
                offered: sender.peer_window().bytes(sender.una()),
                mss: sender.mss().into(),
            });
        }
    }
}

/// The scenario of a plain flow with these settings.
pub fn plain(setup: &Setup, settings: Keys<'_>) -> Result<Scenario, SettingsError> {
    let mut base = setup.base.clone();
    for (key, value) in PLAIN.iter().chain(settings) {
        base.settings.set(key, value, Path::new(""))?;
    }
    Ok(base)
}

/// Runs one flow of `profile` with these settings in addition to the plain ones.
pub fn run(setup: &Setup, profile: &str, settings: Keys<'_>) -> Result<(FlowRecord, Log), SettingsError> {
    run_number(setup, profile, settings, 0)
}

/// Runs the flow of this number, which decides its random losses.
pub fn run_number(
    setup: &Setup,
    profile: &str,
    settings: Keys<'_>,
    flow: u64,
) -> Result<(FlowRecord, Log), SettingsError> {
    let base = plain(setup, settings)?;
    let mut log = Log::default();
    let spec = base.settings.flow(&setup.profile(profile));
    let mut simulation = simulation(&base.settings.path()?)?;
    let record = simulation.run(&spec, base.seed, FlowId(flow), &mut log);
    Ok((record, log))
}

/// The completion time in ms; NaN if the flow did not complete.
pub fn fct_ms(record: &FlowRecord) -> f64 {
    record.fct.map_or(f64::NAN, ms)
}

/// A duration in ms.
pub fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
