//! Runs a connection again.

use crate::{
    application::{CapturedSender, Clocked, RerunApplication},
    loss::LossProcess,
    mismatch::Mismatch,
    network::{RecordedNetwork, RunLog},
    recorded::Recorded,
    trial::{Fates, Trial},
};
use recoup_recovery::Mechanisms;
use recoup_sim::{FlowSpec, NoObserver, Simulation, TimerModel};
use recoup_tcp::{
    AckPolicy, Config, WindowScaling,
    flow::{FlowRecord, Host, Script, ScriptProgress, Workload},
};
use recoup_units::{FlowId, Instant, Segments};
use std::{sync::Arc, time::Duration};

/// No congestion window limits what the peer writes: its data arrives when it did.
const UNLIMITED: Segments = Segments(1 << 20);

/// Reruns connections. It keeps its memory.
#[derive(Debug, Default)]
pub struct Rerunner {
    simulation: Option<Simulation<RecordedNetwork>>,
}

/// A connection whose rerun under the sender's own profile is as the capture.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// The index of the profile.
    pub profile: usize,
    /// The mechanisms of the profile, as far as both hosts had agreed on them.
    pub mechanisms: Mechanisms,
    /// Cost of the rerun under this profile.
    pub base: Outcome,
    /// Pace of new data.
    pub pacing: Pacing,
    clocked: Clocked,
    script: Script,
    setup: Setup,
}

/// Pace of new data in reruns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pacing {
    /// The windows of the sender, by the congestion control of its profile.
    ByWindow,
    /// The ACKs that released it in the capture, because its congestion control is another one.
    AsCaptured,
}

/// Settings of a sender that are not its profile's.
#[derive(Clone, Copy, Debug)]
struct Setup {
    initial_window: Segments,
    timers: TimerModel,
    /// Chooses the phase of the host's clock.
    phase: u64,
}

/// How hosts may round their timers, and how many phases of their clocks are tried: Linux's timer wheel has
/// ticks of 4 or 1 ms.
const TIMERS: [(TimerModel, u64); 3] =
    [(TimerModel::Exact, 1), (TimerModel::LinuxWheel { hz: 250 }, 8), (TimerModel::LinuxWheel { hz: 1000 }, 2)];

/// A rerun whose duration differs by at most this fraction (1/n) is close to the capture.
const CLOSE: u32 = 100;

/// Cost of a rerun. Counts are those of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// From the client's SYN to the delivery of the last data byte of both streams; `None` if it was not delivered.
    pub fct: Option<Duration>,
    /// FCT [from establishment](FlowRecord::fct_established).
    pub fct_established: Option<Duration>,
    /// IP bytes of both hosts.
    pub bytes_sent: u64,
    /// Segments with payload of both hosts, retransmissions and copies included.
    pub segments_sent: u64,
    /// The sender's retransmissions, probes and copies included.
    pub retransmissions: u64,
    /// Spurious retransmissions of data.
    pub spurious: u64,
    /// Packets that the capture does not hold, whose fate was drawn.
    pub packets_drawn: u64,
    /// The duration as [`Recorded::duration`] measures it.
    pub duration: Duration,
}

impl Reproduced {
    /// Writes of the sender's application.
    pub fn script(&self) -> &Script {
        &self.script
    }
}

impl Outcome {
    fn new(record: &FlowRecord, log: &RunLog) -> Self {
        Self {
            fct: record.fct,
            fct_established: record.fct_established,
            bytes_sent: record.bytes_sent,
            segments_sent: record.segments_sent,
            retransmissions: log.retransmissions.len() as u64,
            spurious: record.spurious_data,
            packets_drawn: log.drawn,
            duration: log.last_echo.since(Instant::ZERO),
        }
    }
}

