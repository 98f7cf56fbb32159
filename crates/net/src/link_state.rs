//! The MTU of an interface, and whether it is up, as they are now.

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

/// `SIOCGIFFLAGS` and `SIOCGIFMTU` (linux/sockios.h).
const SIOCGIFFLAGS: Opcode = 0x8913;
const SIOCGIFMTU: Opcode = 0x8921;

/// The start of `struct ifreq`, padded to its length (netdevice(7)).
#[derive(Default)]
#[repr(C)]
struct Request {
    name: [u8; 16],
    /// The MTU, or the flags in the first two bytes.
    value: [u8; 4],
    rest: [u8; 20],
}

const _: () = assert!(size_of::<Request>() == 40);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    mtu: u16,
    is_up: bool,
}

/// The state of one interface. It is asked for again now and then.
#[derive(Debug)]
pub(crate) struct LinkState {
    /// A socket of the interface's namespace.
    socket: OwnedFd,
    index: u32,
    state: State,
    asked_at: Instant,
}

impl LinkState {
    /// Of an interface of the calling thread's namespace.
    pub fn new(index: u32) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        let state = ask(&socket, index)?;
        Ok(Self { socket, index, state, asked_at: Instant::now() })
    }

    /// Asks the kernel if that was not done for a second. If the interface is gone, the last state stays.
    fn follow(&mut self) {
        if self.asked_at.elapsed() >= PERIOD {
            self.look();
        }
    }

    /// Asks the kernel now.
    pub fn look(&mut self) {
        self.asked_at = Instant::now();
        self.state = ask(&self.socket, self.index).unwrap_or(self.state);
    }

    /// The MTU in bytes.
    pub fn mtu(&mut self) -> u16 {
        self.follow();
        self.state.mtu
    }

    /// An error if the interface is down, as far as is known.
    pub fn check(&self, name: &str) -> io::Result<()> {
        match self.state.is_up {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::NetworkDown, format!("the interface {name} is down"))),
        }
    }
}

/// Asks for the state of an interface in a socket's namespace.
fn ask(socket: &OwnedFd, index: u32) -> io::Result<State> {
    // It may have been renamed.
    let name = index_to_name(socket, index)?;
    let mut request = Request::default();
    let place = request.name.get_mut(..name.len()).ok_or(io::ErrorKind::InvalidData)?;
    place.copy_from_slice(name.as_bytes());
    // SAFETY: for SIOCGIFMTU the kernel reads and writes a `struct ifreq`, which the request is as long as (asserted
    // above) and laid out as; it is plain bytes, and it lives until the call returns.
    let update = unsafe { Updater::<SIOCGIFMTU, Request>::new(&mut request) };
    // SAFETY: the opcode and its argument belong together, see above.
    unsafe { ioctl(socket, update) }?;
    // Loopback has 65,536.
    let mtu = u16::try_from(i32::from_ne_bytes(request.value)).unwrap_or(u16::MAX);
    // SAFETY: as for SIOCGIFMTU.
    let update = unsafe { Updater::<SIOCGIFFLAGS, Request>::new(&mut request) };
    // SAFETY: as above.
    unsafe { ioctl(socket, update) }?;
    let [low, high, ..] = request.value;
    let is_up = u16::from_ne_bytes([low, high]) & libc::IFF_UP as u16 != 0;
    Ok(State { mtu, is_up })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Namespace, Tun, netlink::Netlink};

    #[test]
    fn changes_are_noticed() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(why) => return recoup_testing::skip(why),
        };
        let test = || {
            let tun = Tun::create("mtu0").unwrap();
            let mut link = LinkState::new(tun.index()).unwrap();
            assert_eq!(link.check("mtu0").unwrap_err().to_string(), "the interface mtu0 is down");
            let mut netlink = Netlink::open().unwrap();
            tun.bring_up(&mut netlink, 1400).unwrap();
            assert_eq!(link.mtu(), 1500);
            link.asked_at -= PERIOD;
            assert_eq!(link.mtu(), 1400);
            assert!(link.check("mtu0").is_ok());
            drop(tun);
            link.look();
            assert_eq!(link.mtu(), 1400);
        };
        namespace.run(test).unwrap();
    }
}
