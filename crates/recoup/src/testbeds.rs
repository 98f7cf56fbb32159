//! Runs a scenario's flows on testbeds.

use recoup_lab::events::EventWriter;
use recoup_lab::pcap::CapturePaths;
use recoup_lab::run::{Cost, ProfileResult};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::{KernelSettings, Settings, SettingsError};
use recoup_lab::stage::{Ends, EventTarget, KernelFacts, Lateness, Live, Outputs, RealStage, Stack, Stage, StageError};
use recoup_net::testbed::{
    self, FlowEvent, FlowEventKind, Kernel, Options, PathPacket, PathPoint, Setup, Switch, Switches, Testbed,
};
use recoup_net::{DeliveryError, NetError, PacketCapture};
use recoup_path::{HopSpec, PathSpec};
use recoup_recovery::Profile;
use recoup_recovery::congestion::Algorithm;
use recoup_sim::{FlowSpec, Observer, Packet, Point};
use recoup_support::output_file::{OutputError, OutputFile, create_folder};
use recoup_support::threads::in_parallel;
use recoup_tcp::flow::Host;
use recoup_tcp::{AckPolicy, Config};
use recoup_units::FlowId;
use recoup_wire::{Segment, SeqNumber};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Testbeds on this machine: network namespaces, TUN devices and the path between them.
#[derive(Clone, Copy)]
pub struct Testbeds<'a> {
    /// Whether to begin no other flow.
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
}

impl Default for Testbeds<'_> {
    fn default() -> Self {
        Self { is_stopped: &|| false }
    }
}

/// Acquires the rights that testbeds need. Call it while the process has one thread.
///
/// # Errors
/// The right that is missing.
pub fn prepare() -> Result<(), StageError> {
    testbed::prepare().map_err(system)
}

/// How long a flow may take: as long as Linux tries to connect.
const PATIENCE: Duration = Duration::from_secs(130);

/// The smallest MSS Linux takes (tcp_min_snd_mss, 48), timestamps taken off.
const LEAST_MSS: u16 = 36;

/// IPv4 and TCP headers.
const HEADERS: u16 = 40;

/// Flows that share a testbed, one after another.
struct Job<'a> {
    profile: Option<&'a Profile>,
    capture: Option<&'a Capture>,
    write_events: Option<&'a WriteEvents<'a>>,
    flows: Range<u64>,
}

/// Writes the events of a flow that ran under the profile of this name, on whichever thread.
type WriteEvents<'a> = dyn Fn(&str, FlowId, &[FlowEvent]) + Sync + 'a;

/// The result of a job.
struct JobResult {
    cost: Cost,
    error: DeliveryError,
    blurred: u64,
    missed: u64,
    kernel: Option<Kernel>,
}

