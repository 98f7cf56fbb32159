//! Applications that follow scripts of their own, over networks of their own.

use recoup_path::{Exit, HopSpec, PathSpec};
use recoup_recovery::Mechanisms;
use recoup_sim::{
    Application, Entrance, FlowSpec, Network, NoObserver, Observer, Packet, Point, Simulation, TimerModel,
};
use recoup_tcp::flow::{Action, FlowRecord, Host, Script, ScriptProgress, TimedWrite, When, Workload, Write};
use recoup_tcp::{self as tcp, AckPolicy, Closed, Endpoint, State};
use recoup_units::{Direction, FlowId, Instant};
use std::collections::VecDeque;
use std::time::Duration;

const MSS: u64 = 1448;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn when(received: u64, acknowledged: u64, after: u64) -> When {
    When { received, acknowledged, after: Duration::from_millis(after) }
}

const fn write(when: When, bytes: u64) -> Write {
    Write { when, bytes }
}

fn spec(workload: Workload) -> FlowSpec {
    let config = tcp::Config::new(Mechanisms::LINUX_3_17);
    FlowSpec { client: config, server: config, timers: TimerModel::Exact, workload }
}

/// A path with an RTT of 80 ms and these losses.
fn path(up: &str, down: &str) -> PathSpec {
    let hops = |loss: &str| vec![HopSpec::Loss(loss.parse().unwrap()), HopSpec::Delay(ms(40))];
    PathSpec { up: hops(up), down: hops(down) }
}

/// When each data segment was sent, in ms, and its payload.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sent(Vec<(Direction, u64, u32)>);

impl Observer for Sent {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        if point == Point::Sent && packet.segment.payload_len > 0 {
            let at = now.as_nanos() / 1_000_000;
            self.0.push((direction, at, packet.segment.payload_len));
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &recoup_recovery::Event) {}
}

fn run(workload: Workload, up: &str, down: &str) -> (FlowRecord, Vec<(Direction, u64, u32)>) {
    let mut sent = Sent::default();
    let mut simulation = Simulation::new(&path(up, down)).unwrap();
    let record = simulation.run(&spec(workload), 1, FlowId(0), &mut sent);
    (record, sent.0)
}

#[test]
fn a_kept_connection_carries_one_exchange_after_another() {
    use Direction::{Down, Up};
    let workload = Workload {
        client: Script::of(&[
            write(when(0, 0, 0), 300),
            write(when(1000, 0, 500), 310),
            // A think time counts from the end of the response, whichever segment ends it.
            write(when(1000 + 2 * MSS, 0, 70), 320),
        ]),
        server: Script::of(&[
            write(when(300, 0, 0), 1000),
            write(when(610, 0, 25), 2 * MSS),
            write(when(930, 0, 0), 5),
        ]),
    };
    let (record, sent) = run(workload.clone(), "none", "none");
    let full = MSS as u32;
    assert_eq!(
        sent,
        [
            (Up, 80, 300),
            (Down, 120, 1000),
            (Up, 660, 310),
            (Down, 725, full),
            (Down, 725, full),
            (Up, 835, 320),
            (Down, 875, 5),
        ]
    );
    assert_eq!(record.fct, Some(ms(915)));
    assert_eq!((record.segments_sent, record.spurious), (7, 0));
    // A loss delays everything that waits for its data, and nothing before.
    let (record, sent) = run(workload, "none", "data:3");
    assert_eq!(sent[..5], [(Up, 80, 300), (Down, 120, 1000), (Up, 660, 310), (Down, 725, full), (Down, 725, full),]);
    assert_eq!(record.packets_dropped, 1);
    assert!(record.fct > Some(ms(1000)), "{record:?}");
    assert!(record.completed());
}

