//! In the running kernel, between two hosts.

use super::*;
use crate::two_hosts::{HERE, HERE_V6, Packets, THERE, THERE_V6, TwoHosts, connect};
use crate::{KernelError, SocketTimers, Timers};
use recoup_net::Namespace;
use recoup_testing::skip;
use recoup_wire::{Flags, decode_unverified};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// A port on which no other program listens: the hosts have none.
const PORT: u16 = 4000;

const PATIENCE: Duration = Duration::from_secs(5);

/// Two hosts, and notes of the first one's cgroup; `None` if the system does not permit them.
fn hosts() -> Option<(TwoHosts, Sockets)> {
    let hosts = TwoHosts::new()?;
    let sockets = attach(&hosts, &hosts.watcher)?;
    Some((hosts, sockets))
}

/// Notes connections of the first host's cgroup in the namespace of this host.
fn attach(hosts: &TwoHosts, namespace: &Namespace) -> Option<Sockets> {
    let cgroup = hosts.cgroup.path().to_owned();
    match namespace.run(move || Sockets::attach(&cgroup)).unwrap() {
        Ok(sockets) => Some(sockets),
        Err(why @ KernelError::NoRight { .. }) => {
            skip(why);
            None
        }
        Err(why) => panic!("{why}"),
    }
}

fn listen(host: &Namespace, at: &'static str) -> TcpListener {
    host.run(move || TcpListener::bind((at, PORT))).unwrap().unwrap()
}

fn connected(host: &Namespace, to: &str) -> TcpStream {
    connect(host, to, PORT, PATIENCE).join().unwrap().unwrap()
}

/// A connection, the end of this socket first.
fn ends(socket: &TcpStream) -> Endpoints {
    Endpoints { src: socket.local_addr().unwrap(), dst: socket.peer_addr().unwrap() }
}

/// The connection of the first SYN, or SYN-ACK, that the first host sent.
fn first(packets: &mut Packets) -> Endpoints {
    let frames = packets.frames();
    let mut segments = frames.iter().filter_map(|frame| decode_unverified(frame.get(14..)?).ok());
    segments.find(|decoded| decoded.segment.flags.contains(Flags::SYN)).expect("a SYN").endpoints
}

#[test]
fn a_folder_that_is_no_cgroup_is_named() {
    let text = Sockets::attach(Path::new("/proc")).err().unwrap().to_string();
    assert!(text.contains("no cgroup of version 2: /proc: ") && !text.contains('\n'), "{text}");
}

#[test]
fn connections_that_the_cgroup_opens_are_noted_and_others_are_not() {
    let Some((hosts, sockets)) = hosts() else { return };
    for (at, to) in [(THERE, THERE), (THERE_V6, THERE_V6), (THERE, "::ffff:10.0.0.2")] {
        let listener = listen(&hosts.there, at);
        let (inside, outside) = (connected(&hosts.here, to), connected(&hosts.watcher, to));
        assert!(sockets.has(&ends(&inside)), "{to}");
        assert!(!sockets.has(&ends(&outside)), "{to}");
        // The other host's end is not this host's.
        assert!(!sockets.has(&ends(&inside).reverse()), "{to}");
        drop(listener);
    }
}

#[test]
fn connections_that_the_cgroup_accepts_are_noted_and_others_are_not() {
    let Some((hosts, sockets)) = hosts() else { return };
    // The last listener accepts IPv4 with an IPv6 socket.
    for (at, to) in [(HERE, HERE), (HERE_V6, HERE_V6), ("::", HERE)] {
        for (host, is_inside) in [(&hosts.here, true), (&hosts.watcher, false)] {
            let listener = listen(host, at);
            let client = connected(&hosts.there, to);
            assert_eq!(sockets.has(&ends(&client).reverse()), is_inside, "{at} {to}");
            drop(listener);
        }
    }
}

