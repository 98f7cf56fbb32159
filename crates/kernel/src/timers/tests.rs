//! In the running kernel, between two hosts.

mod connections;
mod ends;
mod handshakes;

use super::*;
use crate::two_hosts::TwoHosts;
use recoup_testing::skip;

/// A port on which no other program listens: the hosts have none.
const PORT: u16 = 4000;

fn millis(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

/// Two hosts with timers on the first; `None` if the system does not permit them.
fn hosts() -> Option<(TwoHosts, Timers)> {
    let hosts = TwoHosts::new()?;
    let timers = attach(&hosts)?;
    Some((hosts, timers))
}

fn attach(hosts: &TwoHosts) -> Option<Timers> {
    let cgroup = hosts.cgroup.path().to_owned();
    match hosts.watcher.run(move || Timers::attach(&cgroup)).unwrap() {
        Ok(timers) => Some(timers),
        Err(why @ KernelError::NoRight { .. }) => {
            skip(why);
            None
        }
        Err(why) => panic!("{why}"),
    }
}

fn network(text: &str) -> Network {
    text.parse().unwrap()
}

#[test]
fn a_folder_that_is_no_cgroup_is_named() {
    for folder in [Path::new("/no/such/folder"), Path::new("/proc")] {
        let error = Timers::attach(folder).err().unwrap();
        assert!(matches!(error, KernelError::NoCgroup { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(&folder.display().to_string()) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn timers_beyond_the_kernels_are_refused_in_one_line() {
    let Some((_hosts, mut timers)) = hosts() else { return };
    let to = network("192.0.2.0/24");
    let none = SocketTimers::default();
    let wrong = [
        SocketTimers { syn: millis(1001), ..none },
        SocketTimers { syn_ack: Some(Duration::ZERO), ..none },
        SocketTimers { least_rto: millis(201), ..none },
        SocketTimers { most_ack_delay: Some(jiffy()), ..none },
    ];
    for wrong in wrong {
        let error = timers.set(&to, &wrong).unwrap_err().to_string();
        assert!(error.contains("192.0.2.0/24") && !error.contains('\n'), "{error}");
    }
    let least = Some(jiffy() * 2);
    let usual = Some(Duration::from_secs(1));
    let limit = millis(200);
    timers.set(&to, &SocketTimers { syn: least, syn_ack: least, least_rto: least, most_ack_delay: least }).unwrap();
    timers.set(&to, &SocketTimers { syn: usual, syn_ack: usual, least_rto: limit, most_ack_delay: limit }).unwrap();
    timers.set(&network("0.0.0.0/0"), &none).unwrap();
    timers.set(&network("::/0"), &none).unwrap();
}