impl RealStage for Testbeds<'_> {
    fn run(
        &self,
        scenario: &Scenario,
        ends: Ends,
        lanes: usize,
        outputs: Outputs<'_, '_>,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<ProfileResult>, StageError> {
        if ends.has_kernel() && scenario.settings.mss < LEAST_MSS {
            return Err(StageError::Settings(SettingsError::Invalid {
                key: "mss",
                why: format!("the kernel sends no smaller segments: expected {LEAST_MSS} at least"),
            }));
        }
        let Outputs { pcap, events } = outputs;
        let profiles = profiles_of(scenario, ends);
        let lanes = if pcap.is_some() || events.is_some() { 1 } else { lanes };
        let writer = events.map(Mutex::new);
        let write = |profile: &str, flow: FlowId, events: &[FlowEvent]| {
            if let Some(writer) = &writer {
                let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                writer.set_profile(profile);
                write_events(&mut writer, flow, events);
            }
        };
        let write: Option<&WriteEvents<'_>> = if writer.is_some() { Some(&write) } else { None };
        let captures = profiles.iter().map(|profile| {
            let paths = pcap.map(|dir| paths_of(dir, ends, *profile));
            pcap.zip(paths).map(|(dir, paths)| Capture::begin(dir, paths)).transpose()
        });
        let captures = captures.collect::<Result<Vec<_>, _>>()?;
        let share = scenario.flows.div_ceil(lanes as u64).max(1);
        let shares = scenario.flows.div_ceil(share);
        let jobs = profiles.iter().zip(&captures).flat_map(|(profile, capture)| {
            (0..shares).map(|i| Job {
                profile: *profile,
                capture: capture.as_ref(),
                write_events: write,
                flows: i * share..((i + 1) * share).min(scenario.flows),
            })
        });
        let jobs: Vec<_> = jobs.collect();
        let path = path(&scenario.settings, ends)?;
        let failed = AtomicBool::new(false);
        let is_stopped = || failed.load(Ordering::Relaxed) || (self.is_stopped)();
        let run = |i: usize| {
            let result = run_job(scenario, ends, &path, &jobs[i], &is_stopped, done);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            result
        };
        let mut parts = in_parallel(jobs.len(), lanes, run)?.into_iter();
        let results = profiles.into_iter().filter_map(|profile| {
            let mut sum = parts.next()?;
            parts.by_ref().take(shares as usize - 1).for_each(|part| sum.merge(&part));
            Some(result(scenario, ends, profile, sum))
        });
        let results = results.collect();
        if !(self.is_stopped)() {
            let captures = captures.into_iter().flatten();
            captures.into_iter().try_for_each(Capture::finish)?;
        }
        Ok(results)
    }
}

fn system(error: NetError) -> StageError {
    StageError::System(Box::new(error))
}

/// The profiles to run; `None` when the kernel is at both ends and profiles have no effect.
fn profiles_of(scenario: &Scenario, ends: Ends) -> Vec<Option<&Profile>> {
    match ends.has_profiles() {
        true => scenario.profiles.iter().map(Some).collect(),
        false => vec![None],
    }
}

/// The captures of a run over real packets.
pub fn capture_paths(scenario: &Scenario, ends: Ends, dir: &Path) -> Vec<CapturePaths> {
    let profiles = profiles_of(scenario, ends).into_iter();
    profiles.map(|profile| paths_of(dir, ends, profile)).collect()
}

fn paths_of(dir: &Path, ends: Ends, profile: Option<&Profile>) -> CapturePaths {
    let name = names(ends, profile).0;
    match ends.stage {
        Stage::Kernel => CapturePaths::new(dir, &name),
        stage => CapturePaths::new(dir, &format!("{}-{name}", stage.name())),
    }
}

/// The scenario's path for these ends.
///
/// Linux chooses its own segment boundaries, above all where the window has little room. Rules that name
/// data segments therefore become rules over the bytes of these segments. Where the kernel is to delay
/// its ACKs, the path thins them at the sender.
fn path(settings: &Settings, ends: Ends) -> Result<PathSpec, SettingsError> {
    let mut path = settings.path()?;
    for (stack, host) in [(ends.client, Host::Client), (ends.server, Host::Server)] {
        if stack != Stack::Kernel {
            continue;
        }
        if settings.writes_full_segments() {
            path.use_byte_offsets(host.sends(), settings.mss);
        }
        if let Some(hold) = ends.thins(settings) {
            path.hops_mut(host.sends()).insert(0, HopSpec::ThinAcks { hold });
        }
    }
    Ok(path)
}

