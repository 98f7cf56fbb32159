//! TCP's timers for new connections, by the network of the other host.
//!
//! A program in the kernel is called by the sockets of a cgroup (BPF_PROG_TYPE_SOCK_OPS). It lasts as long as its
//! [`Timers`]: the kernel detaches it when the process ends, however it ends.
//!
//! # What the kernel makes of it
//! Measured with Linux 6.18 and HZ=250, in `timers/tests`.
//!
//! - **A timer is late by 2 to 8 ms**, because the kernel counts ticks and puts timers on a wheel. A SYN timer of 52 ms
//!   gives SYNs at 0, 54, 110, 166, 222, 278, 390 and 602 ms: the first `tcp_syn_linear_timeouts` (4) timeouts do not
//!   double.
//! - **connect() gives up no sooner.** The kernel counts retransmissions, so a socket with a SYN timer gets a
//!   TCP_SYNCNT with which they last as long as they did ([`syn_retries`]). This also holds for a TCP_SYNCNT that the
//!   program has set. getsockopt(2) shows the new number. With `tcp_syn_retries` of 1 and a timer of 8 ms, connect()
//!   gives up after 4.4 s, and after 3 s without the timer.
//! - **The initial window is 10, 10 and 1 segments after 0, 1 and 2 SYN timeouts** (net/ipv4/tcp_input.c:
//!   `tcp_init_transfer`). With a short SYN timer, an outage therefore more often ends with a window of one segment.
//! - **A SYN timer shorter than the round trip costs SYNs, and without timestamps the initial window.** After three
//!   spurious timeouts, the window is 10 segments if the SYN-ACK echoes the first SYN's timestamp
//!   (`tcp_try_undo_spurious_syn`), and 1 segment with `tcp_timestamps` of 0.
//! - **A SYN-ACK timer doubles at once**: 52 ms gives SYN-ACKs at 0, 54, 162 and 374 ms. A SYN that the client
//!   retransmits is answered besides.
//! - **A half-open connection lives no shorter.** A listener gets a TCP_SYNCNT with which SYN-ACKs last as long as they
//!   did. It is that for the shortest SYN-ACK timer of all networks, and it holds for all clients: those without a
//!   SYN-ACK timer are answered more often, and their half-open connections live longer. With a timer of 52 ms, a
//!   listener retransmits 10 times instead of 5. Clients without a timer then have 607 s instead of 63 s.
//! - **SYN cookies have no timer**: the kernel keeps no connection request. Clients still connect.
//! - **A connection that this machine opens has the least RTO at once**: 24 ms for 20 ms and a round trip of 0.04 ms.
//!   An accepted one begins with the kernel's 204 ms, because its first RTO is computed before the program is called.
//!   It has 124 ms after 4 round trips, 56 ms after 8 and 32 ms after 14.
//!
//! # What is not reached
//! - **Sockets that a process opened before it came into the cgroup**: a socket stays in the cgroup where it was
//!   opened.
//! - **Listeners that listened before a SYN-ACK timer of this length was set.** The program cannot change their
//!   number of retransmissions, so their clients keep the kernel's timer.
//! - **Connections that are open, or being opened**, keep the timers that they have.
//! - A route's own `rto_min` (ip-route(8)) counts instead of the least RTO.
//!
//! # What stays when the program is detached
//! Timers of open connections, and TCP_SYNCNT of listeners. A listener that then has the kernel's timer keeps half-open
//! connections longer until it is opened again.
//!
//! `tcp_syn_retries`, `tcp_syn_linear_timeouts` and `tcp_synack_retries` are read once, from one network namespace. If
//! the cgroup has sockets in others with other values, a listener there may get the number of retransmissions of this
//! one.
//!
//! | module | what it does |
//! | --- | --- |
//! | `retries` | ticks of the kernel's clock; how many retransmissions fill a time |
//! | `tables` | the bytes that the program in the kernel reads |

mod retries;
mod tables;

pub use retries::{connect_time, jiffy, syn_retries, ticks};

use crate::Network;
use crate::cgroup::Cgroup;
use crate::load::{KernelError, Needs, map, object, typed};
use aya::Ebpf;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, MapData, PerCpuArray};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tables::{Count, KernelRetries, NetworkKey, NetworkTimers, Settings};

/// The compiled bpf/timers.bpf.c.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/timers.bpf.o");

/// bpf_get_netns_cookie in programs of sockets is the newest of what is needed.
const NEEDS: Needs = Needs {
    program: "timers",
    capabilities: "CAP_BPF and CAP_NET_ADMIN",
    granted: "cap_bpf,cap_net_admin",
    linux: "5.15",
};

/// The kernel's own first timeouts of SYN and SYN-ACK (RFC 6298 §2.1).
const USUAL_TIMEOUT: Duration = Duration::from_secs(1);

/// The kernel's own least RTO, and its longest delay of an ACK (include/net/tcp.h: `TCP_RTO_MIN`, `TCP_DELACK_MAX`).
const USUAL_LIMIT: Duration = Duration::from_millis(200);

