//! When the kernel sends a SYN or SYN-ACK again.

use recoup_kernel::{connect_time, syn_retries};
use std::fs;
use std::time::Duration;

/// Timeouts of a SYN before they double, since Linux 6.5 (net.ipv4.tcp_syn_linear_timeouts).
pub const SYN_LINEAR: u8 = 4;

/// No timeout is longer (include/net/tcp.h: `TCP_RTO_MAX`).
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// When a packet is sent again, from its first transmission on: `linear + 1` times after the first timeout, then after twice
/// the time each.
pub fn repeats(first: Duration, linear: u8) -> impl Iterator<Item = Duration> {
    let mut state = (Duration::ZERO, first, linear);
    std::iter::from_fn(move || {
        let (at, wait, linear) = &mut state;
        *at = at.checked_add(*wait)?;
        match linear.checked_sub(1) {
            Some(left) => *linear = left,
            None => *wait = wait.saturating_mul(2).min(LONGEST_WAIT),
        }
        Some(*at)
    })
}

/// Settings of this host on which the number of retransmissions depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// net.ipv4.tcp_syn_linear_timeouts; 0 before Linux 6.5.
    pub syn_linear: u8,
    /// net.ipv4.tcp_syn_retries.
    pub syn: u8,
}

impl Retries {
    /// Those of this host and network namespace; the kernel's defaults where it does not say them (ip-sysctl.rst).
    pub fn of_host() -> Self {
        let sysctl = |name: &str, without| {
            let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
            text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(without)
        };
        Self { syn_linear: sysctl("tcp_syn_linear_timeouts", 0), syn: sysctl("tcp_syn_retries", 6) }
    }

    /// With the kernel's own timeout and with this one: after which time connect() gives up. With this one, the number of
    /// retransmissions is raised so that it does not give up sooner.
    pub fn connect_times(self, first: Duration) -> [Duration; 2] {
        let usual = connect_time(Duration::from_secs(1), self.syn_linear, self.syn);
        let retries = syn_retries(first, self.syn_linear, usual);
        [usual, connect_time(first, self.syn_linear, retries)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syns_are_repeated_evenly_before_the_timeout_doubles() {
        let at = |linear| -> Vec<u128> {
            repeats(Duration::from_millis(60), linear).take(7).map(|at| at.as_millis()).collect()
        };
        assert_eq!(at(0), [60, 180, 420, 900, 1_860, 3_780, 7_620]);
        assert_eq!(at(4), [60, 120, 180, 240, 300, 420, 660]);
    }

    #[test]
    fn a_timeout_is_two_minutes_at_most() {
        let at: Vec<u64> = repeats(Duration::from_secs(100), 0).take(3).map(|at| at.as_secs()).collect();
        assert_eq!(at, [100, 220, 340]);
    }

    #[test]
    fn connect_gives_up_no_sooner() {
        for linear in [0, 4] {
            let [usual, now] = Retries { syn_linear: linear, syn: 6 }.connect_times(Duration::from_millis(60));
            assert!(now >= usual && usual >= Duration::from_secs(60), "{usual:?} {now:?}");
        }
    }
}
