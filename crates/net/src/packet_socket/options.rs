//! Calls to the kernel that rustix lacks: options and addresses of packet sockets (packet(7), linux/if_packet.h).

use recoup_wire::bpf::Instruction;
use std::{
    io,
    mem::offset_of,
    os::fd::{AsFd, AsRawFd},
};

pub const PACKET_ADD_MEMBERSHIP: i32 = 1;
pub const PACKET_RX_RING: i32 = 5;
pub const PACKET_STATISTICS: i32 = 6;
pub const PACKET_VERSION: i32 = 10;
pub const PACKET_VNET_HDR: i32 = 15;
pub const PACKET_FANOUT: i32 = 18;
pub const PACKET_IGNORE_OUTGOING: i32 = 23;

pub const TPACKET_V3: i32 = 2;
pub const PACKET_MR_MULTICAST: u16 = 0;
pub const PACKET_MR_PROMISC: u16 = 1;
pub const PACKET_MR_UNICAST: u16 = 3;

pub const FANOUT_HASH: u32 = 0;
/// The kernel chooses the number of the group.
pub const FANOUT_FLAG_UNIQUE_ID: u32 = 0x2000;
pub const FANOUT_FLAG_DEFRAG: u32 = 0x8000;

/// All EtherTypes (linux/if_ether.h).
pub const ETH_P_ALL: u16 = 3;

/// `struct tpacket_req3`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct RingRequest {
    pub block_size: u32,
    pub blocks: u32,
    pub frame_size: u32,
    pub frames: u32,
    /// In milliseconds.
    pub block_timeout: u32,
    pub private_size: u32,
    pub features: u32,
}

/// `struct tpacket_stats_v3`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Statistics {
    pub packets: u32,
    pub drops: u32,
    pub freezes: u32,
}

/// `struct packet_mreq`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Membership {
    pub interface: i32,
    pub kind: u16,
    pub address_len: u16,
    pub address: [u8; 8],
}

/// A type that is plain bytes without padding, in which every value is valid.
///
/// # Safety
/// It must be.
pub unsafe trait Plain: Copy + Default {}

// SAFETY: numbers have no padding.
unsafe impl Plain for i32 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: seven numbers of four bytes.
unsafe impl Plain for RingRequest {}
// SAFETY: three numbers of four bytes.
unsafe impl Plain for Statistics {}
// SAFETY: 4, 2, 2 and 8 bytes, in an alignment of 4.
unsafe impl Plain for Membership {}

/// `struct sock_fprog` (linux/filter.h).
#[repr(C)]
struct Program {
    len: u16,
    instructions: *const Instruction,
}

// `struct sock_filter` (linux/filter.h).
const _: () = assert!(size_of::<Instruction>() == 8 && offset_of!(Instruction, k) == 4);

/// Sets an option of a packet socket.
pub fn set<T: Plain>(socket: impl AsFd, option: i32, value: T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of the value, which lives until the call returns and is plain.
    unsafe { set_raw(socket, libc::SOL_PACKET, option, &value) }
}

/// Reads an option of a packet socket.
pub fn get<T: Plain>(socket: impl AsFd, option: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes of the value, which lives until the call returns and may have
    // any bytes.
    let got = unsafe {
        let value = (&raw mut value).cast();
        libc::getsockopt(socket.as_fd().as_raw_fd(), libc::SOL_PACKET, option, value, &raw mut length)
    };
    done(got).map(|()| value)
}

/// Attaches a filter to a socket, in place of the one that it has (SO_ATTACH_FILTER, socket(7)).
///
/// # Errors
/// When the kernel refuses the program.
pub fn attach_filter(socket: impl AsFd, program: &[Instruction]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = Program { len, instructions: program.as_ptr() };
    // SAFETY: the kernel reads a `struct sock_fprog` and as many instructions as it says, which both live until the
    // call returns, and copies them.
    unsafe { set_raw(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program) }
}

/// # Safety
/// The option must read no more than `T`, and only memory that `T` may point to.
unsafe fn set_raw<T>(socket: impl AsFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the caller ensures it.
    done(unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, (&raw const *value).cast(), length) })
}

/// An address of a packet socket; 0 stands for any interface and for no protocol.
pub const fn link_address(interface: u32, protocol: u16) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: interface as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

const ADDRESS_LEN: libc::socklen_t = size_of::<libc::sockaddr_ll>() as libc::socklen_t;

/// Binds a packet socket to an interface and a protocol.
pub fn bind(socket: impl AsFd, interface: u32, protocol: u16) -> io::Result<()> {
    let address = link_address(interface, protocol);
    // SAFETY: the kernel reads an address of this length, which lives until the call returns.
    done(unsafe { libc::bind(socket.as_fd().as_raw_fd(), (&raw const address).cast(), ADDRESS_LEN) })
}

/// The address that a packet socket is bound to. Its interface is -1 once that was removed.
pub fn bound_to(socket: impl AsFd) -> io::Result<libc::sockaddr_ll> {
    let mut address = link_address(0, 0);
    let mut length = ADDRESS_LEN;
    // SAFETY: the kernel writes at most `length` bytes of the address, which lives until the call returns and is plain.
    let got = unsafe { libc::getsockname(socket.as_fd().as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
    done(got).map(|()| address)
}

/// Sends a packet on an interface without link headers.
pub fn send_packet(socket: impl AsFd, packet: &[u8], interface: u32, protocol: u16) -> io::Result<()> {
    let address = link_address(interface, protocol);
    // SAFETY: the kernel reads the packet and an address of this length, which both live until the call returns.
    let sent = unsafe {
        let address = (&raw const address).cast();
        libc::sendto(socket.as_fd().as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0, address, ADDRESS_LEN)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn done(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
