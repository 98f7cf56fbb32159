//! Which connections belong to the sockets of a cgroup.
//!
//! A program in the kernel is called by the sockets of a cgroup (BPF_PROG_TYPE_SOCK_OPS), and notes the addresses and
//! ports of each connection that they begin. It lasts as long as its [`Sockets`]: the kernel detaches it when the process
//! ends, however it ends. It replies nothing, so timeouts stay as they are, also beside [`Timers`](crate::Timers).
//!
//! | connection | noted |
//! | --- | --- |
//! | opened by this machine | before its SYN leaves (BPF_SOCK_OPS_TCP_CONNECT_CB) |
//! | accepted | before its SYN-ACK leaves (BPF_SOCK_OPS_TIMEOUT_INIT of the connection request) |
//! | accepted with a SYN cookie | when the client's ACK arrives (BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB), because there is no request: after its SYN-ACK has left |
//!
//! # What does not hold
//! - **A socket that a process opened before it came into the cgroup** is none of the cgroup's: a socket stays in the
//!   cgroup where it was opened. An accepted one is in that of its listener.
//! - **Connections from before [`attach`](Sockets::attach)** are not noted.
//! - **A note counts for [`NOTE_COUNTS`]**, because others may have the same addresses and ports later. If the first packet
//!   leaves after that time, such as a SYN that waits for a neighbour, the connection seems to be none of the cgroup's.
//! - **The kernel forgets the oldest notes**, if there are more than 65,536.

use crate::cgroup::Cgroup;
use crate::connection_key::connection_key;
use crate::load::{KernelError, Needs, map, object, typed};
use aya::Ebpf;
use aya::maps::{HashMap, MapData};
use recoup_net::namespace_cookie;
use recoup_wire::Endpoints;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::Duration;

/// The compiled bpf/sockets.bpf.c.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/sockets.bpf.o");

/// bpf_get_netns_cookie in programs of sockets is the newest of what is needed.
const NEEDS: Needs = Needs {
    program: "sockets",
    capabilities: "CAP_BPF and CAP_NET_ADMIN",
    granted: "cap_net_raw,cap_bpf,cap_net_admin",
    linux: "5.15",
};

/// For how long a note counts.
pub const NOTE_COUNTS: Duration = Duration::from_secs(10);

/// The bytes of the program's `struct connection`: the key, then the cookie of the network namespace.
type Begun = [u8; 48];

/// Notes connections for as long as it lives.
pub struct Sockets {
    // Dropping it detaches the program.
    _object: Ebpf,
    /// When each began, in nanoseconds of CLOCK_MONOTONIC.
    begun: HashMap<MapData, Begun, u64>,
    namespace: u64,
}

impl Sockets {
    /// Begins, for the sockets of a cgroup and all below it. `cgroup` is its folder.
    ///
    /// # Errors
    /// If the folder is no cgroup of version 2, without the right to load programs into the kernel, or if the kernel
    /// lacks what they need.
    pub fn attach(cgroup: &Path) -> Result<Self, KernelError> {
        let cgroup = Cgroup::open(cgroup)?;
        let namespace = namespace_cookie().map_err(|why| NEEDS.refused(&format!("SO_NETNS_COOKIE: {why}")))?;
        let mut object = object(&NEEDS, OBJECT, None)?;
        let begun = typed(&NEEDS, map(&mut object, &NEEDS, "begun")?)?;
        cgroup.attach(&mut object, &NEEDS)?;
        Ok(Self { _object: object, begun, namespace })
    }

    /// Whether a connection belongs to a socket of the cgroup, and to the network namespace of the thread that called
    /// [`attach`](Self::attach). This host's end comes first. It is asked within [`NOTE_COUNTS`] after the connection
    /// began. An IPv4-mapped address is that of IPv4.
    pub fn has(&self, connection: &Endpoints) -> bool {
        let Some(key) = connection_key(connection) else { return false };
        let mut begun = [0; 48];
        begun[..40].copy_from_slice(&key);
        begun[40..].copy_from_slice(&self.namespace.to_ne_bytes());
        self.begun.get(&begun, 0).is_ok_and(|at| monotonic().saturating_sub(Duration::from_nanos(at)) <= NOTE_COUNTS)
    }
}

fn monotonic() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