impl Rerunner {
    /// A rerunner.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reruns a connection with the first of the profiles that reproduces the capture: the same data is
    /// retransmitted, and the duration differs by at most 5 %. Or else with the one whose retransmissions differ least,
    /// where those are few of many. If none does with its own congestion control, the sender's timing of new data is
    /// kept.
    ///
    /// # Errors
    /// How the rerun with the first profile differs, if none reproduces it.
    pub fn reproduce(&mut self, recorded: &Arc<Recorded>, profiles: &[Mechanisms]) -> Result<Reproduced, Mismatch> {
        let mut first = None;
        for pacing in [Pacing::ByWindow, Pacing::AsCaptured] {
            let mut nearest = None;
            for (number, profile) in profiles.iter().enumerate() {
                match self.try_profile(recorded, number, profile, pacing) {
                    Ok((0, reproduced)) => {
                        return Ok(self.with_nearest_control(recorded, profiles, reproduced));
                    }
                    Ok(near) => keep_nearer(&mut nearest, near),
                    Err(mismatch) => _ = first.get_or_insert(mismatch),
                }
            }
            if let Some((_, reproduced)) = nearest {
                return Ok(reproduced);
            }
        }
        Err(first.unwrap_or(Mismatch::NoProfile))
    }

    /// Whether a rerun with these mechanisms reproduces the capture by its own windows: it retransmits the same data, its
    /// duration is the same, and what ACKs released in the capture had no room before.
    pub fn is_by_own_window(&mut self, recorded: &Arc<Recorded>, mechanisms: &Mechanisms) -> bool {
        let found = self.try_profile(recorded, 0, mechanisms, Pacing::ByWindow);
        matches!(found, Ok((0, reproduced)) if reproduced.clocked.shows_own_window())
    }

    /// Retransmissions do not tell congestion controls apart. Of the profiles that differ from the found one in it
    /// alone, and reproduce the capture as well, the one whose duration is nearest is the better base. A duration
    /// within
    /// [`CLOSE`] is near enough.
    fn with_nearest_control(
        &mut self,
        recorded: &Arc<Recorded>,
        profiles: &[Mechanisms],
        found: Reproduced,
    ) -> Reproduced {
        let error = |one: &Reproduced| one.base.duration.abs_diff(recorded.duration());
        let mut nearest = found;
        if error(&nearest) * CLOSE <= recorded.duration() {
            return nearest;
        }
        let (first, pacing) = (nearest.profile, nearest.pacing);
        let own = profiles[first];
        for (number, profile) in profiles.iter().enumerate() {
            let other = profile;
            let is_alike = number != first && other.with(|m| m.congestion = own.congestion) == own;
            if is_alike
                && let Ok((0, other)) = self.try_profile(recorded, number, other, pacing)
                && error(&other) < error(&nearest)
            {
                nearest = other;
            }
        }
        nearest
    }

    /// Tries timers that fire at their deadlines first, and then rounded ones, which depend on the phase of
    /// the host's clock. Returns the nearest rerun, and how many of its retransmissions differ.
    fn try_profile(
        &mut self,
        recorded: &Arc<Recorded>,
        profile: usize,
        mechanisms: &Mechanisms,
        pacing: Pacing,
    ) -> Result<(u32, Reproduced), Mismatch> {
        let agreed = mechanisms.with(|m| m.sack &= recorded.agreed.sack);
        let mut setup = Setup {
            initial_window: match pacing {
                Pacing::ByWindow => initial_window(recorded, mechanisms),
                Pacing::AsCaptured => UNLIMITED,
            },
            timers: TimerModel::Exact,
            phase: 0,
        };
        let (mut first, mut nearest) = (None, None);
        for (timers, phases) in TIMERS {
            for phase in 0..phases {
                setup = Setup { timers, phase, ..setup };
                match self.try_setup(recorded, &agreed, setup) {
                    Ok((different, base, script, clocked)) => {
                        let reproduced =
                            Reproduced { profile, mechanisms: agreed, pacing, base, clocked, script, setup };
                        if different == 0 {
                            return Ok((0, reproduced));
                        }
                        keep_nearer(&mut nearest, (different, reproduced));
                    }
                    Err(mismatch) if mismatch.may_be_timers() => _ = first.get_or_insert(mismatch),
                    Err(mismatch) => return nearest.ok_or(mismatch),
                }
            }
        }
        nearest.ok_or(first.unwrap_or(Mismatch::NoProfile))
    }

