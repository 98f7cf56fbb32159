//! The settings, facts and counters of the kernel's TCP.

use std::{fs, time::Duration};

use netlink_packet_route::route::RouteMetric;
use recoup_recovery::{Counters, Trigger};
use recoup_tcp::flow::Host;
use rustix::{
    system::uname,
    time::{ClockId, clock_getres},
};

use super::switch::{Switch, Switches};
use crate::NetError;

/// Settings of the kernel's TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Parts of loss recovery that are turned on or off.
    pub switches: Switches,
    /// The congestion control of each socket, by the kernel's name.
    pub congestion_control: String,
    /// The initial congestion window in segments; `None`: the kernel's own.
    pub initial_window: Option<u32>,
    /// Whether it acknowledges every segment; otherwise the kernel decides.
    pub quick_acks: bool,
    /// The user timeout; `None`: the kernel's own limit.
    pub user_timeout: Option<Duration>,
    /// The receive buffer in bytes; `None`: the kernel decides.
    pub receive_buffer: Option<u32>,
}

impl Options {
    /// The settings that are metrics of the route to the peer.
    pub(super) fn route_metrics(&self) -> Vec<RouteMetric> {
        let window = self.initial_window.map(RouteMetric::InitCwnd);
        let quick = self.quick_acks.then_some(RouteMetric::QuickAck(1));
        window.into_iter().chain(quick).collect()
    }
}

/// Facts about the kernel's TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The version, such as `6.18.3`, without a distribution's suffix.
    pub version: String,
    /// The release as uname(2) returns it.
    pub release: String,
    /// Ticks per second, to which the kernel rounds timers up; 0 if unknown.
    pub hz: u32,
    /// The congestion control of its sockets.
    pub congestion_control: String,
    /// Which parts of loss recovery are on, in the order of [`Switch::ALL`].
    pub switches: [bool; Switch::ALL.len()],
}

/// The running kernel's release and version.
fn release() -> (String, String) {
    let release = uname().release().to_string_lossy().into_owned();
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let version = release.split(|c| !is_version(c)).next().unwrap_or_default();
    let version = version.to_owned();
    (release, version)
}

impl Kernel {
    /// The profile name in results of the running kernel, such as `kernel-6.18.3`.
    pub fn profile() -> String {
        format!("kernel-{}", release().1)
    }

    /// The facts in the calling thread's namespace.
    pub(super) fn here(congestion_control: &str) -> Result<Self, NetError> {
        let (release, version) = release();
        // The coarse clock moves with the tick.
        let tick = clock_getres(ClockId::MonotonicCoarse);
        let hz = 1_000_000_000u32.checked_div(tick.tv_nsec as u32);
        let mut switches = [false; Switch::ALL.len()];
        for (on, switch) in switches.iter_mut().zip(Switch::ALL) {
            *on = read(&format!("/proc/sys/net/ipv4/{}", switch.sysctl()))?.trim() != "0";
        }
        Ok(Self {
            version,
            release,
            hz: hz.unwrap_or_default(),
            congestion_control: congestion_control.into(),
            switches,
        })
    }
}

/// Prepares the calling thread's namespace: sets the switches, and keeps the kernel from saving metrics
/// of one flow for the next, so that flows are independent.
pub(super) fn prepare(switches: &Switches) -> Result<(), NetError> {
    write("tcp_no_metrics_save", "1")?;
    for switch in Switch::ALL {
        if let Some(on) = switches.get(switch) {
            write(switch.sysctl(), switch.value(on))?;
        }
    }
    Ok(())
}

fn write(file: &str, value: &str) -> Result<(), NetError> {
    let path = format!("/proc/sys/net/ipv4/{file}");
    fs::write(&path, value).map_err(NetError::system(format!("write {value} to {path}")))
}

fn read(path: &str) -> Result<String, NetError> {
    fs::read_to_string(path).map_err(NetError::system(format!("read {path}")))
}

/// The counters of the kernel's TCP in a namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts(String);

impl Counts {
    /// The counters of the calling thread's namespace.
    pub fn here() -> Result<Self, NetError> {
        // /proc/net would be that of the process's first namespace.
        let [tcp, more] = ["snmp", "netstat"].map(|file| read(&format!("/proc/thread-self/net/{file}")));
        Ok(Self(tcp? + &more?))
    }

    /// A counter of group `Tcp:` or `TcpExt:`. Each group has a line of names and then one of values.
    fn get(&self, group: &str, name: &str) -> u64 {
        let mut lines = self.0.lines().filter(|line| line.starts_with(group));
        while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let mut both = names.split_whitespace().zip(values.split_whitespace());
            if let Some((_, value)) = both.find(|(found, _)| *found == name) {
                return value.parse().unwrap_or_default();
            }
        }
        0
    }

    /// Counts since `before`, as a Recoup sender counts: retransmissions by trigger, recoveries.
    ///
    /// The kernel counts timeouts; each retransmits the first segment. It counts probes of new data
    /// together with those that retransmit, so retransmitting probes are the rest of all retransmissions.
    pub fn since(&self, before: &Self, host: Host) -> Counters {
        let of = |group, name| self.get(group, name).saturating_sub(before.get(group, name));
        let ext = |name| of("TcpExt:", name);
        let all = of("Tcp:", "RetransSegs");
        let handshake = ext("TCPSynRetrans");
        let [fast, slow_start] = ["TCPFastRetrans", "TCPSlowStartRetrans"].map(ext);
        // Retransmissions of a client's SYN count as timeouts, too; those of a SYN-ACK do not.
        let (syn, by_timer) = match host {
            Host::Client => (Trigger::Syn, handshake),
            Host::Server => (Trigger::SynAck, 0),
        };
        let others = all.saturating_sub(fast + slow_start + handshake);
        // The timeout at which the kernel gives up retransmits nothing.
        let rto = ext("TCPTimeouts").saturating_sub(by_timer).min(others);
        let tlp = others - rto;
        let mut counters = Counters::default();
        for (trigger, count) in [
            (Trigger::Fast, fast),
            (Trigger::SlowStart, slow_start),
            (Trigger::Rto, rto),
            (Trigger::Tlp, tlp),
            (syn, handshake),
        ] {
            (0..count).for_each(|_| counters.retransmissions.add(trigger));
        }
        counters.recoveries = ext("TCPSackRecovery") + ext("TCPRenoRecovery");
        counters.dsacks = ext("TCPDSACKRecv") + ext("TCPDSACKOfoRecv");
        counters.probes = ext("TCPLossProbes");
        counters
    }
}
