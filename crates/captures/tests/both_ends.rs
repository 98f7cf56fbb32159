//! Captures of both ends of the same simulated flows agree on what was lost, as far as the way between them permits, and the
//! server's tells losses by a full queue from others.

use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_lab::scenario::Scenario;
use recoup_path::DropCause;
use recoup_recovery::Event;
use recoup_sim::{Observer, Packet, Point, Simulation};
use recoup_tcp::flow::Host;
use recoup_trace::analyze::{Kept, Settings, analyze};
use recoup_trace::finding::QueueLosses;
use recoup_trace::read::Reader;
use recoup_units::{Direction, FlowId, Instant};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

/// Timers and clocks are no more exact.
const TOLERANCE: Duration = Duration::from_millis(3);

/// Flows of each network.
const FLOWS: u64 = 30;

/// The data segments of the server that were lost when they were first sent: by a full queue, and otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct Truth {
    by_queue: u64,
    otherwise: u64,
}

/// Writes captures, and counts the losses.
struct Watched<'a> {
    capture: &'a mut Capture,
    sent: HashSet<u32>,
    lost: HashSet<u32>,
    truth: Truth,
}

impl Observer for Watched<'_> {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        self.capture.on_packet(now, point, direction, packet);
        let segment = &packet.segment;
        if direction != Direction::Down || segment.payload_len == 0 {
            return;
        }
        match point {
            Point::Sent if !self.sent.insert(segment.seq.0) => {
                self.lost.insert(segment.seq.0);
            }
            // A copy has another cause than its original.
            Point::Dropped(cause) if self.lost.insert(segment.seq.0) => match cause {
                DropCause::QueueFull => self.truth.by_queue += 1,
                _ => self.truth.otherwise += 1,
            },
            _ => {}
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

/// What one end's capture of one flow shows.
struct End {
    /// The time of all causes.
    lost: Duration,
    /// When each episode or late ACK that lost time ended, and how much it lost.
    losses: Vec<(Instant, Duration)>,
    queues: QueueLosses,
}

impl End {
    fn of(file: &Path) -> Self {
        let analysis = analyze(Reader::open(file).unwrap(), &Settings::default(), Kept::default, |_| true).unwrap();
        let kept = analysis.findings.into_iter().find(|kept| !kept.connections.is_empty()).expect("a connection");
        let [connection] = &kept.connections[..] else {
            panic!("{} connections", kept.connections.len());
        };
        let episodes = kept.retransmissions.iter().filter_map(|row| {
            let until = row.recovery.map_or(connection.ended, |recovery| row.at + recovery);
            Some((until, row.cost?.lost))
        });
        let late = connection.directions.iter().flat_map(|direction| &direction.late_acks);
        let late = late.map(|late| (late.at, late.lost));
        let mut losses: Vec<_> = episodes.chain(late).filter(|(_, lost)| !lost.is_zero()).collect();
        losses.sort();
        Self { lost: connection.lost().total(), losses, queues: connection.directions[1].queue_losses }
    }
}

/// Losses of both ends that overlap, or follow each other within `slack`: what each end says of them.
fn together(ends: [&End; 2], slack: Duration) -> Vec<[Duration; 2]> {
    let of = |side: usize| ends[side].losses.iter().map(move |&(until, lost)| (until - lost, until, side, lost));
    let mut all: Vec<_> = of(0).chain(of(1)).collect();
    all.sort();
    let mut found: Vec<([Duration; 2], Instant)> = Vec::new();
    for (from, until, side, lost) in all {
        match found.last_mut() {
            Some((sums, end)) if from <= *end + slack => {
                sums[side] += lost;
                *end = until.max(*end);
            }
            _ => {
                let mut sums = [Duration::ZERO; 2];
                sums[side] = lost;
                found.push((sums, until));
            }
        }
    }
    found.into_iter().map(|(sums, _)| sums).collect()
}

struct Run {
    truth: Truth,
    /// The server's capture, and the client's.
    ends: [End; 2],
}

/// Runs the flows of a network.
fn runs(profile: &str, settings: &[(&str, &str)]) -> Vec<Run> {
    let dir = tempfile::tempdir().unwrap();
    let mut scenario = Scenario::load("tail-loss").unwrap();
    for (key, value) in [("drop", "none")].iter().chain(settings) {
        scenario.settings.set(key, value, Path::new("")).unwrap();
    }
    scenario.profiles = vec![profile.parse().unwrap()];
    let spec = scenario.settings.flow(&scenario.profiles[0]);
    let paths = CapturePaths::new(dir.path(), "flow");
    let run = |flow: u64| {
        let mut simulation = Simulation::new(&scenario.settings.path().unwrap()).unwrap();
        let mut capture = Capture::create(&paths).unwrap();
        let mut watched =
            Watched { capture: &mut capture, sent: HashSet::new(), lost: HashSet::new(), truth: Truth::default() };
        simulation.run(&spec, scenario.seed, FlowId(flow), &mut watched);
        let truth = watched.truth;
        capture.finish().unwrap();
        Run { truth, ends: [&paths.server, &paths.client].map(|file| End::of(file)) }
    };
    (0..FLOWS).map(run).collect()
}

/// Names of settings and their values.
type Network = &'static [(&'static str, &'static str)];

/// (profile, settings, least share of episodes that agree). No SYN is lost: the server cannot know of it.
const NETWORKS: [(&str, Network, f64); 6] = [
    ("linux-6", &[("segments", "300"), ("drop", "down:bernoulli:0.01"), ("ack", "linux")], 0.85),
    ("linux-6", &[("segments", "60"), ("drop", "down:bernoulli:0.03"), ("ack", "delayed")], 0.85),
    ("freebsd-5", &[("segments", "300"), ("drop", "down:bernoulli:0.01")], 0.85),
    ("linux-6", &[("segments", "600"), ("rate", "10Mbit"), ("queue", "50")], 0.9),
    ("linux-6", &[("segments", "10"), ("drop", "tail:1"), ("ack", "quick")], 0.9),
    ("linux-6", &[("segments", "300"), ("drop", "down:bernoulli:0.005"), ("reorder", "down:1%:10ms")], 0.85),
];

#[test]
fn both_ends_agree_on_lost_time() {
    let mut wrong = Vec::new();
    for (profile, settings, least) in NETWORKS {
        // The default round trip, half of it each way.
        let one_way = Duration::from_millis(40);
        let (mut agree, mut all) = (0, 0);
        let mut totals = [Duration::ZERO; 2];
        for Run { ends: [server, client], .. } in runs(profile, settings) {
            for [at_server, at_client] in together([&server, &client], one_way) {
                all += 1;
                agree += usize::from(at_server.abs_diff(at_client) <= one_way + TOLERANCE);
            }
            totals = [totals[0] + server.lost, totals[1] + client.lost];
        }
        let share = agree as f64 / all as f64;
        let [server, client] = totals;
        println!("{profile} {settings:?}: {agree} of {all} episodes agree; server {server:.2?}, client {client:.2?}");
        assert!(all >= 10, "{settings:?}: {all}");
        let off = server.abs_diff(client).as_secs_f64() / server.as_secs_f64();
        if share < least || off > 0.15 {
            wrong.push((profile, settings, share, totals));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What was found of the losses of one network, beside the truth.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    truth: Truth,
    found: [u64; 3],
    right: [u64; 2],
}

impl Score {
    fn add(&mut self, run: &Run) {
        let QueueLosses { full, not_full, unknown, .. } = run.ends[0].queues;
        self.truth.by_queue += run.truth.by_queue;
        self.truth.otherwise += run.truth.otherwise;
        for (sum, found) in self.found.iter_mut().zip([full, not_full, unknown]) {
            *sum += found;
        }
        self.right[0] += full.min(run.truth.by_queue);
        self.right[1] += not_full.min(run.truth.otherwise);
    }
}

#[test]
fn losses_by_a_full_queue_are_told_from_others() {
    let networks: [&[(&str, &str)]; 6] = [
        &[("segments", "1000"), ("rate", "10Mbit"), ("queue", "60")],
        &[("segments", "1000"), ("rate", "10Mbit"), ("queue", "60"), ("drop", "down:bernoulli:0.005")],
        &[("segments", "2000"), ("rate", "20Mbit"), ("queue", "100"), ("drop", "down:bernoulli:0.002"), ("cc", "reno")],
        &[("segments", "1000"), ("rate", "10Mbit"), ("queue", "300"), ("drop", "down:bernoulli:0.01")],
        &[("segments", "1000"), ("drop", "down:bernoulli:0.01")],
        &[("segments", "1000"), ("rate", "50Mbit"), ("drop", "down:bernoulli:0.01")],
    ];
    let mut all = Score::default();
    for settings in networks {
        let mut score = Score::default();
        for run in runs("linux-6", &[settings, &[("ack", "delayed")]].concat()) {
            score.add(&run);
            all.add(&run);
            // Behind the queue, no round trip shows it.
            let behind = run.ends[1].queues;
            assert_eq!((behind.full, behind.not_full), (0, 0), "{settings:?}");
        }
        println!("{settings:?}: {score:?}");
    }
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let precision = [share(all.right[0], all.found[0]), share(all.right[1], all.found[1])];
    let recall = [share(all.right[0], all.truth.by_queue), share(all.right[1], all.truth.otherwise)];
    println!("precision (full, not full) {precision:.3?}, recall {recall:.3?}");
    assert!(precision.iter().all(|precision| *precision >= 0.9), "{precision:?}");
    assert!(recall.iter().all(|recall| *recall >= 0.5), "{recall:?}");
}
