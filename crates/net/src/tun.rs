//! TUN devices: network interfaces whose wire is a descriptor.
//!
//! The devices are not persistent: they are gone when their descriptor is closed. A read gives one
//! IP packet, a write takes one, without any header (IFF_NO_PI). Without offloads the kernel cuts
//! what it would send as one large segment into packets of the MTU, with their checksums.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

use crate::NetError;
use crate::netlink::Netlink;

/// The interface carries IP packets without Ethernet headers (linux/if_tun.h).
const IFF_TUN: u16 = 0x0001;
/// No four bytes of packet information in front of each packet.
const IFF_NO_PI: u16 = 0x1000;
/// Not an interface that exists already.
const IFF_TUN_EXCL: u16 = 0x8000;

/// Packets that wait to be read before the kernel drops one: half a second at 50,000 a second.
const QUEUE_LEN: u32 = 25_000;

/// What TUNSETIFF reads: the start of `struct ifreq`, and room for the rest of it.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<InterfaceRequest>() == 40);

/// `TUNSETIFF`, `_IOW('T', 202, int)`: it says int and means the structure.
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);

/// A TUN device.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    name: String,
    index: u32,
}

impl Tun {
    /// Makes a device named `name`, at most 15 bytes, in the calling thread's network namespace. It
    /// is down and has no address.
    ///
    /// # Errors
    /// When there is no /dev/net/tun, when the caller may not, or when the name is taken.
    pub fn create(name: &str) -> Result<Self, NetError> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open("/dev/net/tun", flags, Mode::empty())
            .map_err(|e| NetError::system("open /dev/net/tun")(e.into()))?;
        let make = || NetError::system(format!("make the TUN device {name}"));
        let mut request = InterfaceRequest {
            name: [0; 16],
            flags: IFF_TUN | IFF_NO_PI | IFF_TUN_EXCL,
            rest: [0; 22],
        };
        match request.name.get_mut(..name.len()) {
            Some(place) if name.len() < 16 => place.copy_from_slice(name.as_bytes()),
            _ => return Err(make()(io::ErrorKind::InvalidInput.into())),
        }
        // SAFETY: for TUNSETIFF the kernel reads a `struct ifreq`, which the request is as long as
        // (asserted above) and laid out as; it is initialised and lives until the call returns.
        let set = unsafe { Setter::<TUNSETIFF, InterfaceRequest>::new(request) };
        // SAFETY: the opcode and its argument belong together, see above; TUNSETIFF touches no
        // memory of this process but the request, and may be asked of any descriptor.
        unsafe { ioctl(&fd, set) }.map_err(|e| make()(e.into()))?;
        let index = Netlink::open()?.index_of(name)?;
        Ok(Self {
            fd,
            name: name.into(),
            index,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its index in its namespace.
    pub(crate) const fn index(&self) -> u32 {
        self.index
    }

    /// Brings it up in the calling thread's namespace, which must be the device's.
    pub(crate) fn bring_up(&self, netlink: &mut Netlink, mtu: u32) -> Result<(), NetError> {
        netlink.bring_up(self.index, Some((mtu, QUEUE_LEN)))
    }

    /// Reads a packet the kernel sent; `None` when there is none.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.fd, buffer) {
            Ok(len) => Ok(Some(len)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Gives the kernel a packet to receive.
    ///
    /// # Errors
    /// When it refuses: no IP packet, the device is down, no memory.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.fd, packet)?;
        Ok(())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
