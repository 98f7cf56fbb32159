//! Devices that carry a host's packets.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::{AsFd, BorrowedFd},
};

use crate::{
    NetError, Tun, VnetHeader,
    address::{self, INTERFACE},
    netlink::Netlink,
    write_batch::WriteBatch,
};

/// Something that carries IP packets. Its descriptor is readable when there is one to read. One with
/// offloads has both methods of frames besides.
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

    /// Sends a packet, now or with the next [`submit`](Self::submit). Returns how many packets were not taken, of this
    /// one and those that waited: they are lost.
    fn queue(&mut self, packet: &[u8]) -> u64 {
        self.write(packet).is_err().into()
    }

    /// Sends the packets that wait. Returns how many were not taken.
    fn submit(&mut self) -> u64 {
        0
    }

    /// Whether it leaves checksums and segmentation to its user, and its user to it.
    fn offloads(&self) -> bool {
        false
    }

    /// Reads a packet, if there is one, and what is left to be done about it.
    ///
    /// # Errors
    /// When the device is gone.
    fn read_frame(&mut self, buffer: &mut [u8]) -> io::Result<Option<(VnetHeader, usize)>> {
        let read = self.read(buffer)?;
        Ok(read.map(|len| (VnetHeader::default(), len)))
    }

    /// Sends a packet of which something is left to be done, in parts.
    ///
    /// # Errors
    /// When it is not taken: it is lost then. Without offloads none is.
    fn write_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> io::Result<()> {
        let _ = (header, packet);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A TUN device in the calling thread's network namespace with the kernel at the other end: the kernel
/// has one address of a point-to-point network, the host the other.
#[derive(Debug)]
pub struct TunDevice {
    tun: Tun,
    /// Without offloads. Super-packets are so long that batches of them gain nothing.
    batch: Option<WriteBatch>,
    host: Vec<IpAddr>,
    kernel: Vec<IpAddr>,
}

/// The prefix length of the IPv4 network taken when no address is asked for.
const LEN: u8 = 30;

/// Options of a [`TunDevice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunOptions {
    /// The longest packet, IP header included, in bytes; with offloads, of what packets are cut into.
    pub mtu: u16,
    /// The host's address; the kernel has the one that differs in the last bit. `None`: the first free
    /// ones of 100.64.0.0/10, and IPv6 ones where the system has IPv6.
    pub address: Option<IpAddr>,
    /// Whether host and kernel leave checksums and TCP segmentation to each other, which costs neither
    /// anything.
    pub offloads: bool,
}

impl TunDevice {
    /// Makes one with addresses of its own and without offloads, for packets of up to `mtu` bytes.
    ///
    /// # Errors
    /// When the system refuses, or when no addresses are free.
    pub fn open(mtu: u16) -> Result<Self, NetError> {
        Self::open_with(&TunOptions { mtu, address: None, offloads: false })
    }

    /// Makes one.
    ///
    /// # Errors
    /// When the system refuses, or when no addresses are free.
    pub fn open_with(options: &TunOptions) -> Result<Self, NetError> {
        let name = format!("{INTERFACE}{}h", std::process::id());
        let tun = if options.offloads { Tun::create_with_offloads(&name)? } else { Tun::create(&name)? };
        let mut netlink = Netlink::open()?;
        tun.bring_up(&mut netlink, options.mtu.into())?;
        let mut device = Self {
            tun,
            batch: (!options.offloads).then(|| WriteBatch::new(options.mtu.into())),
            host: Vec::new(),
            kernel: Vec::new(),
        };
        match options.address {
            Some(address) => device.take_address(&mut netlink, address)?,
            None => device.take_free_addresses(&mut netlink)?,
        }
        Ok(device)
    }

    fn take_free_addresses(&mut self, netlink: &mut Netlink) -> Result<(), NetError> {
        let (block, ipv6) = address::take(netlink, self.tun.index(), Some(LEN))?;
        let ends = block.ends_v4();
        self.kernel.push(ends.outside.into());
        self.host.push(ends.inside.into());
        if ipv6 {
            let ends = block.ends_v6();
            self.kernel.push(ends.outside.into());
            self.host.push(ends.inside.into());
        }
        Ok(())
    }

    fn take_address(&mut self, netlink: &mut Netlink, address: IpAddr) -> Result<(), NetError> {
        let (kernel, len): (IpAddr, u8) = match address {
            IpAddr::V4(ip) => (Ipv4Addr::from_bits(ip.to_bits() ^ 1).into(), 32),
            IpAddr::V6(ip) => (Ipv6Addr::from_bits(ip.to_bits() ^ 1).into(), 128),
        };
        let index = self.tun.index();
        netlink.add_address(index, kernel, len)?;
        netlink.add_route(address, len, index)?;
        self.kernel.push(kernel);
        self.host.push(address);
        Ok(())
    }

    /// The device itself.
    pub const fn tun(&self) -> &Tun {
        &self.tun
    }

    /// The addresses for the host to have.
    pub fn host_addresses(&self) -> &[IpAddr] {
        &self.host
    }

    /// The kernel's addresses at the other end, in the same order.
    pub fn kernel_addresses(&self) -> &[IpAddr] {
        &self.kernel
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

    fn queue(&mut self, packet: &[u8]) -> u64 {
        match &mut self.batch {
            Some(batch) => batch.push(&self.tun, packet),
            None => self.write(packet).is_err().into(),
        }
    }

    fn submit(&mut self) -> u64 {
        let batch = self.batch.as_mut();
        batch.map_or(0, |batch| batch.submit(&self.tun))
    }

    fn offloads(&self) -> bool {
        self.tun.offloads()
    }

    fn read_frame(&mut self, buffer: &mut [u8]) -> io::Result<Option<(VnetHeader, usize)>> {
        self.tun.read_frame(buffer)
    }

    fn write_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> io::Result<()> {
        self.tun.write_frame(header, packet)
    }
}
