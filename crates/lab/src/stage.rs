//! Where a scenario is run: in the simulator, by Recoup over real packets, by the kernel's TCP.
//!
//! One scenario, one path, the same figures: on the real stages the path's hops are driven by the
//! system's clock, and what a flow cost is told by its packets as they reach and leave the path.
//!
//! What only the simulator has: `timers` is its model of hosts, which real hosts need not. What only the
//! kernel has: the settings `kernel.…`; it sets PSH as it likes and has no selective loss prevention.

use crate::output_file::OutputError;
use crate::run::ProfileResult;
use crate::scenario::Scenario;
use crate::settings::{self, Settings, SettingsError};
use recoup_tcp::AckPolicy;
use serde::Serialize;
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use thiserror::Error as ThisError;

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Virtual time.
    Sim,
    /// Real packets, between endpoints of Recoup's unless told otherwise.
    Net,
    /// Real packets, between sockets of the kernel's unless told otherwise.
    Kernel,
}

impl Stage {
    /// In the order of reports.
    pub const ALL: [Self; 3] = [Self::Sim, Self::Net, Self::Kernel];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Net => "net",
            Self::Kernel => "kernel",
        }
    }
}

/// Whose TCP is at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Recoup's, with the profile that is run.
    Recoup,
    /// The kernel's.
    Kernel,
}

/// A stage of real packets and who plays on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// What it counts as.
    pub stage: Stage,
    /// The end that connects.
    pub client: Stack,
    /// The end that accepts, and sends the data.
    pub server: Stack,
}

impl Ends {
    /// A stage as it is, or with another stack at an end; `None` for the simulator.
    pub fn new(stage: Stage, client: Option<Stack>, server: Option<Stack>) -> Option<Self> {
        let usual = match stage {
            Stage::Sim => return None,
            Stage::Net => Stack::Recoup,
            Stage::Kernel => Stack::Kernel,
        };
        Some(Self {
            stage,
            client: client.unwrap_or(usual),
            server: server.unwrap_or(usual),
        })
    }

    /// Whether profiles make a difference.
    pub fn has_profiles(self) -> bool {
        self.client == Stack::Recoup || self.server == Stack::Recoup
    }

    /// Whether the kernel is at an end.
    pub fn has_kernel(self) -> bool {
        self.client == Stack::Kernel || self.server == Stack::Kernel
    }

    /// How long the emulator holds an odd ACK of the kernel's, if it thins them.
    pub fn thins(self, settings: &Settings) -> Option<Duration> {
        match settings.ack {
            AckPolicy::Delayed(hold) if self.has_kernel() => Some(hold),
            _ => None,
        }
    }
}

/// The kernel's TCP as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelFacts {
    /// Its version.
    pub version: String,
    /// The whole of its release.
    pub release: String,
    /// Timer ticks a second; 0 if unknown.
    pub hz: u32,
    /// The congestion control of its sockets.
    pub congestion_control: String,
    /// Tail loss probes.
    pub tlp: bool,
    /// RACK.
    pub rack: bool,
    /// Selective acknowledgments.
    pub sack: bool,
    /// Reports of duplicates.
    pub dsack: bool,
    /// Timestamps.
    pub timestamps: bool,
    /// F-RTO.
    pub frto: bool,
}

/// How much later than on the ideal path packets were delivered, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lateness {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

/// What there is to say of a run on real packets beside what it cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Live {
    /// Whose TCP the client's was.
    pub client: String,
    /// Whose the server's was.
    pub server: String,
    /// The kernel's TCP, if it was at an end.
    pub kernel: Option<KernelFacts>,
    /// How long the emulator held odd ACKs of the kernel's, if it thinned them.
    pub acks_held_ms: Option<f64>,
    /// How late the emulator was; `null` if nothing was delivered.
    pub delivery_error_ms: Option<Lateness>,
    /// Flows whose times the emulator's lateness blurs by more than a hundredth.
    pub blurred_flows: u64,
    /// Packets lost outside the path: they did not get as far, or were not taken behind it.
    pub missed_packets: u64,
}

impl Live {
    /// One with nothing left out, for the names of what it has.
    pub(crate) fn with_everything() -> Self {
        Self {
            client: String::new(),
            server: String::new(),
            kernel: Some(KernelFacts::default()),
            acks_held_ms: Some(0.0),
            delivery_error_ms: Some(Lateness::default()),
            blurred_flows: 0,
            missed_packets: 0,
        }
    }
}

