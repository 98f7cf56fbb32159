//! The kernel detaches the program, however its owner ends.

use super::*;
use crate::two_hosts::{THERE, connect};
use std::env;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Names the cgroup for [`holds_until_it_is_killed`].
const CGROUP: &str = "RECOUP_TEST_CGROUP";

const SHORT: SocketTimers =
    SocketTimers { syn: Some(Duration::from_millis(52)), syn_ack: None, least_rto: None, most_ack_delay: None };

/// Retransmissions of a SYN within 700 ms: none with the kernel's own timer.
fn retransmissions(hosts: &TwoHosts) -> usize {
    hosts.set_reachable(false).unwrap();
    let mut packets = hosts.packets();
    connect(&hosts.here, THERE, PORT, Duration::from_millis(700)).join().unwrap().unwrap_err();
    packets.sent_millis().len() - 1
}

#[test]
fn dropped_timers_are_the_kernels_again() {
    let Some((hosts, mut timers)) = hosts() else { return };
    timers.set(&network(THERE), &SHORT).unwrap();
    assert!(retransmissions(&hosts) > 0);
    drop(timers);
    assert_eq!(retransmissions(&hosts), 0);
}

#[test]
fn timers_of_a_killed_process_are_the_kernels_again() {
    let Some((hosts, timers)) = hosts() else { return };
    drop(timers);
    let mut child = holder(hosts.cgroup.path());
    assert!(retransmissions(&hosts) > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(retransmissions(&hosts), 0);
}

/// Two programs may set timers for the same sockets: the shorter one counts.
#[test]
fn the_shorter_of_two_owners_timers_counts() {
    let Some((hosts, mut first)) = hosts() else { return };
    let mut second = attach(&hosts).unwrap();
    first.set(&network(THERE), &SHORT).unwrap();
    second.set(&network(THERE), &SocketTimers { syn: millis(600), ..Default::default() }).unwrap();
    assert!(retransmissions(&hosts) > 3);
    drop(first);
    assert_eq!(retransmissions(&hosts), 1);
}

/// A process of this program that holds timers.
fn holder(cgroup: &Path) -> Child {
    let name = "timers::tests::ends::holds_until_it_is_killed";
    let mut child = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--ignored", "--nocapture"])
        .env(CGROUP, cgroup)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("holds")));
    child
}

#[test]
#[ignore = "a part of timers_of_a_killed_process_are_the_kernels_again"]
fn holds_until_it_is_killed() {
    let Some(cgroup) = env::var_os(CGROUP).map(PathBuf::from) else { return };
    let mut timers = Timers::attach(&cgroup).unwrap();
    timers.set(&network(THERE), &SHORT).unwrap();
    println!("holds");
    // Until the other end of the pipe is gone, too.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