fn run_job(
    scenario: &Scenario,
    ends: Ends,
    path: &PathSpec,
    job: &Job<'_>,
    is_stopped: &dyn Fn() -> bool,
    done: &(dyn Fn(u64) + Sync),
) -> Result<JobResult, StageError> {
    let setup = Setup { events: job.write_events.is_some(), ..setup(&scenario.settings, ends, job.profile) };
    let mut testbed = Testbed::open(setup.clone()).map_err(system)?;
    let kernel = match testbed.kernel(Host::Server).map_err(system)? {
        Some(kernel) => Some(kernel),
        None => testbed.kernel(Host::Client).map_err(system)?,
    };
    let mut sum = JobResult { cost: Cost::default(), error: DeliveryError::default(), blurred: 0, missed: 0, kernel };
    for flow in job.flows.clone() {
        if is_stopped() {
            break;
        }
        let tap = job.capture.map(|capture| capture.packets.tap());
        let outcome = testbed.run(path, scenario.seed, FlowId(flow), tap).map_err(system)?;
        if let Some(write) = job.write_events {
            write(&names(ends, job.profile).0, FlowId(flow), &outcome.events);
        }
        sum.cost.add_flow(&outcome.record, &outcome.recoveries);
        sum.cost.keep_time(FlowId(flow), &outcome.record);
        sum.error.merge(&outcome.report.error);
        let took = outcome.record.fct.unwrap_or(outcome.record.duration);
        sum.blurred += u64::from(outcome.report.blurs(took));
        let [up, down] = [&outcome.report.up, &outcome.report.down];
        sum.missed += up.missed + up.refused + down.missed + down.refused;
        done(1);
        if outcome.record.fct.is_none() {
            // Its remaining packets must not reach the next flow.
            testbed = Testbed::open(setup.clone()).map_err(system)?;
        }
    }
    Ok(sum)
}

/// Writes a flow's events as the simulator's observers do.
fn write_events(writer: &mut EventWriter<EventTarget<'_>>, flow: FlowId, events: &[FlowEvent]) {
    for event in events {
        match event.kind {
            FlowEventKind::Sender { host, event: ref what } => {
                writer.on_event(event.at, flow, host, what);
            }
            FlowEventKind::Packet(packet) => {
                let point = match packet.point {
                    PathPoint::Sent => Point::Sent,
                    PathPoint::Arrived => Point::Arrived,
                    PathPoint::Dropped(cause) => Point::Dropped(cause),
                };
                let seen = simulated(flow, &packet);
                writer.on_packet(event.at, point, packet.direction, &seen);
                writer.release();
            }
        }
    }
}

/// A packet as the simulator has it, of what events say of packets.
fn simulated(flow: FlowId, packet: &PathPacket) -> Packet {
    let tcp = &packet.tcp;
    let mut segment = Segment {
        seq: SeqNumber(tcp.seq),
        ack: SeqNumber(tcp.ack),
        payload_len: tcp.payload_len,
        flags: tcp.flags,
        ..Segment::default()
    };
    segment.options.sack = tcp.sack;
    let mut simulated = Packet::new(flow, packet.ordinal, segment);
    // Events say that a packet is damaged, not where.
    simulated.damage = packet.damaged.then_some(0);
    simulated
}

fn setup(settings: &Settings, ends: Ends, profile: Option<&Profile>) -> Setup {
    // Without a profile both ends are the kernel's, and what a profile says of hosts is not used.
    let spec: FlowSpec = settings.flow(profile.unwrap_or(&Profile::default()));
    let stack = |stack: Stack, config: Config| match stack {
        Stack::Recoup => testbed::Stack::Recoup(config.into()),
        Stack::Kernel => testbed::Stack::Kernel(options(settings)),
    };
    // An option that one end lacks is not used by the other either.
    let timestamps = !ends.has_kernel() || settings.kernel.timestamps != Some(false);
    let options_len = if timestamps { Config::TIMESTAMPS_LEN } else { 0 };
    Setup {
        client: stack(ends.client, spec.client),
        server: stack(ends.server, spec.server),
        workload: spec.workload,
        mtu: settings.mss.saturating_add(HEADERS + options_len),
        patience: PATIENCE,
        events: false,
    }
}