/// Timers of a connection. `None`: the kernel's own. Each is at least two ticks ([`jiffy`]) and no longer than the
/// kernel's own. The kernel counts ticks, so all are rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketTimers {
    /// The first timeout of a SYN: up to 1 s.
    pub syn: Option<Duration>,
    /// The first timeout of a SYN-ACK: up to 1 s.
    pub syn_ack: Option<Duration>,
    /// The least retransmission timeout (TCP_BPF_RTO_MIN): up to 200 ms.
    pub least_rto: Option<Duration>,
    /// The longest delay of an ACK (TCP_BPF_DELACK_MAX): up to 200 ms.
    pub most_ack_delay: Option<Duration>,
}

/// What the program in the kernel has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerCounts {
    /// Connections with a network that has timers, which this machine began to open.
    pub active: u64,
    /// Connections with a network that has timers, which others opened.
    pub passive: u64,
    /// Listeners that will retransmit SYN-ACKs more often.
    pub listeners: u64,
    /// SYN timers set.
    pub syn: u64,
    /// SYN-ACK timers set.
    pub syn_ack: u64,
    /// Options of sockets that the kernel refused to set.
    pub refused: u64,
}

/// Sets timers for as long as it lives.
pub struct Timers {
    // Dropping it detaches the program.
    object: Ebpf,
    networks: LpmTrie<MapData, NetworkKey, NetworkTimers>,
    settings: Array<MapData, Settings>,
    counts: PerCpuArray<MapData, u64>,
    kernel: KernelRetries,
    /// The SYN-ACK timers.
    syn_ack: BTreeMap<Network, Duration>,
}

impl Timers {
    /// Begins, without any timer, for the sockets of a cgroup and all below it. `cgroup` is its folder.
    ///
    /// When connections give up by themselves is read from the calling thread's network namespace.
    ///
    /// # Errors
    /// If the folder is no cgroup of version 2, without the right to load programs into the kernel, or if the kernel
    /// lacks what they need.
    pub fn attach(cgroup: &Path) -> Result<Self, KernelError> {
        let cgroup = Cgroup::open(cgroup)?;
        let mut object = object(&NEEDS, OBJECT, None)?;
        let mut map = |name| map(&mut object, &NEEDS, name);
        let (networks, settings, counts) = (map("networks")?, map("settings")?, map("counts")?);
        let mut timers = Self {
            networks: typed(&NEEDS, networks)?,
            settings: typed(&NEEDS, settings)?,
            counts: typed(&NEEDS, counts)?,
            kernel: KernelRetries {
                syn: sysctl("tcp_syn_retries", 6)?,
                syn_linear: sysctl("tcp_syn_linear_timeouts", 0)?,
                syn_ack: sysctl("tcp_synack_retries", 5)?,
            },
            syn_ack: BTreeMap::new(),
            object,
        };
        timers.write_settings()?;
        cgroup.attach(&mut timers.object, &NEEDS)?;
        Ok(timers)
    }

    /// Sets the timers of new connections with a network, in place of those it had. Of several networks that an address
    /// is in, the smallest counts, also where it has no timer.
    ///
    /// # Errors
    /// If a timer is too short or longer than the kernel's own, or there are 65,536 networks.
    pub fn set(&mut self, network: &Network, timers: &SocketTimers) -> Result<(), KernelError> {
        check(network, timers)?;
        let (bits, key) = tables::key(network);
        let value = tables::timers(timers, self.kernel);
        match timers.syn_ack {
            Some(time) => self.syn_ack.insert(*network, time),
            None => self.syn_ack.remove(network),
        };
        // Listeners first: a connection request has its timer from a listener that retransmits often enough.
        self.write_settings()?;
        self.networks.insert(&Key::new(bits, key), value, 0).map_err(|why| NEEDS.refused(&why))
    }

    /// What was done so far.
    pub fn counts(&self) -> TimerCounts {
        let count = |what| self.counts.get(&(what as u32), 0).map_or(0, |counts| counts.iter().sum());
        TimerCounts {
            active: count(Count::Active),
            passive: count(Count::Passive),
            listeners: count(Count::Listeners),
            syn: count(Count::Syn),
            syn_ack: count(Count::SynAck),
            refused: count(Count::Refused),
        }
    }

    fn write_settings(&mut self) -> Result<(), KernelError> {
        let shortest = self.syn_ack.values().min().copied();
        self.settings.set(0, tables::settings(shortest, self.kernel), 0).map_err(|why| NEEDS.refused(&why))
    }
}

/// A number of net.ipv4 in the calling thread's network namespace.
fn sysctl(name: &str, without: u8) -> Result<u8, KernelError> {
    // /proc/sys/net is that of the reading thread.
    let path = format!("/proc/sys/net/ipv4/{name}");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(without) };
    text.trim().parse().map_err(|_| NEEDS.refused(&format!("{path} is {:?}, no number up to 255", text.trim())))
}

fn check(network: &Network, timers: &SocketTimers) -> Result<(), KernelError> {
    let least = jiffy() * 2;
    let limits = [
        ("SYN timer", timers.syn, USUAL_TIMEOUT),
        ("SYN-ACK timer", timers.syn_ack, USUAL_TIMEOUT),
        ("least RTO", timers.least_rto, USUAL_LIMIT),
        ("longest ACK delay", timers.most_ack_delay, USUAL_LIMIT),
    ];
    match limits.into_iter().find(|(_, time, most)| time.is_some_and(|time| time < least || time > *most)) {
        Some((what, time, most)) => {
            let time = time.unwrap_or_default();
            Err(KernelError::Timer { network: *network, what, time, least, most })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
