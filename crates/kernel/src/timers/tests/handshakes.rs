//! When SYN and SYN-ACK are retransmitted, and when that ends.

use super::*;
use crate::two_hosts::{HERE, THERE, THERE_V6, connect};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant as Time;

/// The kernel's timers are late by up to a tenth (kernel/time/timer.c: the timer wheel), and by what else this machine
/// does.
fn is_about(measured: u64, asked: u64) -> bool {
    (asked..=asked + 300).contains(&measured)
}

/// Connects once in vain, and returns when the SYNs were sent.
fn syns(hosts: &TwoHosts, to: &str, patience: u64) -> Vec<u64> {
    let mut packets = hosts.packets();
    hosts.set_reachable(false).unwrap();
    let error = connect(&hosts.here, to, PORT, Duration::from_millis(patience)).join().unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    packets.sent_millis()
}

#[test]
fn a_syn_is_retransmitted_after_its_timer() {
    let Some((hosts, mut timers)) = hosts() else { return };
    for (to, networks) in [(THERE, "10.0.0.0/8"), (THERE_V6, "fd00::/16"), ("::ffff:10.0.0.2", "10.0.0.0/8")] {
        timers.set(&network(networks), &SocketTimers { syn: millis(52), ..Default::default() }).unwrap();
        let times = syns(&hosts, to, 700);
        println!("{to}: {times:?}");
        assert!(times.len() >= 5 && is_about(times[1], 52), "{to}: {times:?}");
    }
    let counts = timers.counts();
    assert_eq!((counts.active, counts.syn, counts.passive, counts.refused), (3, 3, 0, 0));
}

#[test]
fn the_smallest_network_counts_and_others_keep_the_kernels_timer() {
    let Some((hosts, mut timers)) = hosts() else { return };
    let short = SocketTimers { syn: millis(52), ..Default::default() };
    assert_eq!(syns(&hosts, THERE, 700), [0]);
    // Neither does a network of the other family.
    timers.set(&network("::/0"), &short).unwrap();
    assert_eq!(syns(&hosts, THERE, 700), [0]);
    timers.set(&network("0.0.0.0/0"), &short).unwrap();
    timers.set(&network(THERE), &SocketTimers::default()).unwrap();
    assert_eq!(syns(&hosts, THERE, 700), [0]);
    assert_eq!(timers.counts(), TimerCounts { active: 1, ..Default::default() });
    timers.set(&network(THERE), &SocketTimers { syn: millis(300), ..Default::default() }).unwrap();
    let times = syns(&hosts, THERE, 800);
    assert!(is_about(times[1], 300), "{times:?}");
}

/// With a TCP_SYNCNT of 1, the kernel's own timer gives up after 3 s: 1 and 2 s, or the time of both.
#[test]
fn connect_gives_up_no_sooner_than_with_the_kernels_timer() {
    let Some((hosts, mut timers)) = hosts() else { return };
    // After the attachment: what the socket says counts, as it would if its program had set it.
    hosts.set("tcp_syn_retries", 1).unwrap();
    timers.set(&network(THERE), &SocketTimers { syn: Some(jiffy() * 2), ..Default::default() }).unwrap();
    hosts.set_reachable(false).unwrap();
    let begin = Time::now();
    let error = connect(&hosts.here, THERE, PORT, Duration::from_secs(20)).join().unwrap().unwrap_err();
    let elapsed = begin.elapsed();
    println!("gives up after {elapsed:?}: {error}");
    assert!((3.0..8.0).contains(&elapsed.as_secs_f64()), "{elapsed:?}");
}

#[test]
fn a_connection_begun_in_an_outage_is_opened_after_it() {
    let Some((hosts, mut timers)) = hosts() else { return };
    timers.set(&network(THERE), &SocketTimers { syn: Some(jiffy() * 2), ..Default::default() }).unwrap();
    let _listener = hosts.there.run(|| TcpListener::bind((THERE, PORT))).unwrap().unwrap();
    hosts.set_reachable(false).unwrap();
    let connecting = connect(&hosts.here, THERE, PORT, Duration::from_secs(20));
    thread::sleep(Duration::from_secs(5));
    hosts.set_reachable(true).unwrap();
    connecting.join().unwrap().unwrap();
}