    fn try_setup(
        &mut self,
        recorded: &Arc<Recorded>,
        mechanisms: &Mechanisms,
        setup: Setup,
    ) -> Result<(u32, Outcome, Script, Clocked), Mismatch> {
        let none = LossProcess::default();
        let (trial, fates) = (Trial::of(*mechanisms), Fates::captured(&none, 0));
        let own = CapturedSender::new(&recorded.new_data, recorded.agreed.segment_size, recorded.offset());
        let mut applications = applications(recorded, RerunApplication::Capture(own));
        self.simulate(recorded, &trial, setup, fates, &mut applications);
        let ([RerunApplication::Capture(own), _] | [_, RerunApplication::Capture(own)]) = &applications else {
            return Err(Mismatch::NoProfile);
        };
        let (script, clocked) = (own.script(), own.clocked());
        let own = RerunApplication::Scripted(ScriptProgress::new(&script));
        let mut applications = self::applications(recorded, own);
        let base = self.simulate(recorded, &trial, setup, fates, &mut applications);
        let different = Mismatch::check(recorded, &base, &self.log())?;
        Ok((different, base, script, clocked))
    }

    /// Reruns a connection with what is tried.
    pub fn run(&mut self, recorded: &Arc<Recorded>, of: &Reproduced, trial: &Trial, fates: Fates<'_>) -> Outcome {
        let own = RerunApplication::Scripted(ScriptProgress::new(&of.script));
        let mut applications = applications(recorded, own);
        self.simulate(recorded, trial, of.setup, fates, &mut applications)
    }

    fn simulate(
        &mut self,
        recorded: &Arc<Recorded>,
        trial: &Trial,
        setup: Setup,
        fates: Fates<'_>,
        applications: &mut [RerunApplication; 2],
    ) -> Outcome {
        let new = || Simulation::over(RecordedNetwork::new(Arc::clone(recorded)));
        let simulation = self.simulation.get_or_insert_with(new);
        simulation.network_mut().show(recorded, trial, fates);
        let spec = spec(recorded, trial, setup);
        let flow = FlowId(0);
        let record = simulation.run_applications(&spec, setup.phase, flow, applications, &mut NoObserver);
        Outcome::new(&record, &simulation.network().log)
    }

    fn log(&self) -> RunLog {
        let network = self.simulation.as_ref().map(Simulation::network);
        network.map_or_else(RunLog::default, |network| network.log.clone())
    }
}

/// Keeps the rerun in which fewer retransmissions differ; of equals the earlier one.
fn keep_nearer(nearest: &mut Option<(u32, Reproduced)>, other: (u32, Reproduced)) {
    if nearest.as_ref().is_none_or(|(least, _)| other.0 < *least) {
        *nearest = Some(other);
    }
}

/// The applications of client and server; `own` is the sender's.
fn applications(recorded: &Recorded, own: RerunApplication) -> [RerunApplication; 2] {
    let peer = RerunApplication::Scripted(ScriptProgress::new(&recorded.peer.script));
    match recorded.sender {
        Host::Client => [own, peer],
        Host::Server => [peer, own],
    }
}

/// The initial window that the capture shows: as much as the sender sent before it heard of its first data,
/// unless it had no more to send.
fn initial_window(recorded: &Recorded, mechanisms: &Mechanisms) -> Segments {
    let first = recorded.first_flight;
    if first.fills_window { Segments(first.segments) } else { mechanisms.initial_window.max(Segments(first.segments)) }
}

fn spec(recorded: &Recorded, trial: &Trial, setup: Setup) -> FlowSpec {
    let agreed = &recorded.agreed;
    let initial_window = match setup.initial_window {
        // The ACKs of the capture set the pace of new data.
        UNLIMITED => UNLIMITED,
        own => trial.initial_window.unwrap_or(own),
    };
    let mechanisms = &trial.mechanisms.with(|m| m.initial_window = initial_window);
    let config = |mechanisms: Mechanisms, scale: Option<u8>| Config {
        mechanisms,
        acks: AckPolicy::Quick,
        mss: agreed.segment_size,
        ip_version: agreed.ip_version,
        timestamps: agreed.timestamps && trial.timestamps,
        sack: mechanisms.sack && agreed.peer_takes_sack,
        window_scaling: scale.map_or(WindowScaling::Off, WindowScaling::Shift),
        ..Config::new(mechanisms)
    };
    let own = config(*mechanisms, agreed.scales.map(|[own, _]| own));
    let peer = Mechanisms::LINUX_3_17.with(|m| m.initial_window = UNLIMITED);
    let peer = config(peer, agreed.peer_scale(trial.wide_window));
    let (client, server) = match recorded.sender {
        Host::Client => (own, peer),
        Host::Server => (peer, own),
    };
    FlowSpec { client, server, timers: setup.timers, workload: Workload::default() }
}
