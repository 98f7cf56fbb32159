//! What open connections have of the timers.

use super::*;
use crate::two_hosts::{HERE, THERE, connect, ip};
use recoup_wire::{Payload, decode_unverified, encode};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// A number in what ss(8) says, as `rto:204`.
fn number(sockets: &str, name: &str) -> f64 {
    let mut words = sockets.split_whitespace();
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix(':')).unwrap();
    value.split('/').next().unwrap().parse().unwrap()
}

/// Sends a byte each way.
fn exchange(mut from: &TcpStream, mut to: &TcpStream) {
    for _ in 0..20 {
        from.write_all(&[1]).unwrap();
        to.read_exact(&mut [0]).unwrap();
        to.write_all(&[2]).unwrap();
        from.read_exact(&mut [0]).unwrap();
    }
}

const LIMITS: SocketTimers = SocketTimers {
    syn: None,
    syn_ack: None,
    least_rto: Some(Duration::from_millis(20)),
    most_ack_delay: Some(Duration::from_millis(12)),
};

#[test]
fn both_ends_of_connections_have_the_least_rto() {
    let Some((hosts, mut timers)) = hosts() else { return };
    timers.set(&network(THERE), &LIMITS).unwrap();
    for (from, to, at) in [(&hosts.here, &hosts.there, THERE), (&hosts.there, &hosts.here, HERE)] {
        let listener = to.run(move || TcpListener::bind((at, PORT))).unwrap().unwrap();
        let client = connect(from, at, PORT, Duration::from_secs(5)).join().unwrap().unwrap();
        let (server, _) = listener.accept().unwrap();
        let rto = || number(&TwoHosts::sockets(&hosts.here, &format!("( dport = :{PORT} or sport = :{PORT} )")), "rto");
        let first = rto();
        exchange(&client, &server);
        let later = rto();
        println!("connection to {at}: RTO of {first} ms at first, {later} ms after 20 exchanges");
        assert!(later < 100.0, "{later}");
        // The other host has the kernel's own.
        let there = TwoHosts::sockets(&hosts.there, &format!("( dport = :{PORT} or sport = :{PORT} )"));
        assert!(number(&there, "rto") >= 200.0, "{there}");
    }
    assert_eq!(timers.counts(), TimerCounts { active: 1, passive: 1, ..Default::default() });
}

/// RFC 5681 §3.1: one segment if SYN or SYN-ACK is lost. The kernel: if more than one is (net/ipv4/tcp_input.c:
/// `tcp_init_transfer`).
#[test]
fn the_initial_window_is_one_segment_after_two_syn_timeouts() {
    let Some((hosts, mut timers)) = hosts() else { return };
    timers.set(&network(THERE), &SocketTimers { syn: millis(400), ..Default::default() }).unwrap();
    let listener = hosts.there.run(|| TcpListener::bind((THERE, PORT))).unwrap().unwrap();
    let window_after = |timeouts: u64| {
        hosts.set_reachable(timeouts == 0).unwrap();
        let connecting = connect(&hosts.here, THERE, PORT, Duration::from_secs(5));
        thread::sleep(Duration::from_millis(400 * timeouts).saturating_sub(Duration::from_millis(180)));
        hosts.set_reachable(true).unwrap();
        let client = connecting.join().unwrap().unwrap();
        let port = client.local_addr().unwrap().port();
        let sockets = TwoHosts::sockets(&hosts.here, &format!("sport = :{port}"));
        println!("after {timeouts} timeouts: {sockets}");
        drop(listener.accept());
        number(&sockets, "cwnd")
    };
    assert_eq!([0, 1, 2].map(window_after), [10.0, 10.0, 1.0]);
}

/// A SYN-ACK that comes after two SYN timeouts, because the round trip is longer than the timer: the initial window.
fn window_after_spurious_timeouts(hosts: &TwoHosts, listener: &TcpListener) -> f64 {
    // The SYN-ACKs go to nobody until then.
    let to_here = |hardware: &str| {
        ip(&hosts.there, &format!("neighbour replace {HERE} lladdr {hardware} dev there nud permanent"))
    };
    to_here("02:00:00:00:00:99").unwrap();
    let mut packets = hosts.packets_there();
    let connecting = connect(&hosts.here, THERE, PORT, Duration::from_secs(5));
    thread::sleep(Duration::from_millis(350));
    let first = packets.frames().into_iter().find(|frame| decode_unverified(&frame[14..]).is_ok()).unwrap();
    let decoded = decode_unverified(&first[14..]).unwrap();
    let mut delayed = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    encode(&decoded.segment, &decoded.endpoints, 1, Payload::Bytes(&[]), &mut delayed).unwrap();
    to_here("02:00:00:00:00:01").unwrap();
    packets.send(&delayed).unwrap();
    let client = connecting.join().unwrap().unwrap();
    drop(listener.accept().unwrap());
    let port = client.local_addr().unwrap().port();
    let sockets = TwoHosts::sockets(&hosts.here, &format!("sport = :{port}"));
    println!("{sockets}");
    number(&sockets, "cwnd")
}

/// The echo of the first SYN's timestamp shows that its timeout was spurious (net/ipv4/tcp_input.c:
/// `tcp_try_undo_spurious_syn`).
#[test]
fn the_initial_window_is_whole_after_spurious_timeouts_only_with_timestamps() {
    let Some((hosts, mut timers)) = hosts() else { return };
    timers.set(&network(THERE), &SocketTimers { syn: millis(100), ..Default::default() }).unwrap();
    let listener = hosts.there.run(|| TcpListener::bind((THERE, PORT))).unwrap().unwrap();
    assert_eq!(window_after_spurious_timeouts(&hosts, &listener), 10.0);
    hosts.set("tcp_timestamps", 0).unwrap();
    assert_eq!(window_after_spurious_timeouts(&hosts, &listener), 1.0);
}
