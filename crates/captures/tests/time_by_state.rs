//! The time by state that an analysis finds in a capture is what the simulator's sender spent in each state.
//!
//! Whenever the server has nothing more to do at an instant, its state is read from its own variables: what is
//! written, sent and acknowledged, and the window. It lasts until the next such instant. A recovery is timed
//! from the packets that the server sends and receives.

use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_lab::scenario::Scenario;
use recoup_recovery::Event;
use recoup_sim::{Observer, Packet, Point, Simulation};
use recoup_tcp::Endpoint;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::{Kept, Settings, analyze};
use recoup_trace::finding::{SenderState, TimeByState};
use recoup_trace::read::Reader;
use recoup_units::{Direction, FlowId, Instant};
use recoup_wire::Flags;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How far the time in a state may be off: captures have µs, and segments of a flight wait for each other.
const TOLERANCE: Duration = Duration::from_millis(2);

/// Tolerance for recoveries: the RTT that the ACK of a lost segment would have had is an average.
const RECOVERY_TOLERANCE: Duration = Duration::from_millis(4);

/// The life and the states of the server, as the simulator knows them.
#[derive(Debug, Default)]
struct Truth {
    /// When the first and the last packet passed the server.
    life: Option<(Instant, Instant)>,
    /// When the handshake's third packet reached it.
    established: Option<Instant>,
    /// Its state since an instant.
    states: Vec<(Instant, SenderState)>,
    recoveries: Vec<(Instant, Instant)>,
    /// The end of the recovery under way, as a sequence number, and when it began.
    recovering: Option<(Instant, u32)>,
    last_sent: BTreeMap<u32, Instant>,
    nxt: u32,
    una: u32,
    advanced: Instant,
    rtt: Duration,
}

impl Truth {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let segment = &packet.segment;
        let end = segment.seq.0 + segment.sequence_len();
        if segment.sequence_len() == 0 || segment.flags.contains(Flags::SYN) {
            return;
        }
        if end <= self.nxt && self.recovering.is_none() {
            let due = (self.last_sent[&segment.seq.0] + self.rtt).max(self.advanced);
            self.recovering = Some((due.min(now), self.nxt));
        }
        self.last_sent.insert(segment.seq.0, now);
        self.nxt = self.nxt.max(end);
    }

    fn on_ack(&mut self, now: Instant, ack: u32) {
        self.established.get_or_insert(now);
        if ack > self.una {
            (self.una, self.advanced) = (ack, now);
        }
        if let Some((began, end)) = self.recovering
            && ack >= end
        {
            self.recovering = None;
            self.recoveries.push((began, now));
        }
    }

    /// The times in each state.
    fn times(&self) -> TimeByState {
        let mut time = TimeByState::default();
        let (first, last) = self.life.unwrap();
        let established = self.established.unwrap();
        time.add(SenderState::Connecting, established.nanos_since(first));
        let ends = self.states.iter().skip(1).map(|(at, _)| *at).chain([last]);
        for ((from, state), to) in self.states.iter().zip(ends) {
            let (from, to) = ((*from).max(established), to.max(established));
            let inside = |(began, ended): &(Instant, Instant)| (*ended).min(to).nanos_since((*began).max(from));
            let recovering: u64 = self.recoveries.iter().map(inside).sum();
            time.add(SenderState::Recovering, recovering);
            time.add(*state, to.nanos_since(from) - recovering);
        }
        time
    }
}

/// The state of the sender at this endpoint.
fn state_of(endpoint: &Endpoint) -> SenderState {
    let sender = endpoint.sender();
    let (una, nxt, limit) = (sender.una(), sender.nxt(), sender.limit());
    let in_flight = nxt.since(una);
    let waiting = limit.since(nxt).min(u64::from(sender.mss()));
    let window = sender.peer_window();
    if sender.fin().is_some_and(|fin| nxt > fin && una >= fin) {
        SenderState::Closing
    } else if waiting > 0 && window.bytes(una) == 0 {
        SenderState::ZeroWindow
    } else if waiting > 0 && window.bytes(una) < in_flight + waiting {
        SenderState::ReceiverWindow
    } else if in_flight > 0 {
        SenderState::Network
    } else {
        SenderState::Application
    }
}

struct Both<'a>(&'a mut Truth, &'a mut Capture);

impl Observer for Both<'_> {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        self.1.on_packet(now, point, direction, packet);
        let truth = &mut self.0;
        match (point, direction) {
            (Point::Sent, Direction::Down) => truth.on_sent(now, packet),
            (Point::Arrived, Direction::Up) if packet.segment.flags.contains(Flags::ACK) => {
                truth.on_ack(now, packet.segment.ack.0);
            }
            (Point::Arrived, Direction::Up) => {}
            _ => return,
        }
        truth.life = Some((truth.life.map_or(now, |(first, _)| first), now));
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        if host == Host::Server {
            self.0.states.push((now, state_of(endpoint)));
        }
    }
}

