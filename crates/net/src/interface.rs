//! Network interfaces, for those who choose one.

use crate::{NetError, netlink::Netlink};
use recoup_support::suggest::did_you_mean;
use recoup_wire::bpf::Framing;
use std::net::IpAddr;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index in its namespace.
    pub index: u32,
    /// The kind of its hardware (ARPHRD_* in linux/if_arp.h).
    pub hardware: u16,
    /// Whether it is up.
    pub is_up: bool,
    /// The longest packet that it sends, IP header included, in bytes.
    pub mtu: u32,
    /// Frames that it received and dropped since it exists, because its own memory or the system's was full.
    pub dropped: u64,
}

impl Interface {
    /// Whether it is a loopback interface.
    pub const fn is_loopback(&self) -> bool {
        self.hardware == libc::ARPHRD_LOOPBACK
    }

    /// Where the frames of its packet sockets begin.
    pub const fn framing(&self) -> Framing {
        framing(self.hardware)
    }
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The interface's index.
    pub index: u32,
    /// The address.
    pub address: IpAddr,
}

/// The addresses of the calling thread's network namespace, of IPv4 and IPv6.
///
/// # Errors
/// When a system call fails.
pub fn interface_addresses() -> Result<Vec<InterfaceAddress>, NetError> {
    Netlink::open()?.interface_addresses()
}

/// The interfaces of the calling thread's network namespace, by index.
///
/// # Errors
/// When a system call fails.
pub fn interfaces() -> Result<Vec<Interface>, NetError> {
    Netlink::open()?.interfaces()
}

/// Where the frames of packet sockets begin. Hardware other than Ethernet has other headers or none, so sockets leave
/// them out.
pub(crate) const fn framing(hardware: u16) -> Framing {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Framing::Ethernet,
        _ => Framing::Network,
    }
}

/// The error of a name that no interface has.
pub(crate) fn unknown(name: &str) -> NetError {
    let known = interfaces().unwrap_or_default();
    let names: Vec<_> = known.iter().map(|interface| interface.name.as_str()).collect();
    let near = did_you_mean(name, names.iter().copied());
    NetError::UnknownInterface { name: name.into(), expected: format!("{}{near}", one_of(&names)) }
}

/// A list of names that are expected.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [] => "none, because there are none".into(),
        [name] => (*name).into(),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}
