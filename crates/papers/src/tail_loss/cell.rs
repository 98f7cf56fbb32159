//! One bar of a figure: a flow and its sender's first retransmission.

use crate::experiment::Setup;
use recoup_lab::run::simulation;
use recoup_lab::settings::{Settings, SettingsError};
use recoup_recovery::{Event, Transmission, Trigger};
use recoup_sim::{FlowSpec, Observer, Packet, Point, Simulation};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant, Offset};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The mechanisms compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Linux recovery without tail loss probes.
    Baseline,
    /// RTO restart.
    Rtor,
    /// Tail loss probe.
    Tlp,
    /// Tail loss probe with restart.
    Tlpr,
}

/// The mechanisms in the order of the bars. FCTs are normalised to the first one's.
pub const MECHANISMS: [Mechanism; 4] = [Mechanism::Baseline, Mechanism::Rtor, Mechanism::Tlp, Mechanism::Tlpr];

impl Mechanism {
    /// The paper's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Rtor => "RTOR",
            Self::Tlp => "TLP",
            Self::Tlpr => "TLPR",
        }
    }

    /// The name of the profile.
    pub const fn profile(self) -> &'static str {
        match self {
            Self::Baseline => "linux-3.17",
            Self::Rtor => "linux-3.17+rtor",
            Self::Tlp => "linux-3.17+tlp",
            Self::Tlpr => "linux-3.17+tlpr",
        }
    }
}

/// The receivers of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Acknowledges every second segment, or after 200 ms.
    Delayed,
    /// Acknowledges every segment.
    Quick,
}

impl Acks {
    /// In the order of the figures' panels.
    pub const ALL: [Self; 2] = [Self::Delayed, Self::Quick];

    /// The value of the `ack` setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delayed => "delayed:200ms",
            Self::Quick => "quick",
        }
    }

    /// The title of the receiver's panel.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Delayed => "delayed ACKs (200 ms)",
            Self::Quick => "quick ACKs (one a segment)",
        }
    }
}

/// The first retransmission of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct First {
    /// Its trigger.
    pub trigger: &'static str,
    /// Time since the last ACK, in ms.
    pub since_last_ack_ms: f64,
    /// Time since the earliest unacknowledged segment was sent, in ms.
    pub since_earliest_ms: f64,
    /// The smoothed RTT at that moment, in ms.
    pub srtt_ms: f64,
    /// The RTO at that moment, in ms.
    pub rto_ms: f64,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct TailLossCell {
    /// The `ack` setting.
    pub ack: &'static str,
    /// The RTT in ms.
    pub rtt_ms: u64,
    /// Segments lost at the tail.
    pub lost: u64,
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Flow completion time from the client's SYN in ms; `None` if the flow did not complete.
    pub fct_ms: Option<f64>,
    /// It, divided by the baseline's.
    pub fct_normalised: Option<f64>,
    /// Flow completion time from establishment in ms, as the paper measures it (§3.1).
    pub fct_established_ms: Option<f64>,
    /// It, divided by the baseline's.
    pub fct_established_normalised: Option<f64>,
    /// Retransmissions per flow by trigger; no entry where there are none.
    pub retransmissions: BTreeMap<&'static str, u64>,
    /// Spurious retransmissions of data.
    pub spurious: u64,
    /// The first retransmission.
    pub first: Option<First>,
}

impl TailLossCell {
    /// Retransmissions per flow with this trigger.
    pub fn count(&self, trigger: Trigger) -> u64 {
        self.retransmissions.get(trigger.name()).copied().unwrap_or(0)
    }
}

/// Runs the flow of a cell. `more` are settings in addition to the figure's.
pub fn run_cell(
    setup: &Setup,
    acks: Acks,
    rtt_ms: u64,
    lost: u64,
    mechanism: Mechanism,
    more: &[(&str, &str)],
) -> Result<TailLossCell, SettingsError> {
    let (spec, mut simulation) = prepare(setup, acks, rtt_ms, lost, mechanism, more)?;
    let mut watch = Watch::default();
    let record = simulation.run(&spec, setup.seed(), FlowId(0), &mut watch);
    let ms = |time: Duration| time.as_nanos() as f64 / 1e6;
    let counts = Trigger::ALL.map(|t| (t.name(), record.counters.retransmissions.of(t)));
    Ok(TailLossCell {
        ack: acks.name(),
        rtt_ms,
        lost,
        mechanism,
        fct_ms: record.fct.map(ms),
        fct_normalised: None,
        fct_established_ms: record.fct_established.map(ms),
        fct_established_normalised: None,
        retransmissions: counts.into_iter().filter(|(_, n)| *n > 0).collect(),
        spurious: record.spurious_data,
        first: watch.first,
    })
}

/// The flow of a cell and its simulation. `more` are settings in addition to the figure's.
pub fn prepare(
    setup: &Setup,
    acks: Acks,
    rtt_ms: u64,
    lost: u64,
    mechanism: Mechanism,
    more: &[(&str, &str)],
) -> Result<(FlowSpec, Simulation), SettingsError> {
    let settings = settings(setup, acks, rtt_ms, lost, more)?;
    let profile = setup.profile(mechanism.profile());
    let simulation = simulation(&settings.path()?)?;
    Ok((settings.flow(&profile), simulation))
}

/// The settings of a cell. `more` are settings in addition to the figure's.
pub fn settings(
    setup: &Setup,
    acks: Acks,
    rtt_ms: u64,
    lost: u64,
    more: &[(&str, &str)],
) -> Result<Settings, SettingsError> {
    let mut settings = setup.base.settings.clone();
    let rtt = format!("{rtt_ms}ms");
    let drop = if lost == 0 { "none".into() } else { format!("tail:{lost}") };
    let own = [("rtt", rtt.as_str()), ("drop", &drop), ("ack", acks.name())];
    for (key, value) in own.iter().chain(more) {
        settings.set(key, value, Path::new(""))?;
    }
    Ok(settings)
}

/// Observes the server's sender up to its first retransmission of data.
#[derive(Default)]
struct Watch {
    una: Offset,
    last_ack: Instant,
    sent: BTreeMap<Offset, Instant>,
    srtt_ms: f64,
    rto_ms: f64,
    first: Option<First>,
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, _: Point, _: Direction, _: &Packet) {}

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if host != Host::Server || self.first.is_some() {
            return;
        }
        let ms_since = |then: Instant| now.since(then).as_secs_f64() * 1e3;
        match *event {
            Event::Acked { una, .. } => {
                self.una = una;
                self.last_ack = now;
            }
            Event::RttSample { srtt, rto, .. } => {
                self.srtt_ms = srtt.as_secs_f64() * 1e3;
                self.rto_ms = rto.as_secs_f64() * 1e3;
            }
            Event::Sent { what: Transmission::New(span), .. } => {
                self.sent.insert(span.start, now);
            }
            Event::Sent { what: Transmission::Again(_, trigger), .. } => {
                let earliest = self.sent.get(&self.una).copied().unwrap_or(now);
                self.first = Some(First {
                    trigger: trigger.name(),
                    since_last_ack_ms: ms_since(self.last_ack),
                    since_earliest_ms: ms_since(earliest),
                    srtt_ms: self.srtt_ms,
                    rto_ms: self.rto_ms,
                });
            }
            _ => {}
        }
    }
}
