//! The time lost that an analysis finds in a capture is what the loss cost in the simulator.
//!
//! Each flow runs twice with the same seed: as it is, and without the disturbance. The truth is how much later the
//! sender learned that everything had arrived which it had sent before its first retransmission. For
//! a handshake it is how much later the client's ACK completed it.

use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_lab::scenario::Scenario;
use recoup_path::{HopSpec, LinkTrace, PathSpec, Queue};
use recoup_recovery::Event;
use recoup_sim::{Observer, Packet, Point, Simulation};
use recoup_tcp::flow::Host;
use recoup_trace::analyze::{Kept, Settings, analyze};
use recoup_trace::finding::{Cause, LostTime};
use recoup_trace::read::Reader;
use recoup_units::{Direction, FlowId, Instant};
use recoup_wire::Flags;
use std::path::Path;
use std::time::Duration;

/// Tolerance of the time found: a lost segment leaves room in the queue for others.
const TOLERANCE: Duration = Duration::from_millis(3);

/// Tolerance where the RTT is an estimate, and grows by 1 ms for each segment of a flight.
const ESTIMATED: Duration = Duration::from_millis(10);

/// The server's sequence numbers as it sends and hears them.
#[derive(Default)]
struct Progress {
    /// The end of what the server has sent.
    nxt: u32,
    /// The end of the data sent before the first retransmission.
    before_loss: Option<u32>,
    /// Cumulative ACKs as they reach the server.
    acks: Vec<(Instant, u32)>,
}

impl Progress {
    /// When everything below `end` was acknowledged.
    fn acknowledged(&self, end: u32) -> Instant {
        let ack = self.acks.iter().find(|(_, ack)| *ack >= end);
        ack.expect("all is acknowledged").0
    }

    /// How much later than in `other` the server learned that everything up to `end` had arrived.
    fn later_than(&self, other: &Self, end: u32) -> Duration {
        let [this, that] = [self, other].map(|run| run.acknowledged(end));
        this.since(that.min(this))
    }
}

struct Both<'a>(&'a mut Progress, &'a mut Capture);

