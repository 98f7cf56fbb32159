//! The host's addresses and interfaces, and which of them a port is taken at.

use super::InletError;
use recoup_net::{Interface, InterfaceAddress, interface_addresses, interfaces};
use recoup_support::suggest::did_you_mean;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};

/// The prefix of the names of Recoup's own devices.
const OWN_DEVICES: &str = "recoup";

/// The table of the commands for a transparent inlet; ip-route(8) gives these numbers no meaning.
const TABLE: u32 = 7300;

/// The interfaces and addresses of a network namespace.
pub struct HostView {
    interfaces: Vec<Interface>,
    addresses: Vec<InterfaceAddress>,
}

/// Where packets for ports of the host arrive.
#[derive(Debug, PartialEq, Eq)]
pub struct Outside {
    /// The interfaces' names.
    pub interfaces: Vec<String>,
    /// Their smallest MTU.
    pub mtu: u16,
    /// The addresses, all of this host.
    pub addresses: Vec<IpAddr>,
}

impl HostView {
    /// That of the calling thread's namespace.
    pub fn look() -> Result<Self, InletError> {
        Ok(Self { interfaces: interfaces()?, addresses: interface_addresses()? })
    }

    /// Whether an interface has this address.
    pub fn has(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.addresses.iter().any(|own| own.address == address)
    }

    fn is_outside(interface: &Interface) -> bool {
        !interface.is_loopback() && interface.is_up && !interface.name.starts_with(OWN_DEVICES)
    }

    /// Whether packets of others can arrive at the interface.
    fn is_up(&self, index: u32) -> bool {
        self.interfaces.iter().any(|interface| interface.index == index && interface.is_up && !interface.is_loopback())
    }

    /// Where packets for these places arrive, at these interfaces or else at those that have the addresses.
    pub fn outside(&self, at: &[SocketAddr], named: &[String]) -> Result<Outside, InletError> {
        let candidates = self.candidates(named)?;
        let mut addresses = BTreeSet::new();
        let mut used = BTreeSet::new();
        for place in at {
            let ip = place.ip();
            if ip.is_loopback() {
                return Err(InletError::Unsuitable(format!(
                    "address {ip}: expected one that other hosts reach: packets from this host to itself stay with its kernel"
                )));
            }
            let is_candidate = |index: u32| candidates.iter().any(|candidate| candidate.index == index);
            let is_meant = |own: &&InterfaceAddress| match ip.is_unspecified() {
                true => own.address.is_ipv4() == ip.is_ipv4() && is_candidate(own.index),
                false => own.address == ip,
            };
            let meant: Vec<_> = self.addresses.iter().filter(is_meant).collect();
            addresses.extend(meant.iter().map(|own| own.address));
            // Whoever gives the address of an emulated path means the path.
            let is_here = |index: &u32| is_candidate(*index) || (!ip.is_unspecified() && self.is_up(*index));
            let here: Vec<u32> = meant.iter().map(|own| own.index).filter(is_here).collect();
            // The address may be one of the loopback interface, which packets reach through any other.
            match named.is_empty() && !here.is_empty() {
                true => used.extend(here),
                false => used.extend(candidates.iter().map(|candidate| candidate.index)),
            }
        }
        let used: Vec<_> = self.interfaces.iter().filter(|interface| used.contains(&interface.index)).collect();
        if used.is_empty() || addresses.is_empty() {
            let list: Vec<_> = at.iter().map(|place| place.ip().to_string()).collect();
            let line = format!("no interface for {}: expected one that is up and has an address", list.join(", "));
            return Err(InletError::Unsuitable(line));
        }
        let mtu = used.iter().map(|interface| interface.mtu).min().and_then(|mtu| u16::try_from(mtu).ok());
        Ok(Outside {
            interfaces: used.iter().map(|interface| interface.name.clone()).collect(),
            mtu: mtu.unwrap_or(u16::MAX),
            addresses: addresses.into_iter().collect(),
        })
    }

    /// The interfaces of these names, or else all where packets of other hosts arrive.
    fn candidates(&self, named: &[String]) -> Result<Vec<&Interface>, InletError> {
        if named.is_empty() {
            return Ok(self.interfaces.iter().filter(|interface| Self::is_outside(interface)).collect());
        }
        let find = |name: &String| {
            let found = self.interfaces.iter().find(|interface| interface.name == *name);
            found.ok_or_else(|| {
                let names: Vec<_> = self.interfaces.iter().map(|interface| interface.name.as_str()).collect();
                let near = did_you_mean(name, names.iter().copied());
                InletError::Unsuitable(format!("no interface {name}: expected {}{near}", names.join(", ")))
            })
        };
        named.iter().map(find).collect()
    }
}