/// A timer set while a connection is being opened is for the next one: the number of retransmissions would not fit.
#[test]
fn a_connection_that_is_being_opened_keeps_its_timer() {
    let Some((hosts, mut timers)) = hosts() else { return };
    timers.set(&network(THERE), &SocketTimers { syn: millis(400), ..Default::default() }).unwrap();
    hosts.set_reachable(false).unwrap();
    let mut packets = hosts.packets();
    let connecting = connect(&hosts.here, THERE, PORT, Duration::from_millis(1000));
    thread::sleep(Duration::from_millis(100));
    timers.set(&network(THERE), &SocketTimers { syn: Some(jiffy() * 2), ..Default::default() }).unwrap();
    connecting.join().unwrap().unwrap_err();
    assert!(packets.sent_millis().len() <= 3);
}

/// A listener in the cgroup, which the second host calls while nothing reaches it.
fn syn_acks(hosts: &TwoHosts, patience: u64) -> (TcpListener, Vec<u64>) {
    let listener = hosts.here.run(|| TcpListener::bind((HERE, PORT))).unwrap().unwrap();
    let times = called(hosts, patience);
    (listener, times)
}

fn called(hosts: &TwoHosts, patience: u64) -> Vec<u64> {
    hosts.set_reachable(false).unwrap();
    let mut packets = hosts.packets();
    connect(&hosts.there, HERE, PORT, Duration::from_millis(patience)).join().unwrap().unwrap_err();
    packets.sent_millis()
}

#[test]
fn a_syn_ack_is_retransmitted_after_its_timer() {
    let Some((hosts, mut timers)) = hosts() else { return };
    timers.set(&network("10.0.0.0/24"), &SocketTimers { syn_ack: millis(52), ..Default::default() }).unwrap();
    let (_listener, times) = syn_acks(&hosts, 700);
    println!("{times:?}");
    assert!(times.len() >= 3 && is_about(times[1], 52), "{times:?}");
    // The client's own retransmission is answered, too.
    hosts.set_reachable(true).unwrap();
    let client: TcpStream = connect(&hosts.there, HERE, PORT, Duration::from_secs(5)).join().unwrap().unwrap();
    drop(client);
    let counts = timers.counts();
    assert_eq!((counts.listeners, counts.refused), (1, 0));
    assert!(counts.syn_ack >= 2 && counts.passive == 1, "{counts:?}");
}

#[test]
fn a_listener_from_before_keeps_the_kernels_timer() {
    let Some((hosts, mut timers)) = hosts() else { return };
    let _listener = hosts.here.run(|| TcpListener::bind((HERE, PORT))).unwrap().unwrap();
    timers.set(&network(THERE), &SocketTimers { syn_ack: millis(52), ..Default::default() }).unwrap();
    assert_eq!(called(&hosts, 700), [0]);
    assert_eq!(timers.counts(), TimerCounts::default());
}

/// With tcp_synack_retries of 1, the kernel's own timer keeps a half-open connection for 3 s: 1 and 2 s.
#[test]
fn a_half_open_connection_lives_no_shorter() {
    let Some(hosts) = TwoHosts::new() else { return };
    hosts.set("tcp_synack_retries", 1).unwrap();
    let Some(mut timers) = attach(&hosts) else { return };
    timers.set(&network(THERE), &SocketTimers { syn_ack: Some(jiffy() * 2), ..Default::default() }).unwrap();
    // The client retransmits nothing before 1 s, and is gone by then.
    let (_listener, times) = syn_acks(&hosts, 500);
    let begin = Time::now();
    let is_half_open = || !TwoHosts::sockets(&hosts.watcher, "state syn-recv").is_empty();
    while is_half_open() && begin.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(20));
    }
    let lived = begin.elapsed() + Duration::from_millis(500);
    println!("SYN-ACKs at {times:?} ms; it lives {lived:?}");
    assert!((3.0..8.0).contains(&lived.as_secs_f64()), "{lived:?}");
}

#[test]
fn syn_cookies_still_connect() {
    let Some((hosts, mut timers)) = hosts() else { return };
    hosts.set("tcp_syncookies", 2).unwrap();
    timers.set(&network(THERE), &SocketTimers { syn_ack: millis(52), ..Default::default() }).unwrap();
    let _listener = hosts.here.run(|| TcpListener::bind((HERE, PORT))).unwrap().unwrap();
    connect(&hosts.there, HERE, PORT, Duration::from_secs(5)).join().unwrap().unwrap();
    println!("{:?}", timers.counts());
    assert_eq!(timers.counts().passive, 1);
}
