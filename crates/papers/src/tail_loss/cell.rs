//! One bar of a figure: a flow and its sender's first retransmission.

use super::single_flow::Repair;
use crate::prelude::*;
use recoup_sim::Chains;

/// The mechanisms compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// Linux recovery without tail loss probes.
    Baseline,
    /// RTO restart.
    Rtor,
    /// Tail loss probe.
    Tlp,
    /// Tail loss probe with restart.
    Tlpr,
    /// The same, but a probe that is overdue as an ACK arrives waits for a full probe timeout: our variant.
    TlprFull,
}

/// The paper's mechanisms in the order of the bars. FCTs are normalised to the first one's.
pub const MECHANISMS: [Mechanism; 4] = [Mechanism::Baseline, Mechanism::Rtor, Mechanism::Tlp, Mechanism::Tlpr];

impl Mechanism {
    /// The paper's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Rtor => "RTOR",
            Self::Tlp => "TLP",
            Self::Tlpr => "TLPR",
            Self::TlprFull => "TLPR, full PTO",
        }
    }

    /// The name of the profile.
    pub const fn profile(self) -> &'static str {
        match self {
            Self::Baseline => "linux-3.17",
            Self::Rtor => "linux-3.17+rtor",
            Self::Tlp => "linux-3.17+tlp",
            Self::Tlpr => "linux-3.17+tlpr",
            Self::TlprFull => "linux-3.17+tlprfull",
        }
    }
}

choices! {
    /// The receivers of the study.
    pub enum Acks {
        /// Acknowledges every second segment, or after 200 ms.
        Delayed = "delayed:200ms",
        /// Acknowledges every segment.
        Quick = "quick",
    }
}

impl Acks {
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
    /// FCT divided by the baseline's.
    pub fct_normalised: Option<f64>,
    /// Flow completion time from establishment in ms, as the paper measures it (§3.1).
    pub fct_established_ms: Option<f64>,
    /// FCT from establishment divided by the baseline's.
    pub fct_established_normalised: Option<f64>,
    /// Retransmissions per flow by trigger; no entry where there are none.
    pub retransmissions: BTreeMap<&'static str, u64>,
    /// Spurious retransmissions of data.
    pub spurious: u64,
    /// The first retransmission.
    pub first: Option<First>,
}

impl Keyed for TailLossCell {
    type Key = (&'static str, u64, u64, Mechanism);

    fn key(&self) -> Self::Key {
        (self.ack, self.rtt_ms, self.lost, self.mechanism)
    }
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
    more: &str,
) -> Result<TailLossCell> {
    let log = bench(setup, acks, rtt_ms, lost, mechanism, more)?.run(0);
    let record = &log.record;
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
        first: log.repairs().into_iter().find_map(First::of),
    })
}

impl First {
    /// A retransmission; `None` for new data that was sent as a probe.
    fn of(repair: Repair) -> Option<Self> {
        let Repair { trigger, since_last_ack_ms, since_earliest_ms, srtt_ms, rto_ms, .. } = repair;
        Some(Self { trigger: trigger?.name(), since_last_ack_ms, since_earliest_ms, srtt_ms, rto_ms })
    }
}

/// The bench of a cell. `more` are settings in addition to the figure's.
pub fn bench(setup: &Setup, acks: Acks, rtt_ms: u64, lost: u64, mechanism: Mechanism, more: &str) -> Result<Bench> {
    bench_over(setup, acks, rtt_ms, lost, mechanism, more, |chains| chains)
}

/// The bench of a cell, on `network` of its path.
pub fn bench_over<N: Network>(
    setup: &Setup,
    acks: Acks,
    rtt_ms: u64,
    lost: u64,
    mechanism: Mechanism,
    more: &str,
    network: impl FnOnce(Chains) -> N,
) -> Result<Bench<N>> {
    let drop = if lost == 0 { "none".into() } else { format!("tail:{lost}") };
    let own = format!("rtt={rtt_ms}ms drop={drop} ack={}", acks.name());
    Bench::over(setup, mechanism.profile(), &setup.settings(&format!("{own} {more}"))?, network)
}
