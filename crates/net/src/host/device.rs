//! What a host's packets travel over.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

use crate::address::{self, INTERFACE};
use crate::netlink::Netlink;
use crate::{NetError, Tun};

/// Something that carries IP packets. Its descriptor is readable when there is one to read.
pub trait Device: AsFd {
    /// Reads a packet, if there is one.
    ///
    /// # Errors
    /// When the device is gone.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sends a packet.
    ///
    /// # Errors
    /// When it is not taken: it is lost then.
    fn write(&mut self, packet: &[u8]) -> io::Result<()>;
}

/// A TUN device in the calling thread's network namespace with the kernel at the other end: the kernel
/// has one address of a point-to-point network, the host the other.
#[derive(Debug)]
pub struct TunDevice {
    tun: Tun,
    host: Vec<IpAddr>,
    kernel: Vec<IpAddr>,
}

/// The prefix length of the IPv4 network taken when no address is asked for.
const LEN: u8 = 30;

impl TunDevice {
    /// Makes one with the first free addresses of 100.64.0.0/10, and IPv6 ones where the system has
    /// IPv6, for packets of up to `mtu` bytes.
    ///
    /// # Errors
    /// What the system refuses; no free addresses.
    pub fn open(mtu: u16) -> Result<Self, NetError> {
        let (mut device, mut netlink) = Self::bare(mtu)?;
        let index = device.tun.index();
        let (block, ipv6) = address::take(&mut netlink, index, Some(LEN))?;
        let ends = block.ends_v4();
        device.kernel.push(ends.outside.into());
        device.host.push(ends.inside.into());
        if ipv6 {
            let ends = block.ends_v6();
            device.kernel.push(ends.outside.into());
            device.host.push(ends.inside.into());
        }
        Ok(device)
    }

    /// Makes one whose host has this address; the kernel has the one that differs in the last bit.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn open_at(address: IpAddr, mtu: u16) -> Result<Self, NetError> {
        let (mut device, mut netlink) = Self::bare(mtu)?;
        let (kernel, len): (IpAddr, u8) = match address {
            IpAddr::V4(ip) => (Ipv4Addr::from_bits(ip.to_bits() ^ 1).into(), 32),
            IpAddr::V6(ip) => (Ipv6Addr::from_bits(ip.to_bits() ^ 1).into(), 128),
        };
        let index = device.tun.index();
        netlink.add_address(index, kernel, len)?;
        netlink.add_route(address, len, index)?;
        device.kernel.push(kernel);
        device.host.push(address);
        Ok(device)
    }

    fn bare(mtu: u16) -> Result<(Self, Netlink), NetError> {
        let tun = Tun::create(&format!("{INTERFACE}{}h", std::process::id()))?;
        let mut netlink = Netlink::open()?;
        tun.bring_up(&mut netlink, mtu.into())?;
        let device = Self {
            tun,
            host: Vec::new(),
            kernel: Vec::new(),
        };
        Ok((device, netlink))
    }

    /// The addresses for the host to have.
    pub fn host_addresses(&self) -> &[IpAddr] {
        &self.host
    }

    /// The kernel's addresses at the other end, in the same order.
    pub fn kernel_addresses(&self) -> &[IpAddr] {
        &self.kernel
    }

    /// Reads a packet, if there is one.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.tun.read(buffer)
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// When it is not taken: it is lost then.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        self.tun.write(packet)
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        self.tun.name()
    }
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

impl Device for TunDevice {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.tun.read(buffer)
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        self.tun.write(packet)
    }
}