/// Nothing that the first host sends arrives.
#[test]
fn the_note_is_there_before_the_first_packet_leaves() {
    let Some((hosts, sockets)) = hosts() else { return };
    hosts.set_reachable(false).unwrap();
    let mut packets = hosts.packets();
    let syn = connect(&hosts.here, THERE, PORT, Duration::from_millis(300));
    assert!(sockets.has(&first(&mut packets)));
    syn.join().unwrap().unwrap_err();
    let _listener = listen(&hosts.here, HERE);
    let mut packets = hosts.packets();
    let syn_ack = connect(&hosts.there, HERE, PORT, Duration::from_millis(300));
    assert!(sockets.has(&first(&mut packets)));
    syn_ack.join().unwrap().unwrap_err();
}

#[test]
fn a_connection_with_a_syn_cookie_is_noted_once_it_is_open() {
    let Some((hosts, sockets)) = hosts() else { return };
    hosts.set("tcp_syncookies", 2).unwrap();
    let _listener = listen(&hosts.here, HERE);
    hosts.set_reachable(false).unwrap();
    let mut packets = hosts.packets();
    let client = connect(&hosts.there, HERE, PORT, PATIENCE);
    let ends = first(&mut packets);
    assert!(!sockets.has(&ends));
    hosts.set_reachable(true).unwrap();
    client.join().unwrap().unwrap();
    assert!(sockets.has(&ends));
}

#[test]
fn a_note_counts_in_its_namespace_and_for_its_time() {
    let Some((hosts, sockets)) = hosts() else { return };
    let Some(elsewhere) = attach(&hosts, &hosts.there) else { return };
    let _listener = listen(&hosts.there, THERE);
    let client = connected(&hosts.here, THERE);
    assert!(sockets.has(&ends(&client)) && !elsewhere.has(&ends(&client)));
    thread::sleep(NOTE_COUNTS + Duration::from_millis(100));
    assert!(!sockets.has(&ends(&client)));
}

/// Milliseconds until the first SYN is retransmitted, and until the first SYN-ACK is, if that is within 700 ms.
fn retransmitted(hosts: &TwoHosts) -> [Option<u64>; 2] {
    hosts.set_reachable(false).unwrap();
    let mut packets = hosts.packets();
    connect(&hosts.here, THERE, PORT, Duration::from_millis(700)).join().unwrap().unwrap_err();
    let syns = packets.sent_millis();
    let _listener = listen(&hosts.here, HERE);
    let mut packets = hosts.packets();
    connect(&hosts.there, HERE, PORT, Duration::from_millis(700)).join().unwrap().unwrap_err();
    [syns.get(1).copied(), packets.sent_millis().get(1).copied()]
}

#[test]
fn timeouts_are_the_kernels_own_or_those_of_timers_beside_it() {
    let Some((hosts, sockets)) = hosts() else { return };
    assert_eq!(retransmitted(&hosts), [None, None]);
    // After the notes, and before them.
    for order in 0..2 {
        let cgroup = hosts.cgroup.path().to_owned();
        let mut timers = hosts.watcher.run(move || Timers::attach(&cgroup)).unwrap().unwrap();
        let short = Some(Duration::from_millis(100));
        let both = SocketTimers { syn: short, syn_ack: short, ..Default::default() };
        timers.set(&"10.0.0.0/24".parse().unwrap(), &both).unwrap();
        let later = if order == 1 { attach(&hosts, &hosts.watcher) } else { None };
        let times = retransmitted(&hosts);
        println!("{order}: {times:?} ms");
        assert!(times.iter().all(|at| at.is_some_and(|at| (100..400).contains(&at))), "{order}: {times:?}");
        let counts = timers.counts();
        assert_eq!((counts.active, counts.syn, counts.listeners, counts.refused), (1, 1, 1, 0));
        assert!(counts.syn_ack > 0, "{counts:?}");
        // Both programs run.
        hosts.set_reachable(true).unwrap();
        let _listener = listen(&hosts.there, THERE);
        let client = connected(&hosts.here, THERE);
        assert!(sockets.has(&ends(&client)) && later.is_none_or(|later| later.has(&ends(&client))));
    }
}
