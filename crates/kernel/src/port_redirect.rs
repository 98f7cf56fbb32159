//! Takes TCP ports of the host's own addresses from the kernel, for a stack in a TUN device.
//!
//! ```text
//!            interface ─► to_stack ─────► TUN ─► stack        a taken port
//!                             └─► kernel                      all else
//!            interface ◄──────── from_stack ◄─ TUN ◄─ stack   by the routes, and neighbours
//! ```
//!
//! Both programs are attached to arriving packets (TCX, Linux 6.6), for as long as the [`PortRedirect`] lives: the kernel
//! detaches them when the process ends, however it ends. No address, route, forwarding, `rp_filter` or connection tracking
//! of the host is touched or needed.
//!
//! - **New connections** to a port that was [taken](PortRedirect::take) come to the stack. So do their packets, and ICMP
//!   errors that quote them (ICMP type 3, ICMPv6 types 1 and 2).
//! - **Other connections stay where they are**: a segment without SYN that belongs to no connection of the stack goes on, to
//!   the next program or to the kernel. Connections of the kernel's server on the same port are not cut off.
//! - **The newest process has the port.** Its program comes first and takes new connections; segments of older
//!   connections go on to the older process.
//! - **A port that is [drained](PortRedirect::drain)** gives new connections to the next process or the kernel, and keeps
//!   those that it has.
//! - **Packets of the host itself** through `lo` are left alone, so that a kernel's server on the same address and port
//!   serves local clients, such as a proxy.
//! - **Answers leave as the routes say**, by policy rules for their addresses and ports, too. The routes are looked up as for
//!   packets that the TUN device forwards, which takes forwarding at that device alone. Without it, and to link-local
//!   addresses, answers leave through the interface at which the connection's last packet arrived.
//! - **Super-packets and checksums** that are left to the hardware pass both ways.
//! - **Fragments** follow the first fragment of their packet; those that come before it stay with the kernel, and their
//!   packet is lost.
//!
//! # What does not hold
//! - **The host's packet filter does not see these packets** (nftables, iptables), nor does connection tracking; only what
//!   comes before TCX (XDP) does.
//! - **Frames with a VLAN tag** belong to the VLAN's interface: name that one. **Segments behind IPv6 extension headers** other
//!   than the fragment header stay with the kernel, those of "big TCP" (`gro_max_size` above 65,536) included.
//! - **A handshake is remembered among the last 131,072** that began. Beyond that within a round trip time, the end of the
//!   handshake goes to the kernel, which resets the client.
//! - **1,048,576 connections are kept**; further ones are kept as handshakes are, and counted as
//!   [crowded](PortRedirectCounts::crowded). A connection that ended without a FIN or a reset stays until
//!   [`forget_idle`](ConnectionTable::forget_idle).
//! - **An interface that appears later** is not attached to; see [`attach_to`](PortRedirect::attach_to).
//! - **Policy rules that name an incoming interface** (`iif`) or a mark, and VRFs, do not concern answers.
//!
//! # What it costs
//! A packet that arrives costs 50 ns if its port is not taken, 100 ns if the port is but the connection is the kernel's, and
//! 80 ns to the stack; a SYN of a flood 0.6 µs. A packet of the stack costs 0.2 to 0.5 µs. Super-packets are one packet.
//!
//! | module | what it does |
//! | --- | --- |
//! | `tables` | the bytes that the programs in the kernel read |

mod tables;

use crate::connection_key::ConnectionKey;
use crate::load::{KernelError, Needs, map, object, persist, typed};
use aya::Ebpf;
use aya::maps::{Array, HashMap, MapData, MapError, PerCpuArray};
use aya::programs::links::LinkOrder;
use aya::programs::tc::{TcAttachOptions, TcError};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType};
use rustix::time::{ClockId, clock_gettime};
use std::net::SocketAddr;
use std::time::Duration;
use tables::{Count, PlaceKey, PortState, StateValue, place_key, seen};

/// The compiled bpf/port_redirect.bpf.c.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/port_redirect.bpf.o");

const NEEDS: Needs = Needs {
    program: "port_redirect",
    capabilities: "CAP_BPF and CAP_NET_ADMIN",
    granted: "cap_bpf,cap_net_admin",
    linux: "6.6",
};

const TO_STACK: &str = "to_stack";
const FROM_STACK: &str = "from_stack";

/// What the programs in the kernel have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortRedirectCounts {
    /// Packets that came to the stack. A super-packet is one.
    pub to_stack: u64,
    /// Packets that the stack sent.
    pub from_stack: u64,
    /// Packets of the stack that were dropped, because there is no route to their destination.
    pub without_route: u64,
    /// Packets of the stack that were dropped, because they were not TCP from a port that is taken.
    pub not_taken: u64,
    /// Connections for which there was no place but among the handshakes.
    pub crowded: u64,
}

/// Takes ports for as long as it lives.
pub struct PortRedirect {
    // Dropping it detaches the programs.
    object: Ebpf,
    ports: HashMap<MapData, PlaceKey, u32>,
    counts: PerCpuArray<MapData, u64>,
}

/// The connections that are kept for a [`PortRedirect`]. It is apart, because a walk over a full table takes seconds.
pub struct ConnectionTable {
    connections: HashMap<MapData, ConnectionKey, StateValue>,
}