/// What is to be done so that packets of other hosts come to a device, and that servers' answers to clients come to this host's
/// sockets.
pub fn transparent_commands(device: &str, index: u32) -> Vec<String> {
    // Rules and tables of several devices must differ.
    let table = TABLE + index % 1000;
    let back = table + 1000;
    let mut lines = vec![
        format!(
            "to send what arrives at eth0 for port 80 to this process: ip route add default dev {device} table {table}; ip rule add iif eth0 ipproto tcp dport 80 lookup {table} (and the same with ip -6)"
        ),
        // Answers go to the address of a client, which is none of this host's (ip(7), IP_TRANSPARENT).
        format!(
            "to get the servers' answers, which arrive at eth1: ip route add local default dev lo table {back}; ip rule add iif eth1 ipproto tcp sport 80 lookup {back} (and the same with ip -6)"
        ),
        format!(
            "to undo both: ip rule del lookup {table}; ip rule del lookup {back}; ip route flush table {back} (and the same with ip -6); the other route vanishes with {device}"
        ),
    ];
    let is = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let mut missing = Vec::new();
    if is("/proc/sys/net/ipv4/ip_forward", "0") {
        missing.push("net.ipv4.ip_forward=1");
    }
    if is("/proc/sys/net/ipv6/conf/all/forwarding", "0") {
        missing.push("net.ipv6.conf.all.forwarding=1");
    }
    // Sources of answers are reached through another interface than the device (ip-sysctl: strict mode).
    if is("/proc/sys/net/ipv4/conf/all/rp_filter", "1") {
        missing.push("net.ipv4.conf.all.rp_filter=2");
    }
    if !missing.is_empty() {
        lines.push(format!("this host has to forward: sysctl -w {}", missing.join(" ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, index: u32, mtu: u32) -> Interface {
        // linux/if_arp.h: ARPHRD_LOOPBACK, ARPHRD_ETHER.
        let hardware = if name == "lo" { 772 } else { 1 };
        Interface { name: name.into(), index, hardware, is_up: name != "down", mtu, dropped: 0 }
    }

    fn host() -> HostView {
        let address = |index, text: &str| InterfaceAddress { index, address: text.parse().unwrap() };
        HostView {
            interfaces: vec![
                interface("lo", 1, 65_536),
                interface("eth0", 2, 1500),
                interface("eth1", 3, 9000),
                interface("down", 4, 1400),
                interface("recoup7h", 5, 1300),
            ],
            addresses: vec![
                address(1, "127.0.0.1"),
                address(1, "203.0.113.9"),
                address(2, "192.0.2.1"),
                address(2, "2001:db8::1"),
                address(3, "198.51.100.1"),
                address(4, "198.51.100.77"),
                address(5, "100.64.0.1"),
            ],
        }
    }

    fn outside(at: &[&str], named: &[&str]) -> Result<(String, u16, String), String> {
        let at: Vec<SocketAddr> = at.iter().map(|at| at.parse().unwrap()).collect();
        let named: Vec<String> = named.iter().map(ToString::to_string).collect();
        let found = host().outside(&at, &named).map_err(|why| why.to_string())?;
        let addresses: Vec<_> = found.addresses.iter().map(ToString::to_string).collect();
        Ok((found.interfaces.join(" "), found.mtu, addresses.join(" ")))
    }

    fn is(interfaces: &str, mtu: u16, addresses: &str) -> Result<(String, u16, String), String> {
        Ok((interfaces.into(), mtu, addresses.into()))
    }

    #[test]
    fn a_port_is_taken_at_the_interfaces_that_have_its_address() {
        assert_eq!(outside(&["192.0.2.1:80"], &[]), is("eth0", 1500, "192.0.2.1"));
        assert_eq!(outside(&["198.51.100.1:80"], &[]), is("eth1", 9000, "198.51.100.1"));
        assert_eq!(outside(&["0.0.0.0:80"], &[]), is("eth0 eth1", 1500, "192.0.2.1 198.51.100.1"));
        assert_eq!(outside(&["[::]:80", "192.0.2.1:81"], &[]), is("eth0", 1500, "192.0.2.1 2001:db8::1"));
        // An address of the loopback interface, as servers behind anycast have it.
        assert_eq!(outside(&["203.0.113.9:80"], &[]), is("eth0 eth1", 1500, "203.0.113.9"));
    }

    #[test]
    fn the_address_of_an_emulated_path_has_the_path() {
        assert_eq!(outside(&["100.64.0.1:80"], &[]), is("recoup7h", 1300, "100.64.0.1"));
        assert_eq!(outside(&["0.0.0.0:80"], &[]), is("eth0 eth1", 1500, "192.0.2.1 198.51.100.1"));
    }

    #[test]
    fn interfaces_that_are_named_have_it_whoever_has_the_address() {
        assert_eq!(outside(&["192.0.2.1:80"], &["eth1"]), is("eth1", 9000, "192.0.2.1"));
        assert_eq!(outside(&["0.0.0.0:80"], &["eth1"]), is("eth1", 9000, "198.51.100.1"));
        let unknown = outside(&["0.0.0.0:80"], &["eth2"]).unwrap_err();
        assert!(unknown.starts_with("no interface eth2: expected lo, eth0, eth1"), "{unknown}");
    }

    #[test]
    fn loopback_addresses_and_hosts_without_interfaces_are_refused_in_one_line() {
        let loopback = outside(&["127.0.0.1:80"], &[]).unwrap_err();
        assert!(loopback.starts_with("address 127.0.0.1: expected"), "{loopback}");
        let none = outside(&["[::]:80"], &["eth1"]).unwrap_err();
        assert!(none.starts_with("no interface for ::: expected"), "{none}");
    }
}