fn options(settings: &Settings) -> Options {
    let usual = Settings::default();
    let buffer = settings.receive_buffer;
    Options {
        switches: switches(&settings.kernel),
        congestion_control: match &settings.kernel.cc {
            Some(name) => name.clone(),
            None => settings.cc.unwrap_or(Algorithm::Cubic).linux_name().into(),
        },
        initial_window: settings.initial_window.map(|window| window.0),
        quick_acks: !matches!(settings.ack, AckPolicy::Linux { .. }),
        user_timeout: settings.user_timeout,
        receive_buffer: (buffer != usual.receive_buffer).then(|| u32::try_from(buffer).unwrap_or(u32::MAX)),
    }
}

/// The kernel's sysctls for a scenario's settings.
fn switches(settings: &KernelSettings) -> Switches {
    let mut switches = Switches::default();
    let KernelSettings { tlp, rack, sack, dsack, timestamps, frto, .. } = settings;
    for (switch, on) in Switch::ALL.into_iter().zip([tlp, rack, sack, dsack, timestamps, frto]) {
        switches.set(switch, *on);
    }
    switches
}

/// The name of a result, and the names of the client's and the server's TCP.
fn names(ends: Ends, profile: Option<&Profile>) -> (String, [String; 2]) {
    let name = |stack| match stack {
        Stack::Recoup => profile.map_or_else(String::new, |profile| profile.name().into()),
        Stack::Kernel => Kernel::profile(),
    };
    let (client, server) = (name(ends.client), name(ends.server));
    let whole = match client == server {
        true => server.clone(),
        false => format!("{server} to {client}"),
    };
    (whole, [client, server])
}

/// The captures of one profile's flows at the server and at the client.
struct Capture {
    packets: PacketCapture<OutputFile>,
    paths: CapturePaths,
}

impl Capture {
    fn begin(dir: &Path, paths: CapturePaths) -> Result<Self, StageError> {
        create_folder(dir)?;
        let [server, client] = [&paths.server, &paths.client].map(|path| OutputFile::create(path));
        let packets = PacketCapture::start(server?, client?).map_err(system)?;
        Ok(Self { packets, paths })
    }

    fn finish(self) -> Result<(), StageError> {
        let failed = |source| OutputError { path: self.paths.server.clone(), source };
        let files = self.packets.finish().map_err(failed)?;
        files.into_iter().try_for_each(OutputFile::publish)?;
        Ok(())
    }
}

fn result(scenario: &Scenario, ends: Ends, profile: Option<&Profile>, done: JobResult) -> ProfileResult {
    let (whole, [client, server]) = names(ends, profile);
    ProfileResult {
        profile: whole,
        stage: ends.stage,
        senders_known: ends.server == Stack::Recoup,
        cost: done.cost,
        live: Some(Live {
            client,
            server,
            kernel: done.kernel.map(facts),
            acks_held_ms: ends.thins(&scenario.settings).map(|hold| hold.as_secs_f64() * 1e3),
            delivery_error_ms: lateness(&done.error),
            blurred_flows: done.blurred,
            missed_packets: done.missed,
        }),
    }
}

fn lateness(error: &DeliveryError) -> Option<Lateness> {
    let at = |q| error.quantile(q).map(|late| late.as_secs_f64() * 1e3);
    Some(Lateness { p50: at(0.5)?, p99: at(0.99)?, p999: at(0.999)?, max: at(1.0)? })
}

impl JobResult {
    fn merge(&mut self, other: &Self) {
        self.cost.merge(&other.cost);
        self.error.merge(&other.error);
        self.blurred += other.blurred;
        self.missed += other.missed;
    }
}

fn facts(kernel: Kernel) -> KernelFacts {
    let [tlp, rack, sack, dsack, timestamps, frto] = kernel.switches;
    KernelFacts {
        tlp,
        rack,
        sack,
        dsack,
        timestamps,
        frto,
        version: kernel.version,
        release: kernel.release,
        hz: kernel.hz,
        congestion_control: kernel.congestion_control,
    }
}
