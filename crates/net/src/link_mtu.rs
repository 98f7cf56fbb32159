//! The MTU of an interface, as it is now.

use rustix::{
    ioctl::{Opcode, Updater, ioctl},
    net::{AddressFamily, SocketFlags, SocketType, netdevice::index_to_name, socket_with},
};
use std::{
    io,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

/// How often the kernel is asked, at most.
const PERIOD: Duration = Duration::from_secs(1);

/// `SIOCGIFMTU` (linux/sockios.h).
const SIOCGIFMTU: Opcode = 0x8921;

/// The start of `struct ifreq` as SIOCGIFMTU takes and fills it, padded to its length (netdevice(7)).
#[repr(C)]
struct MtuRequest {
    name: [u8; 16],
    mtu: i32,
    rest: [u8; 20],
}

const _: () = assert!(size_of::<MtuRequest>() == 40);

/// The MTU of one interface. It is asked for again now and then.
#[derive(Debug)]
pub(crate) struct LinkMtu {
    /// A socket of the interface's namespace.
    socket: OwnedFd,
    index: u32,
    mtu: u16,
    asked_at: Instant,
}

impl LinkMtu {
    /// For an interface of the calling thread's namespace.
    pub fn new(index: u32) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        let mtu = ask(&socket, index)?;
        Ok(Self { socket, index, mtu, asked_at: Instant::now() })
    }

    /// The MTU in bytes: at most [`PERIOD`] old. If the interface is gone, the last one.
    pub fn get(&mut self) -> u16 {
        let now = Instant::now();
        if now.duration_since(self.asked_at) >= PERIOD {
            self.asked_at = now;
            self.mtu = ask(&self.socket, self.index).unwrap_or(self.mtu);
        }
        self.mtu
    }
}

/// The MTU of an interface in a socket's namespace.
fn ask(socket: &OwnedFd, index: u32) -> io::Result<u16> {
    // It may have been renamed.
    let name = index_to_name(socket, index)?;
    let mut request = MtuRequest { name: [0; 16], mtu: 0, rest: [0; 20] };
    let place = request.name.get_mut(..name.len()).ok_or(io::ErrorKind::InvalidData)?;
    place.copy_from_slice(name.as_bytes());
    // SAFETY: for SIOCGIFMTU the kernel reads and writes a `struct ifreq`, which the request is as long as (asserted
    // above) and laid out as; every value of its fields is valid, and it lives until the call returns.
    let update = unsafe { Updater::<SIOCGIFMTU, MtuRequest>::new(&mut request) };
    // SAFETY: the opcode and its argument belong together, see above.
    unsafe { ioctl(socket, update) }?;
    // Loopback has 65,536.
    Ok(u16::try_from(request.mtu).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Namespace, Tun, netlink::Netlink};

    #[test]
    fn a_changed_mtu_is_noticed() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(why) => return recoup_testing::skip(why),
        };
        let test = || {
            let tun = Tun::create("mtu0").unwrap();
            let mut netlink = Netlink::open().unwrap();
            tun.bring_up(&mut netlink, 1400).unwrap();
            let mut mtu = LinkMtu::new(tun.index()).unwrap();
            assert_eq!(mtu.get(), 1400);
            tun.bring_up(&mut netlink, 9000).unwrap();
            mtu.asked_at -= PERIOD;
            assert_eq!(mtu.get(), 9000);
            drop(tun);
            mtu.asked_at -= PERIOD;
            assert_eq!(mtu.get(), 9000);
        };
        namespace.run(test).unwrap();
    }
}
