//! TUN devices: network interfaces whose packets a process reads and writes.
//!
//! The devices are not persistent: the kernel removes a device when its descriptor is closed. A read
//! returns one IP packet, a write takes one (IFF_NO_PI).
//!
//! Without offloads the kernel cuts large segments into packets of the MTU and completes their checksums.
//! A device with offloads (IFF_VNET_HDR) carries TCP super-packets of up to 64 KiB, and checksums yet to
//! be completed, both ways. A [`VnetHeader`] in front of each packet says which.
//!
//! A device may have several queues. The kernel puts the packets of a flow into the queue that sent a packet of the flow in the
//! last three seconds, or else into one that a hash of its ends chooses (tun.c: `tun_automq_select_queue`).

use std::{
    fs,
    io::{self, IoSlice, IoSliceMut},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{Mode, OFlags, open},
    ioctl::{IntegerSetter, Opcode, Setter, ioctl, opcode},
};

use crate::{LONGEST_SUPER_PACKET, NetError, VNET_HEADER_LEN, VnetHeader, netlink::Netlink};

/// The interface carries IP packets without Ethernet headers (linux/if_tun.h).
const IFF_TUN: u16 = 0x0001;
/// No four bytes of packet information in front of each packet.
const IFF_NO_PI: u16 = 0x1000;
/// Fail if the interface exists already.
const IFF_TUN_EXCL: u16 = 0x8000;

/// The interface may have several descriptors, each with a queue of its own.
const IFF_MULTI_QUEUE: u16 = 0x0100;

/// A `struct virtio_net_hdr` in front of each packet.
const IFF_VNET_HDR: u16 = 0x4000;

/// The work that the reader of a device takes over (linux/if_tun.h): checksums, and TCP segmentation over
/// IPv4, over IPv6, and with CWR in the first segment.
const OFFLOADS: usize = 0x01 | 0x02 | 0x04 | 0x08;

/// The most packets that wait to be read before the kernel drops one: half a second at 50,000 packets/s.
const QUEUE_LEN: u32 = 25_000;

/// The argument of TUNSETIFF: the start of `struct ifreq`, padded to its length.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<InterfaceRequest>() == 40);

/// `TUNSETIFF`, `_IOW('T', 202, int)`. Its argument is the structure, although it says int.
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);

/// `TUNSETOFFLOAD`, `_IOW('T', 208, unsigned int)`. Its argument is passed by value, although it says
/// that it reads one.
const TUNSETOFFLOAD: Opcode = opcode::write::<u32>(b'T', 208);

/// A TUN device.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    name: String,
    index: u32,
    offloads: bool,
}

impl Tun {
    /// Makes a device named `name`, at most 15 bytes, in the calling thread's network namespace. It is
    /// down, and has neither an address nor offloads.
    ///
    /// # Errors
    /// When there is no /dev/net/tun, when the caller lacks the right to, or when the name is taken.
    pub fn create(name: &str) -> Result<Self, NetError> {
        Self::open(name, IFF_TUN_EXCL)
    }