#[test]
fn an_upload_is_complete_only_with_its_response_and_a_response_only_with_its_upload() {
    // The server answers when it has everything, and then again after the first of several segments.
    let upload = 5 * MSS;
    for (answered_after, fct) in [(upload, 160), (MSS, 160)] {
        let workload = Workload {
            client: Script::of(&[write(when(0, 0, 0), upload)]),
            server: Script::of(&[write(when(answered_after, 0, 0), 100)]),
        };
        let (record, _) = run(workload, "none", "none");
        assert_eq!(record.fct, Some(ms(fct)), "{answered_after}");
    }
    // The fourth segment is lost. It is retransmitted at 160 ms and arrives at 200 ms, after the response
    // to the first segment.
    let workload = Workload {
        client: Script::of(&[write(when(0, 0, 0), 8 * MSS)]),
        server: Script::of(&[write(when(MSS, 0, 0), 100)]),
    };
    let (record, _) = run(workload, "data:4", "none");
    assert_eq!(record.fct, Some(ms(200)));
    assert_eq!(record.counters.retransmissions.total(), 1);
    assert_eq!((record.spurious, record.unnecessary_bytes), (0, 0));
}

#[test]
fn a_write_can_wait_for_acknowledgments() {
    use Direction::{Down, Up};
    let workload = Workload {
        client: Script::of(&[write(when(0, 0, 0), 100)]),
        server: Script::of(&[
            write(when(100, 0, 0), 1000),
            // The ACK arrives at 200 ms.
            write(when(0, 1000, 15), 2000),
        ]),
    };
    let (record, sent) = run(workload, "none", "none");
    assert_eq!(sent, [(Up, 80, 100), (Down, 120, 1000), (Down, 215, 1448), (Down, 215, 552)]);
    assert_eq!(record.fct, Some(ms(255)));
}

#[test]
fn each_side_closes_when_its_script_says() {
    // (client's close, server's close, states at the end)
    let graceful = State::Closed(Closed::Gracefully);
    let cases = [
        (None, None, [State::Established; 2]),
        (Some(when(1000, 0, 30)), None, [State::FinWait2, State::CloseWait]),
        (Some(when(1000, 0, 30)), Some(when(0, 1000, 0)), [graceful; 2]),
    ];
    for (client, server, states) in cases {
        let workload = Workload {
            client: Script { close: client, ..Script::of(&[write(when(0, 0, 0), 100)]) },
            server: Script { close: server, ..Script::of(&[write(when(100, 0, 0), 1000)]) },
        };
        let mut simulation = Simulation::new(&path("none", "none")).unwrap();
        let record = simulation.run(&spec(workload), 1, FlowId(0), &mut NoObserver);
        assert_eq!(record.fct, Some(ms(160)));
        let ends = [Host::Client, Host::Server].map(|host| simulation.endpoint(host).state());
        assert_eq!(ends, states, "{client:?} {server:?}");
    }
}

#[test]
fn both_hosts_losses_and_retransmissions_are_counted() {
    // Both send ten segments at once, and one of each is lost. The receiver of each has the others.
    let both = || Script::of(&[write(when(0, 0, 0), 10 * MSS)]);
    let workload = || Workload { client: both(), server: both() };
    let (clean, _) = run(workload(), "none", "none");
    let (lossy, _) = run(workload(), "data:3", "data:4");
    assert_eq!((lossy.packets_dropped, lossy.segments_sent), (2, 22));
    assert_eq!(lossy.counters.retransmissions.total(), 2);
    assert_eq!((lossy.spurious, lossy.unnecessary_bytes), (0, 0));
    assert!(lossy.fct > clean.fct, "{lossy:?}");
    // The only ACK of the request is lost, and later that of the response: both retransmissions are
    // spurious.
    let workload = Workload {
        client: Script::of(&[write(when(0, 0, 0), MSS)]),
        server: Script::of(&[write(when(MSS, 0, 1000), 2 * MSS)]),
    };
    let (record, _) = run(workload, "ack:2", "ack:1");
    assert_eq!(record.counters.retransmissions.total(), 2, "{record:?}");
    assert_eq!((record.spurious, record.unnecessary_bytes), (2, 2 * MSS));
}

/// A network that delays every packet by the same time. It counts what entered it.
#[derive(Debug, Default)]
struct FixedDelay {
    delay: Duration,
    inside: [VecDeque<(Instant, Box<Packet>)>; 2],
    entered: u64,
}

impl Entrance for FixedDelay {
    fn enter(&mut self, now: Instant, direction: Direction, packet: Box<Packet>) {
        self.inside[direction as usize].push_back((now + self.delay, packet));
        self.entered += 1;
    }
}