impl Observer for Both<'_> {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        self.1.on_packet(now, point, direction, packet);
        let segment = &packet.segment;
        match (point, direction) {
            (Point::Sent, Direction::Down) if segment.sequence_len() > 0 => {
                let end = segment.seq.0 + segment.sequence_len();
                let progress = &mut self.0;
                if end <= progress.nxt && !segment.flags.contains(Flags::SYN) {
                    progress.before_loss.get_or_insert(progress.nxt);
                }
                progress.nxt = progress.nxt.max(end);
            }
            (Point::Arrived, Direction::Up) if segment.flags.contains(Flags::ACK) => {
                self.0.acks.push((now, segment.ack.0));
            }
            _ => {}
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

/// Runs one flow of the scenario over `path`, or its own. Returns what the server saw, and what the server's and
/// the client's captures show as lost.
fn run(scenario: &Scenario, path: Option<&PathSpec>, dir: &Path) -> (Progress, [LostTime; 2]) {
    let own = scenario.settings.path().unwrap();
    let path = path.unwrap_or(&own);
    let paths = CapturePaths::new(dir, "flow");
    let mut progress = Progress::default();
    let mut capture = Capture::create(&paths).unwrap();
    let spec = scenario.settings.flow(&scenario.profiles[0]);
    let mut simulation = Simulation::new(path).unwrap();
    let mut both = Both(&mut progress, &mut capture);
    simulation.run(&spec, scenario.seed, FlowId(0), &mut both);
    capture.finish().unwrap();
    let lost = [&paths.server, &paths.client].map(|file| lost_in(file));
    (progress, lost)
}

/// The time that both directions of a capture's connections lost.
fn lost_in(file: &Path) -> LostTime {
    let reader = Reader::open(file).unwrap();
    let analysis = analyze(reader, &Settings::default(), Kept::default, |_| true).unwrap();
    let mut lost = LostTime::default();
    for found in analysis.findings {
        for connection in found.connections {
            for direction in &connection.directions {
                assert!(direction.lost.total() <= connection.duration());
                lost.merge(&direction.lost);
            }
        }
    }
    lost
}

fn scenario(profile: &str, settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    for (key, value) in [("ack", "quick"), ("drop", "none")].iter().chain(settings) {
        scenario.settings.set(key, value, Path::new("")).unwrap();
    }
    scenario.profiles = vec![profile.parse().unwrap()];
    scenario
}

/// Prints the truth beside what was found. Returns what is wrong.
fn compare(name: &str, cause: Cause, truth: Duration, found: &LostTime, tolerance: Duration) -> Option<String> {
    let other = found.total() - found.of(cause);
    println!(
        "{name:34} {:20} truth {truth:>12.1?} found {:>12.1?} times {} other {other:?}",
        cause.name(),
        found.of(cause),
        found.times(cause),
    );
    let off = found.of(cause).abs_diff(truth);
    // What cost nothing did not occur.
    let times = u32::from(!found.of(cause).is_zero());
    let right = off <= tolerance && found.times(cause) == times && other.is_zero();
    (!right).then(|| format!("{name}: {truth:?}, found {found:?}"))
}

#[test]
fn an_episode_loses_what_it_costs_in_the_simulator() {
    use Cause::{Burst, LostAcks, LostRetransmission, LostSegment, TailByProbe, TailByTimeout};
    // (profile, further settings, disturbance, cause)
    let cases = [
        ("linux-6", ("segments", "10"), ("drop", "data:3"), LostSegment),
        ("linux-6", ("ack", "delayed"), ("drop", "data:4"), LostSegment),
        ("linux-6", ("rate", "10Mbit"), ("drop", "data:5"), LostSegment),
        ("linux-6", ("segments", "10"), ("drop", "data:2-5"), Burst),
        ("linux-6", ("rate", "10Mbit"), ("drop", "data:2,data:7"), Burst),
        ("linux-6", ("segments", "10"), ("drop", "tail:1"), TailByProbe),
        ("linux-6", ("segments", "10"), ("drop", "tail:3"), TailByProbe),
        ("linux-6+notlp", ("segments", "10"), ("drop", "tail:3"), TailByTimeout),
        ("freebsd-5", ("segments", "10"), ("drop", "tail:2"), TailByTimeout),
        ("linux-6", ("segments", "10"), ("drop", "data:3,data:3@2"), LostRetransmission),
        ("linux-6+notlp", ("segments", "10"), ("drop", "tail:1,tail:1@2"), LostRetransmission),
        ("linux-6", ("segments", "10"), ("drop", "up:ack:11"), LostAcks),
    ];
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (profile, setting, disturbance, cause) in cases {
        let (without, _) = run(&scenario(profile, &[setting]), None, dir.path());
        let (with, [server, _]) = run(&scenario(profile, &[setting, disturbance]), None, dir.path());
        let truth = with.later_than(&without, with.before_loss.expect("a retransmission"));
        let name = format!("{profile} {setting:?} {disturbance:?}");
        wrong.extend(compare(&name, cause, truth, &server, TOLERANCE));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_handshake_loses_what_it_costs_in_the_simulator() {
    use Cause::{LostSyn, LostSynAck};
    // (disturbance, cause and share at the server's and the client's capture point)
    let cases = [
        ("syn:1", [Some(LostSynAck), Some(LostSynAck)]),
        ("syn:1,syn:2", [Some(LostSynAck), Some(LostSynAck)]),
        // The server cannot know.
        ("up:syn:1", [None, Some(LostSyn)]),
    ];
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (drop, causes) in cases {
        let (without, _) = run(&scenario("linux-6", &[]), None, dir.path());
        let (with, found) = run(&scenario("linux-6", &[("drop", drop)]), None, dir.path());
        let truth = with.acks[0].0.since(without.acks[0].0);
        for ((end, cause), found) in ["server", "client"].iter().zip(causes).zip(found) {
            let name = format!("{drop} at the {end}");
            match cause {
                Some(cause) => wrong.extend(compare(&name, cause, truth, &found, TOLERANCE)),
                None => assert!(found.total().is_zero(), "{name}: {found:?}"),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A path that delivers a packet each ms, but nothing from `stall` ms on for `length` ms.
fn path(stall: u64, length: u64) -> PathSpec {
    let delivers = |ms: &u64| !(stall..stall + length).contains(ms);
    let times: Vec<String> = (1..=20_000).filter(delivers).map(|ms| ms.to_string()).collect();
    let delay = HopSpec::Delay(Duration::from_millis(40));
    let link = HopSpec::Link { trace: LinkTrace::parse(&times.join("\n")).unwrap(), queue: Queue::default() };
    PathSpec { up: vec![delay.clone()], down: vec![link, delay] }
}

#[test]
fn a_stall_of_the_path_is_a_delay_spike() {
    // (profile, when the path stalls, and for how long, in ms): with a retransmission and without
    let cases = [("linux-6", 205, 500), ("linux-6+notlp", 205, 500), ("linux-6+notlp", 205, 150)];
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (profile, stall, length) in cases {
        let flow = scenario(profile, &[("segments", "30"), ("initial_window", "10")]);
        let (without, _) = run(&flow, Some(&path(stall, 0)), dir.path());
        let (with, [server, _]) = run(&flow, Some(&path(stall, length)), dir.path());
        let end = with.before_loss;
        let later = |end: u32| with.later_than(&without, end);
        // Without a retransmission, the first ACK after the stall is the latest.
        let truth = end.map_or_else(|| with.acks.iter().map(|(_, ack)| later(*ack)).max().unwrap_or_default(), later);
        let name = format!("{profile} {length} ms, retransmission: {}", end.is_some());
        wrong.extend(compare(&name, Cause::DelaySpike, truth, &server, ESTIMATED));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_overtaken_segment_that_is_retransmitted_is_reordering() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [("segments", "30"), ("initial_window", "30"), ("rate", "10Mbit")];
    let mut wrong = Vec::new();
    let mut compared = 0;
    for seed in 1..30 {
        let mut flow = scenario("linux-3.17", &settings);
        flow.seed = seed;
        let (without, _) = run(&flow, None, dir.path());
        let reorder = ("reorder", "down:3%:30ms");
        flow.settings.set(reorder.0, reorder.1, Path::new("")).unwrap();
        let (with, [server, _]) = run(&flow, None, dir.path());
        let Some(end) = with.before_loss else {
            continue;
        };
        compared += 1;
        let truth = with.later_than(&without, end);
        let name = format!("reordering, seed {seed}");
        wrong.extend(compare(&name, Cause::Reordering, truth, &server, TOLERANCE));
    }
    assert!(compared >= 3, "{compared}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