    /// As [`create`](Self::create), with offloads: the kernel leaves checksums and TCP segmentation to the
    /// reader, and the writer may leave them to the kernel.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_with_offloads(name: &str) -> Result<Self, NetError> {
        Self::open(name, IFF_TUN_EXCL | IFF_VNET_HDR)
    }

    /// As [`create`](Self::create), with several queues, at least one and with or without offloads: each is a device of its
    /// own that shares the interface with the others.
    ///
    /// # Errors
    /// As [`create`](Self::create), and when the kernel does not give a device so many queues.
    pub fn create_queues(name: &str, offloads: bool, count: usize) -> Result<Vec<Self>, NetError> {
        let flags = IFF_MULTI_QUEUE | if offloads { IFF_VNET_HDR } else { 0 };
        let mut queues = vec![Self::open(name, flags | IFF_TUN_EXCL)?];
        while queues.len() < count {
            queues.push(Self::open(name, flags)?);
        }
        Ok(queues)
    }

    /// Opens a device of this name, with flags beside those that each has.
    fn open(name: &str, flags: u16) -> Result<Self, NetError> {
        let modes = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open("/dev/net/tun", modes, Mode::empty()).map_err(NetError::system("open /dev/net/tun"))?;
        let failed = |e: io::Error| NetError::system(format!("make the TUN device {name}"))(e);
        let mut request = InterfaceRequest { name: [0; 16], flags: IFF_TUN | IFF_NO_PI | flags, rest: [0; 22] };
        match request.name.get_mut(..name.len()) {
            Some(place) if name.len() < 16 => place.copy_from_slice(name.as_bytes()),
            _ => return Err(failed(io::ErrorKind::InvalidInput.into())),
        }
        // SAFETY: for TUNSETIFF the kernel reads a `struct ifreq`, which the request is as long as
        // (asserted above) and laid out as; it is initialised and lives until the call returns.
        let set = unsafe { Setter::<TUNSETIFF, InterfaceRequest>::new(request) };
        // SAFETY: the opcode and its argument belong together, see above; TUNSETIFF touches no
        // memory of this process but the request, and may be asked of any descriptor.
        unsafe { ioctl(&fd, set) }.map_err(|e| failed(e.into()))?;
        let index = Netlink::open()?.index_of(name)?;
        let tun = Self { fd, name: name.into(), index, offloads: flags & IFF_VNET_HDR != 0 };
        if tun.offloads {
            // SAFETY: for TUNSETOFFLOAD the kernel takes the argument as a number, not as an address.
            let set = unsafe { IntegerSetter::<TUNSETOFFLOAD>::new_usize(OFFLOADS) };
            // SAFETY: the opcode and its argument belong together, see above; no memory of this process is
            // touched, and it may be asked of any descriptor.
            unsafe { ioctl(&tun.fd, set) }.map_err(NetError::system(format!("turn on offloads of {name}")))?;
        }
        Ok(tun)
    }

    /// Whether the device has offloads, so that packets have a [`VnetHeader`].
    pub const fn offloads(&self) -> bool {
        self.offloads
    }

    /// The longest packet it carries if its MTU is `mtu`, in bytes, without the [`VnetHeader`].
    pub fn longest(&self, mtu: u32) -> usize {
        if self.offloads { LONGEST_SUPER_PACKET.max(mtu as usize) } else { mtu as usize }
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interface's index in its namespace.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Brings it up in the calling thread's namespace, which must be the device's.
    pub(crate) fn bring_up(&self, netlink: &mut Netlink, mtu: u32) -> Result<(), NetError> {
        netlink.bring_up(self.index, Some((mtu, QUEUE_LEN)))
    }

    /// Lets the kernel forward what comes from this device, and from no other: it looks up routes for the device then. In the
    /// calling thread's namespace, which must be the device's.
    ///
    /// # Errors
    /// When the system refuses, as it does where /proc/sys may not be written.
    pub fn forward(&self) -> Result<(), NetError> {
        for version in ["ipv4", "ipv6"] {
            let path = format!("/proc/sys/net/{version}/conf/{}/forwarding", self.name);
            match fs::write(&path, "1") {
                // A system without IPv6.
                Err(e) if e.kind() == io::ErrorKind::NotFound && version == "ipv6" => {}
                result => result.map_err(NetError::system(format!("write {path}")))?,
            }
        }
        Ok(())
    }

    /// Reads a packet that the kernel sent: its [`VnetHeader`] and its length in `buffer`; `None` when
    /// there is none. Without offloads the header is the default one. A packet longer than `buffer` is
    /// truncated.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn read_frame(&self, buffer: &mut [u8]) -> io::Result<Option<(VnetHeader, usize)>> {
        let mut header = [0; VNET_HEADER_LEN];
        let read = if self.offloads {
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)];
            rustix::io::readv(&self.fd, &mut parts)
        } else {
            rustix::io::read(&self.fd, buffer)
        };
        match read {
            Ok(len) if self.offloads => Ok(Some((VnetHeader::from_bytes(header), len.saturating_sub(VNET_HEADER_LEN)))),
            Ok(len) => Ok(Some((VnetHeader::default(), len))),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Hands the kernel a packet to receive, in three parts. Without offloads the header must be the
    /// default one.
    ///
    /// # Errors
    /// When the kernel refuses: it is no IP packet, the header does not fit it, the device is down, or
    /// there is no memory.
    pub fn write_frame(&self, header: &VnetHeader, packet: [&[u8]; 3]) -> io::Result<()> {
        let [first, second, third] = packet.map(IoSlice::new);
        if self.offloads {
            let header = header.to_bytes();
            let parts = [IoSlice::new(&header), first, second, third];
            rustix::io::writev(&self.fd, &parts)?;
        } else if *header != VnetHeader::default() {
            return Err(io::ErrorKind::InvalidInput.into());
        } else if second.is_empty() && third.is_empty() {
            rustix::io::write(&self.fd, &first)?;
        } else {
            rustix::io::writev(&self.fd, &[first, second, third])?;
        }
        Ok(())
    }

    /// Reads a packet from a device without offloads; `None` when there is none.
    ///
    /// # Errors
    /// When the device is gone, or the packet's header leaves work to the reader.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.read_frame(buffer)? {
            Some((header, _)) if header != VnetHeader::default() => Err(io::ErrorKind::InvalidData.into()),
            read => Ok(read.map(|(_, len)| len)),
        }
    }

    /// Hands the kernel a packet to receive, with complete checksums.
    ///
    /// # Errors
    /// When the kernel refuses: it is no IP packet, the device is down, or there is no memory.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        self.write_frame(&VnetHeader::default(), [packet, &[], &[]])
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
