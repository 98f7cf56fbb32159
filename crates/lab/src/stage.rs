//! The stages on which a scenario runs: the simulator, Recoup over real packets, the kernel's TCP.
//!
//! Scenario, path and figures are the same on each stage. On real stages the system's clock drives the
//! path's hops, and the cost of a flow is measured by its packets as they enter and leave the path.
//!
//! The setting `timers` applies to the simulator only: it models what real hosts do. The settings
//! `kernel.…` apply to the kernel only, which sets PSH by its own rules and has no selective loss
//! prevention.

use crate::events::EventWriter;
use crate::run::ProfileResult;
use crate::scenario::Scenario;
use crate::settings::{self, Settings, SettingsError};
use recoup_support::output_file::OutputError;
use recoup_tcp::AckPolicy;
use recoup_tcp::flow::Script;
use serde::Serialize;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use thiserror::Error as ThisError;

recoup_units::named! {
    /// A place where scenarios run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Stage {
        /// The simulator, in virtual time.
        Sim = "sim",
        /// Real packets, between Recoup's endpoints unless [`Ends`] says otherwise.
        Net = "net",
        /// Real packets, between the kernel's sockets unless [`Ends`] says otherwise.
        Kernel = "kernel",
    }
}

/// The TCP implementation at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Recoup's TCP, with the profile that runs.
    Recoup,
    /// The kernel's TCP.
    Kernel,
}

/// A stage of real packets, and the TCP at each end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The stage that reports name.
    pub stage: Stage,
    /// The TCP that connects.
    pub client: Stack,
    /// The TCP that accepts, and sends the data.
    pub server: Stack,
}

impl Ends {
    /// A stage with its usual TCP at both ends, or with the TCP given; `None` for the simulator.
    pub fn new(stage: Stage, client: Option<Stack>, server: Option<Stack>) -> Option<Self> {
        let usual = match stage {
            Stage::Sim => return None,
            Stage::Net => Stack::Recoup,
            Stage::Kernel => Stack::Kernel,
        };
        Some(Self { stage, client: client.unwrap_or(usual), server: server.unwrap_or(usual) })
    }

    /// Whether the profile matters: Recoup's TCP is at one end at least.
    pub fn has_profiles(self) -> bool {
        self.client == Stack::Recoup || self.server == Stack::Recoup
    }

    /// Whether the kernel's TCP is at one end at least.
    pub fn has_kernel(self) -> bool {
        self.client == Stack::Kernel || self.server == Stack::Kernel
    }

    /// A note if the event stream of this stage lacks events: only Recoup's senders report them.
    pub fn events_note(self) -> Option<String> {
        let stage = self.stage.name();
        let whose = match (self.client, self.server) {
            (Stack::Recoup, Stack::Recoup) => return None,
            (Stack::Kernel, Stack::Kernel) => "its senders",
            (Stack::Kernel, Stack::Recoup) => "its sender at the client",
            (Stack::Recoup, Stack::Kernel) => "its sender at the server",
        };
        Some(format!("{stage}: the kernel reports no events: of {whose} the event stream has the packets only"))
    }

    /// How long the emulator holds every other ACK of the kernel, if it thins them.
    pub fn thins(self, settings: &Settings) -> Option<Duration> {
        match settings.ack {
            AckPolicy::Delayed(hold) if self.has_kernel() => Some(hold),
            _ => None,
        }
    }
}

/// The kernel's TCP and its settings, as found on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelFacts {
    /// The kernel's version.
    pub version: String,
    /// The kernel's full release string.
    pub release: String,
    /// Timer ticks per second; 0 if unknown.
    pub hz: u32,
    /// The congestion control of its sockets.
    pub congestion_control: String,
    /// Whether it sends tail loss probes.
    pub tlp: bool,
    /// Whether it detects losses by RACK.
    pub rack: bool,
    /// Whether it uses selective acknowledgments.
    pub sack: bool,
    /// Whether it reports duplicates by DSACK.
    pub dsack: bool,
    /// Whether it uses timestamps.
    pub timestamps: bool,
    /// Whether it uses F-RTO.
    pub frto: bool,
}

/// Delays of packets beyond those of an ideal path, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lateness {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The largest value.
    pub max: f64,
}

/// Facts about a run on real packets, in addition to its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// The client's TCP.
    pub client: String,
    /// The server's TCP.
    pub server: String,
    /// The kernel's TCP, if it was at an end.
    pub kernel: Option<KernelFacts>,
    /// How long the emulator held every other ACK of the kernel, if it thinned them.
    pub acks_held_ms: Option<f64>,
    /// The emulator's delays; `None` if nothing was delivered.
    pub delivery_error_ms: Option<Lateness>,
    /// Flows whose times are uncertain by more than 1 % because the emulator was late.
    pub blurred_flows: u64,
    /// Packets lost outside the path, before or behind it.
    pub missed_packets: u64,
}