/// Runs scenarios over real packets. The laboratory has none of its own: whoever joins it to a testbed
/// provides it.
pub trait RealStage: Sync {
    /// Runs all flows of all profiles, or of the kernel where profiles make no difference, on `lanes`
    /// testbeds at once (see [`lanes`]); on one if packets are captured, in two files a profile in the
    /// folder `pcap`. `done` is called with the number of flows finished since its last call, from any
    /// thread.
    ///
    /// # Errors
    /// Settings that do not fit together; a system that refuses what a testbed needs.
    fn run(
        &self,
        scenario: &Scenario,
        ends: Ends,
        lanes: usize,
        pcap: Option<&Path>,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<ProfileResult>, StageError>;
}

/// Why a scenario cannot run over real packets.
#[derive(Debug, ThisError)]
pub enum StageError {
    /// Its settings do not fit together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A capture cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The system refuses what a testbed needs.
    #[error(transparent)]
    System(Box<dyn Error + Send + Sync>),
}

/// What has no effect on the stages where the scenario is run, a line each.
pub fn notes(scenario: &Scenario, simulated: bool, all_ends: &[Ends]) -> Vec<String> {
    let (settings, usual) = (&scenario.settings, Settings::default());
    let value = |key: &str| settings.get(key).unwrap_or_default();
    let changed = |key: &str| settings.get(key) != usual.get(key);
    let mut notes = Vec::new();
    if !all_ends.iter().any(|ends| ends.has_kernel()) {
        let of_kernel = settings::all().map(|setting| setting.key);
        let of_kernel = of_kernel.filter(|name| name.starts_with("kernel.") && changed(name));
        notes.extend(of_kernel.map(|key| {
            let value = value(key);
            format!("{key}={value} has no effect: the kernel is at neither end")
        }));
    }
    if !simulated && changed("timers") {
        let timers = value("timers");
        notes.push(format!(
            "timers={timers} has no effect: it is the simulator's model of hosts"
        ));
    }
    if simulated && !changed("timers") && all_ends.iter().any(|ends| ends.server == Stack::Kernel) {
        notes.push(
            "sim: Linux rounds its timers up to its clock's ticks, which timers=linux-wheel:HZ has the simulator do"
                .into(),
        );
    }
    for ends in all_ends.iter().filter(|ends| ends.has_kernel()) {
        let stage = ends.stage.name();
        if let AckPolicy::Linux { quick } = settings.ack
            && quick != AckPolicy::LINUX_QUICK
        {
            let ack = value("ack");
            notes.push(format!(
                "{stage}: the kernel acknowledges as it does, not by ack={ack}"
            ));
        }
        if settings.close && ends.server == Stack::Kernel {
            notes.push(format!(
                "{stage}: Linux sends a FIN of its own after data it has sent already, which Recoup's last segment carries: the loss of the last data is found by it"
            ));
        }
        if changed("psh") {
            notes.push(format!("{stage}: the kernel sets PSH as it does"));
        }
        let link = settings.rate.down.is_some() || settings.link.down.is_some();
        let probes_by_rack =
            settings.kernel.rack != Some(false) && settings.kernel.tlp != Some(false);
        if !link && ends.server == Stack::Kernel && probes_by_rack {
            notes.push(format!(
                "{stage}: on a path without a rate Linux's RACK sometimes takes no notice of a probe's SACK: consider --set rate=100Mbit"
            ));
        }
    }
    notes
}

/// How many flows may be on the stage at once, each with a path of its own, without keeping each other
/// waiting: together they are to send few packets a second.
pub fn lanes(settings: &Settings, flows: u64) -> usize {
    /// Flows at once, however little they send.
    const MOST: u64 = 16;
    /// Bytes of a flow that count as little.
    const LITTLE: u64 = 200_000;
    let workload = settings.workload();
    let bytes = workload.response_len().saturating_add(workload.request);
    let most = if bytes <= LITTLE { MOST } else { 1 };
    flows.clamp(1, most) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn scenario(settings: &[(&str, &str)]) -> Scenario {
        let mut scenario = Scenario::load("tail-loss").unwrap();
        for (key, value) in settings {
            scenario.settings.set(key, value, Path::new(".")).unwrap();
        }
        scenario
    }

    #[test]
    fn what_a_stage_does_not_know_is_told() {
        let ends = |stage| Ends::new(stage, None, None).unwrap();
        let (net, kernel) = (ends(Stage::Net), ends(Stage::Kernel));
        let mixed = Ends::new(Stage::Net, Some(Stack::Kernel), None).unwrap();
        let rate = ("rate", "100Mbit");
        for (settings, simulated, all_ends, count, about) in [
            (&[rate][..], true, &[][..], 0, ""),
            (
                &[("kernel.tlp", "off")],
                true,
                &[],
                1,
                "kernel.tlp=off has no effect",
            ),
            (&[("kernel.tlp", "off")], true, &[net], 1, "at neither end"),
            (&[("kernel.tlp", "off"), rate], false, &[mixed], 0, ""),
            (
                &[("timers", "linux-wheel:250"), rate],
                false,
                &[kernel],
                1,
                "simulator's model",
            ),
            (
                &[("timers", "linux-wheel:250"), rate],
                true,
                &[kernel],
                0,
                "",
            ),
            (
                &[("ack", "linux:4"), ("psh", "burst")],
                false,
                &[net, kernel],
                3,
                "kernel: ",
            ),
        ] {
            let found = notes(&scenario(settings), simulated, all_ends);
            assert_eq!(found.len(), count, "{found:?}");
            assert!(found.iter().all(|note| note.contains(about)), "{found:?}");
        }
    }

    #[test]
    fn only_small_flows_share_the_machine() {
        for (segments, flows, expected) in [
            ("10", 1, 1),
            ("10", 100, 16),
            ("10", 5, 5),
            ("5000", 100, 1),
        ] {
            let settings = scenario(&[("segments", segments)]).settings;
            assert_eq!(
                lanes(&settings, flows),
                expected,
                "{segments} segments, {flows} flows"
            );
        }
    }

    #[test]
    fn acks_are_thinned_where_the_kernel_would_not_delay_them() {
        let delayed = scenario(&[("ack", "delayed:100ms")]).settings;
        let thins = |stage, client, settings: &Settings| {
            Ends::new(stage, client, None).unwrap().thins(settings)
        };
        let hold = Some(Duration::from_millis(100));
        assert_eq!(thins(Stage::Kernel, None, &delayed), hold);
        assert_eq!(thins(Stage::Net, None, &delayed), None);
        assert_eq!(thins(Stage::Net, Some(Stack::Kernel), &delayed), hold);
        assert_eq!(thins(Stage::Kernel, None, &scenario(&[]).settings), None);
    }
}