impl Network for FixedDelay {
    fn begin(&mut self, _: u64, _: FlowId) {
        self.inside.iter_mut().for_each(VecDeque::clear);
        self.entered = 0;
    }

    fn next_event(&self) -> Option<Instant> {
        let first = |queue: &VecDeque<(Instant, Box<Packet>)>| queue.front().map(|(at, _)| *at);
        self.inside.iter().filter_map(first).min()
    }

    fn next_exit(&mut self, now: Instant, direction: Direction) -> Option<Exit<Box<Packet>>> {
        let queue = &mut self.inside[direction as usize];
        queue.front().filter(|(at, _)| *at <= now)?;
        queue.pop_front().map(|(_, packet)| Exit::Delivered(packet))
    }
}

#[test]
fn a_network_of_ones_own_carries_flows_like_a_chain() {
    let later = [TimedWrite { after: ms(120), bytes: 3000 }];
    let mut spec = spec(Workload::exchange(400, 100 * MSS).with_later_writes(&later).closing(true));
    spec.client.acks = AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK };
    let (mut by_chain, mut by_own) = (Sent::default(), Sent::default());
    let mut chains = Simulation::new(&path("none", "none")).unwrap();
    let mut own = Simulation::over(FixedDelay { delay: ms(40), ..FixedDelay::default() });
    for flow in 0..2 {
        let expected = chains.run(&spec, 1, FlowId(flow), &mut by_chain);
        let record = own.run(&spec, 1, FlowId(flow), &mut by_own);
        assert_eq!(record, expected, "flow {flow}");
        assert!(own.network().entered > 103);
    }
    assert_eq!(by_own, by_chain);
    own.network_mut().delay = ms(10);
    let record = own.run(&spec, 1, FlowId(0), &mut NoObserver);
    assert!(record.fct < Some(ms(200)), "{record:?}");
}

/// Writes a segment whenever nothing is in flight, until it has written all. Wants to be woken at times at
/// which it has nothing to do.
#[derive(Debug)]
struct OneInFlight {
    left: u64,
    total: u64,
    wake: Option<Instant>,
}

impl Application for OneInFlight {
    fn poll(&mut self, _: Instant, endpoint: &Endpoint) -> Option<Action> {
        let sender = endpoint.sender();
        if !endpoint.is_open() || self.left == 0 || sender.una() < sender.limit() {
            return None;
        }
        self.left -= 1;
        Some(Action::Write(MSS))
    }

    fn wake(&self) -> Option<Instant> {
        self.wake
    }

    fn total(&self) -> Option<u64> {
        Some(self.total * MSS)
    }
}

#[test]
fn an_application_of_ones_own_sees_its_endpoint() {
    let application = |total, wake| OneInFlight { left: total, total, wake };
    for wake in [None, Some(Instant::ZERO), Some(Instant::from_millis(200))] {
        let mut applications = [application(0, wake), application(4, wake)];
        let mut sent = Sent::default();
        let mut simulation = Simulation::new(&path("none", "none")).unwrap();
        let record =
            simulation.run_applications(&spec(Workload::default()), 1, FlowId(0), &mut applications, &mut sent);
        let full = MSS as u32;
        let at = |ms| (Direction::Down, ms, full);
        assert_eq!(sent.0, [at(120), at(200), at(280), at(360)], "{wake:?}");
        assert_eq!(record.fct, Some(ms(400)));
        assert!(record.events < 40, "{record:?}");
    }
}

#[test]
fn scripts_given_as_applications_are_the_workload() {
    let spec = spec(Workload::exchange(300, 20 * MSS).closing(true));
    let mut simulation = Simulation::new(&path("none", "data:7")).unwrap();
    let expected = simulation.run(&spec, 1, FlowId(0), &mut NoObserver);
    let Workload { client, server } = &spec.workload;
    let mut applications = [client, server].map(ScriptProgress::new);
    let record = simulation.run_applications(&spec, 1, FlowId(0), &mut applications, &mut NoObserver);
    assert_eq!(record, expected);
    assert!(applications.iter().all(ScriptProgress::is_finished));
}