impl PortRedirect {
    /// Begins, without any port, for a stack behind the TUN device of this name and index. `interfaces`: where packets
    /// for the ports arrive. All are in the calling thread's network namespace.
    ///
    /// # Errors
    /// If there is no such interface, without the right to load programs into the kernel, or if the kernel lacks what
    /// they need.
    pub fn attach(tun: &str, index: u32, interfaces: &[&str]) -> Result<(Self, ConnectionTable), KernelError> {
        let (mut redirect, table) = Self::load(index)?;
        // What the stack sends before the second program is there would go to the kernel.
        redirect.attach_program(FROM_STACK, tun)?;
        for interface in interfaces {
            redirect.attach_to(interface)?;
        }
        Ok((redirect, table))
    }

    /// Packets for the ports also arrive at this interface. It comes before programs that are there.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    pub fn attach_to(&mut self, interface: &str) -> Result<(), KernelError> {
        self.attach_program(TO_STACK, interface)
    }

    fn attach_program(&mut self, name: &str, interface: &str) -> Result<(), KernelError> {
        let options = TcAttachOptions::TcxOrder(LinkOrder::first());
        let attached = self.program(name)?.attach_with_options(interface, TcAttachType::Ingress, options);
        attached.map(drop).map_err(|why| match why {
            ProgramError::TcError(TcError::IoError(why)) => {
                KernelError::NoInterface { interface: interface.to_owned(), why: why.to_string() }
            }
            why => NEEDS.program_error(&why),
        })
    }

    fn load(tun: u32) -> Result<(Self, ConnectionTable), KernelError> {
        let mut object = object(&NEEDS, OBJECT, None)?;
        let [ports, connections] = ["ports", "connections"].map(|name| map(&mut object, &NEEDS, name));
        let [settings, counts] = ["settings", "counts"].map(|name| map(&mut object, &NEEDS, name));
        let mut settings: Array<MapData, u32> = typed(&NEEDS, settings?)?;
        settings.set(0, tun, 0).map_err(|why| NEEDS.refused(&why))?;
        let mut redirect = Self { object, ports: typed(&NEEDS, ports?)?, counts: typed(&NEEDS, counts?)? };
        for name in [TO_STACK, FROM_STACK] {
            let program = redirect.program(name)?;
            persist(|| program.load()).map_err(|why| NEEDS.program_error(&why))?;
        }
        Ok((redirect, ConnectionTable { connections: typed(&NEEDS, connections?)? }))
    }

    fn program(&mut self, name: &str) -> Result<&mut SchedClassifier, KernelError> {
        let program = self.object.program_mut(name);
        let program = program.ok_or_else(|| NEEDS.refused(&"it is not in the object"))?;
        program.try_into().map_err(|why| NEEDS.program_error(&why))
    }

    /// New connections to this address and port come to the stack from now on. The address must be one of the host's:
    /// packets that the host forwards would be taken, too. An IPv4-mapped IPv6 address is the IPv4 address.
    ///
    /// # Errors
    /// If the kernel refuses, as it does if 16,384 ports are taken.
    pub fn take(&mut self, at: SocketAddr) -> Result<(), KernelError> {
        self.set(at, PortState::Open)
    }

    /// New connections to this address and port no longer come to the stack. Those that it has, and handshakes that have
    /// begun, go on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn drain(&mut self, at: SocketAddr) -> Result<(), KernelError> {
        self.set(at, PortState::Draining)
    }

    fn set(&mut self, at: SocketAddr, state: PortState) -> Result<(), KernelError> {
        self.ports.insert(place_key(at), state as u32, 0).map_err(|why| NEEDS.refused(&why))
    }

    /// No packet for this address and port comes to the stack any more. Connections that it still has are cut off. The port
    /// need not be taken.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn release(&mut self, at: SocketAddr) -> Result<(), KernelError> {
        unless_gone(self.ports.remove(&place_key(at)))
    }

    /// What was done so far.
    pub fn counts(&self) -> PortRedirectCounts {
        let count = |what| self.counts.get(&(what as u32), 0).map_or(0, |counts| counts.iter().sum());
        PortRedirectCounts {
            to_stack: count(Count::ToStack),
            from_stack: count(Count::FromStack),
            without_route: count(Count::WithoutRoute),
            not_taken: count(Count::NotTaken),
            crowded: count(Count::Crowded),
        }
    }
}

impl ConnectionTable {
    /// Forgets connections of which no packet arrived for so long, and says how many. So a host that vanished leaves
    /// nothing for ever. The next segment of a connection that is forgotten goes to the kernel, which resets it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn forget_idle(&mut self, time: Duration) -> Result<usize, KernelError> {
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
        let is_idle = |state: &StateValue| u128::from(now.saturating_sub(seen(state))) > time.as_nanos();
        let mut idle = Vec::new();
        for entry in self.connections.iter() {
            // An error says that the table changed beneath the walk; the next walk finds the rest.
            if let Ok((key, state)) = entry
                && is_idle(&state)
            {
                idle.push(key);
            }
        }
        for key in &idle {
            unless_gone(self.connections.remove(key))?;
        }
        Ok(idle.len())
    }

    /// The number of connections, those that ended without a FIN or a reset included. It walks over all of them.
    pub fn count(&self) -> usize {
        self.connections.keys().filter(Result::is_ok).count()
    }
}

/// A removal is done, too, if there was nothing to remove.
fn unless_gone(removed: Result<(), MapError>) -> Result<(), KernelError> {
    match removed {
        Ok(()) | Err(MapError::KeyNotFound) => Ok(()),
        Err(MapError::SyscallError(why)) if why.io_error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(NEEDS.refused(&why)),
    }
}

#[cfg(test)]
mod tests;
