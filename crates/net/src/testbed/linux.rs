//! The kernel's TCP as one end of a flow: what it is told, and what it tells of itself.

use std::fs;
use std::time::Duration;

use netlink_packet_route::route::RouteMetric;
use recoup_recovery::{Counters, Trigger};
use recoup_tcp::flow::Host;
use rustix::system::uname;
use rustix::time::{ClockId, clock_getres};

use super::switch::{Switch, Switches};
use crate::NetError;

/// What the kernel's TCP is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Parts of its loss recovery.
    pub switches: Switches,
    /// Congestion control, by the kernel's name, set for each socket.
    pub congestion_control: String,
    /// Initial congestion window in segments, if not the kernel's own.
    pub initial_window: Option<u32>,
    /// Whether it acknowledges every segment, rather than as it sees fit.
    pub quick_acks: bool,
    /// How long data may stay unacknowledged, if not as long as the kernel lets it.
    pub user_timeout: Option<Duration>,
    /// Bytes of its receive buffer, if not as it sees fit.
    pub receive_buffer: Option<u32>,
}

impl Options {
    /// What is told by way of the route to the peer.
    pub(super) fn route_metrics(&self) -> Vec<RouteMetric> {
        let window = self.initial_window.map(RouteMetric::InitCwnd);
        let quick = self.quick_acks.then_some(RouteMetric::QuickAck(1));
        window.into_iter().chain(quick).collect()
    }
}

/// The kernel's TCP as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// `6.18.3`, without what a distribution adds.
    pub version: String,
    /// The whole of what uname(2) calls the release.
    pub release: String,
    /// Ticks a second, which timers are rounded up to; 0 if the clock does not say.
    pub hz: u32,
    /// The congestion control of its sockets.
    pub congestion_control: String,
    /// Which parts of loss recovery are on, in the order of [`Switch::ALL`].
    pub switches: [bool; Switch::ALL.len()],
}

/// The release of the kernel that runs, and of it the version alone.
fn release() -> (String, String) {
    let release = uname().release().to_string_lossy().into_owned();
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let version = release.split(|c| !is_version(c)).next().unwrap_or_default();
    let version = version.to_owned();
    (release, version)
}

impl Kernel {
    /// The profile name that results of the kernel that runs carry: `kernel-6.18.3`.
    pub fn profile() -> String {
        format!("kernel-{}", release().1)
    }

    /// In the namespace of the calling thread.
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

/// Prepares the calling thread's namespace: nothing is remembered of one flow for the next, which is
/// what independent flows are, and the switches are set.
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

/// What the kernel's TCP of a namespace has counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts(String);

impl Counts {
    /// Of the calling thread's namespace, until now.
    pub fn here() -> Result<Self, NetError> {
        // Not /proc/net, which is of the namespace the process began in.
        let [tcp, more] =
            ["snmp", "netstat"].map(|file| read(&format!("/proc/thread-self/net/{file}")));
        Ok(Self(tcp? + &more?))
    }

    /// A counter of `Tcp:` or `TcpExt:`: a line of names, then one of values.
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

    /// Since `before`, as a sender of ours would have counted: retransmissions by trigger, recoveries.
    ///
    /// The kernel counts timeouts, not what they sent: each sends the first segment again. It counts
    /// probes of new data with the others, so those sent again are what is left of all.
    pub fn since(&self, before: &Self, host: Host) -> Counters {
        let of = |group, name| {
            self.get(group, name)
                .saturating_sub(before.get(group, name))
        };
        let ext = |name| of("TcpExt:", name);
        let all = of("Tcp:", "RetransSegs");
        let handshake = ext("TCPSynRetrans");
        let [fast, slow_start] = ["TCPFastRetrans", "TCPSlowStartRetrans"].map(ext);
        // A client's SYN goes by the same timer as data, a server's SYN-ACK does not.
        let (syn, by_timer) = match host {
            Host::Client => (Trigger::Syn, handshake),
            Host::Server => (Trigger::SynAck, 0),
        };
        let others = all.saturating_sub(fast + slow_start + handshake);
        // The timeout at which the kernel gives up sends nothing.
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