/// Files that a run over real packets writes beside its results. With any of them, the flows run one after
/// another.
#[derive(Default)]
pub struct Outputs<'a, 'w> {
    /// The packets, as two captures per profile in this folder.
    pub pcap: Option<&'a Path>,
    /// The events of all flows. Whoever made the writer completes it.
    pub events: Option<&'a mut EventWriter<EventTarget<'w>>>,
}

/// The destination of the events of a run over real packets.
pub type EventTarget<'w> = &'w mut (dyn Write + Send);

/// Runs scenarios over real packets. A crate above this one implements it with a testbed.
pub trait RealStage: Sync {
    /// Runs all flows of all profiles on `lanes` testbeds at once (see [`lanes`]), or once for the kernel
    /// if profiles do not matter.
    ///
    /// With [`Outputs`], one testbed runs all flows.
    /// `done` is called from any thread with the number of flows finished since its last call.
    ///
    /// # Errors
    /// When settings contradict each other, or the system refuses what a testbed needs.
    fn run(
        &self,
        scenario: &Scenario,
        ends: Ends,
        lanes: usize,
        outputs: Outputs<'_, '_>,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<ProfileResult>, StageError>;
}

/// Why a scenario cannot run over real packets.
#[derive(Debug, ThisError)]
pub enum StageError {
    /// The scenario's settings contradict each other.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A capture cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The system refuses what a testbed needs.
    #[error(transparent)]
    System(Box<dyn Error + Send + Sync>),
}

/// Notes on settings that have no effect, or another effect, on the stages where the scenario runs.
pub fn notes(scenario: &Scenario, simulated: bool, all_ends: &[Ends]) -> Vec<String> {
    let settings = &scenario.settings;
    let value = |key: &str| settings.get(key).unwrap_or_default();
    let changed = |key: &str| settings.changed(key).is_some();
    let mut notes = Vec::new();
    if !all_ends.iter().any(|ends| ends.has_kernel()) {
        let of_kernel = settings::all().map(|setting| setting.key).filter(|key| key.starts_with("kernel."));
        notes.extend(of_kernel.filter_map(|key| {
            Some(format!("{key}={} has no effect: the kernel is at neither end", settings.changed(key)?))
        }));
    }
    if !simulated && let Some(timers) = settings.changed("timers") {
        notes.push(format!("timers={timers} has no effect: only the simulator models host timers"));
    }
    if changed("ecn") && !all_ends.is_empty() {
        notes.push("ecn=on has no effect on real packets: only simulated queues mark packets".into());
    }
    if simulated && !changed("timers") && all_ends.iter().any(|ends| ends.server == Stack::Kernel) {
        notes
            .push("sim: Linux rounds its timers up to clock ticks; to simulate this, set timers=linux-wheel:HZ".into());
    }
    for ends in all_ends.iter().filter(|ends| ends.has_kernel()) {
        let stage = ends.stage.name();
        if let AckPolicy::Linux { quick } = settings.ack
            && quick != AckPolicy::LINUX_QUICK
        {
            let ack = value("ack");
            notes.push(format!("{stage}: ack={ack} has no effect on the kernel, which acknowledges by its own rules"));
        }
        if settings.close && ends.server == Stack::Kernel {
            notes.push(format!(
                "{stage}: Linux sends its FIN in a segment after the data, Recoup in the last data segment; the separate FIN reveals the loss of the last data"
            ));
        }
        notes.extend(settings::rto::changed(settings).map(|(key, value)| {
            format!("{stage}: {key}={value} has no effect on the kernel, which has its own RTO and dupthresh")
        }));
        if changed("psh") {
            notes.push(format!("{stage}: psh has no effect on the kernel, which sets PSH by its own rules"));
        }
        let link = settings.rate.down.is_some() || settings.link.down.is_some();
        let probes_by_rack = settings.kernel.rack != Some(false) && settings.kernel.tlp != Some(false);
        if !link && ends.server == Stack::Kernel && probes_by_rack {
            notes.push(format!(
                "{stage}: on a path without a rate Linux's RACK sometimes ignores a probe's SACK: consider --set rate=100Mbit"
            ));
        }
    }
    notes
}

/// The number of flows that can run at once, each on its own path, without delaying each other.
/// Together they must send few packets per second.
pub fn lanes(settings: &Settings, flows: u64) -> usize {
    /// The greatest number of flows at once.
    const MAX_LANES: u64 = 16;
    /// Larger flows, in bytes, run one at a time.
    const SMALL_FLOW: u64 = 200_000;
    let workload = settings.workload();
    let [up, down] = [&workload.client, &workload.server].map(Script::total);
    let bytes = up.saturating_add(down);
    let most = if bytes <= SMALL_FLOW { MAX_LANES } else { 1 };
    flows.clamp(1, most) as usize
}

#[cfg(test)]
mod tests;