/// Runs one flow. Returns what its server did, and what its server's capture and its client's show.
fn run(settings: &[(&str, &str)], dir: &Path) -> (TimeByState, [TimeByState; 2]) {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    for (key, value) in [("ack", "quick"), ("drop", "none")].iter().chain(settings) {
        scenario.settings.set(key, value, Path::new("")).unwrap();
    }
    let path = scenario.settings.path().unwrap();
    let paths = CapturePaths::new(dir, "flow");
    let rtt = settings.iter().find(|(key, _)| *key == "rtt").map(|(_, rtt)| rtt);
    let mut truth = Truth {
        rtt: rtt.map_or(Duration::from_millis(80), |rtt| {
            Duration::from_millis(rtt.trim_end_matches("ms").parse().unwrap())
        }),
        ..Truth::default()
    };
    let mut capture = Capture::create(&paths).unwrap();
    let spec = scenario.settings.flow(&"linux-6".parse().unwrap());
    let mut simulation = Simulation::new(&path).unwrap();
    let mut both = Both(&mut truth, &mut capture);
    simulation.run(&spec, scenario.seed, FlowId(0), &mut both);
    capture.finish().unwrap();
    let found = [&paths.server, &paths.client].map(|file| found_in(file));
    (truth.times(), found)
}

/// The time of the server in a capture.
fn found_in(file: &Path) -> TimeByState {
    let reader = Reader::open(file).unwrap();
    let analysis = analyze(reader, &Settings::default(), Kept::default, |_| true).unwrap();
    let mut connections = analysis.findings.into_iter().flat_map(|kept| kept.connections);
    let connection = connections.next().unwrap();
    assert!(connections.next().is_none());
    connection.directions[1].time
}

#[test]
fn each_state_takes_the_time_that_it_took_in_the_simulator() {
    let cases: [(&str, &[(&str, &str)]); 8] = [
        ("application", &[("writes", "3kB@0,20kB@300ms,1kB@900ms,5kB@2s"), ("request", "300B")]),
        ("congestion window", &[("segments", "400"), ("rtt", "60ms")]),
        ("long path", &[("segments", "2000"), ("rtt", "400ms")]),
        ("receiver window", &[("segments", "300"), ("receive_buffer", "20000"), ("rtt", "50ms")]),
        ("window and application", &[("writes", "60kB@0,90kB@1s"), ("receive_buffer", "12000"), ("rtt", "70ms")]),
        ("loss", &[("segments", "40"), ("drop", "data:7,data:31"), ("rtt", "50ms")]),
        ("lost tail", &[("segments", "12"), ("drop", "tail:2"), ("rtt", "50ms")]),
        (
            "loss and window",
            &[("segments", "60"), ("receive_buffer", "16000"), ("drop", "data:20,data:45"), ("rtt", "50ms")],
        ),
    ];
    let mut wrong = Vec::new();
    for (name, settings) in cases {
        let dir = tempfile::tempdir().unwrap();
        let (truth, found) = run(settings, dir.path());
        for (at, found) in ["server", "client"].into_iter().zip(&found) {
            for states in compared(at, name.contains("loss") || name.contains("lost")) {
                let [truth, found] =
                    [&truth, found].map(|time| states.iter().map(|state| time.of(*state)).sum::<Duration>());
                println!("{name:22} {at} {states:?} {truth:>12.1?} {found:>12.1?}");
                let tolerance = match states.contains(&SenderState::Recovering) {
                    true => RECOVERY_TOLERANCE,
                    false => TOLERANCE,
                };
                if truth.abs_diff(found) > tolerance {
                    wrong.push(format!("{name}, {at}, {states:?}: {truth:?} {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The states that a capture at this end shows, apart or together.
fn compared(at: &str, has_loss: bool) -> Vec<Vec<SenderState>> {
    use SenderState::{Application, Connecting, Network, ReceiverWindow, ZeroWindow};
    if at == "server" {
        return SenderState::ALL.map(|state| vec![state]).into();
    }
    let mut states = [Connecting, ZeroWindow, ReceiverWindow].map(|state| vec![state]).to_vec();
    if !has_loss {
        // The simulated client answers in no time. So it is not known at first that the server is far away, and
        // its first flight counts as acknowledged too early.
        states.push(vec![Network, Application]);
    }
    // A retransmission whose original was lost before the capture point looks like new data.
    states
}
