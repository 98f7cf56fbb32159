//! Receives frames from blocks, and sends.

use super::{
    LinkLayer, PacketSocketOptions, RingFrame, RingStatistics, VlanTag,
    memory::RingMemory,
    open,
    options::{self, Statistics},
};
use crate::{NetError, clock::timespec};
use recoup_units::Instant;
use recoup_wire::bpf::Framing;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{SendFlags, netdevice::index_to_name, send, sockopt::socket_error},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

/// `struct tpacket3_hdr` and the `struct sockaddr_ll` behind it (linux/if_packet.h).
const HEADER: usize = 48 + 20;

/// The tag's EtherType is beside the frame (TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID).
const VLAN_VALID: u32 = 1 << 4;
const VLAN_PROTOCOL_VALID: u32 = 1 << 6;

/// `sll_pkttype` (linux/if_packet.h).
const TO_THIS_HOST: u8 = 0;
const OUTGOING: u8 = 4;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// EtherTypes of VLAN tags.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// A packet socket that receives through memory shared with the kernel.
#[derive(Debug)]
pub struct PacketRing {
    pub(super) socket: OwnedFd,
    pub(super) memory: RingMemory,
    pub(super) name: Option<String>,
    /// The index of its interface; 0 for all interfaces.
    pub(super) index: u32,
    pub(super) framing: Framing,
    pub(super) block_timeout: Duration,
    /// The next block to read.
    pub(super) block: usize,
    /// Frames of that block that are not read yet, and where the next one is. None are left before the block is opened.
    pub(super) left: u32,
    pub(super) at: usize,
}

/// What a ring has to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Frames.
    Frames,
    /// Nothing before the time was over.
    Nothing,
    /// The interface went down. Frames come again when it is up.
    Down,
    /// The interface was removed, or moved to another namespace. Frames that were received before may follow within
    /// the block timeout.
    Gone,
}

impl PacketRing {
    /// Receives from the interface of this name in the calling thread's network namespace; `None`: from all of its
    /// interfaces. The ring may then be used by any thread.
    ///
    /// # Errors
    /// An unknown interface, missing rights, or too little memory.
    pub fn open(interface: Option<&str>, options: &PacketSocketOptions) -> Result<Self, NetError> {
        open::open(interface, options)
    }

    /// As [`open`](Self::open), with several rings that share the frames. One ring has all packets of a connection.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_group(
        interface: Option<&str>,
        options: &PacketSocketOptions,
        count: usize,
    ) -> Result<Vec<Self>, NetError> {
        open::open_group(interface, options, count)
    }

    /// The name of its interface; `None` if it receives from all interfaces.
    pub fn interface(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The index of its interface; 0 if it receives from all interfaces.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Where its frames begin.
    pub const fn framing(&self) -> Framing {
        self.framing
    }

    /// The longest time that a frame waits in a block that is not full.
    pub const fn block_timeout(&self) -> Duration {
        self.block_timeout
    }

    /// The name that an interface of the ring's namespace has now.
    pub fn name_of(&self, interface: u32) -> Option<String> {
        index_to_name(&self.socket, interface).ok()
    }

    /// Hands out the frames of the next block that the kernel has handed over, in order, and returns how many. Never
    /// waits: 0 if there is no such block.
    pub fn drain(&mut self, mut take: impl FnMut(RingFrame<'_>)) -> usize {
        let end = Instant::from_nanos(u64::MAX);
        // A block may have only frames that are passed over.
        while self.open_block() {
            match self.drain_until(end, usize::MAX, &mut take) {
                0 => {}
                count => return count,
            }
        }
        0
    }

    /// When the kernel saw the next frame; `None` if no block with frames is there.
    pub(super) fn head_at(&mut self) -> Option<Instant> {
        while self.open_block() {
            let block = self.memory.block(self.block).unwrap_or_default();
            match Slot::at(block, self.at) {
                Some(slot) if !slot.is_repeated() => return Some(slot.time()),
                slot => self.pass(slot.map(|slot| slot.next_offset())),
            }
        }
        None
    }

    /// Hands out at most `most` frames of one block, up to the first one that the kernel saw after `bound`. Returns how
    /// many.
    pub(super) fn drain_until(&mut self, bound: Instant, most: usize, take: &mut impl FnMut(RingFrame<'_>)) -> usize {
        if !self.open_block() {
            return 0;
        }
        let block = self.memory.block(self.block).unwrap_or_default();
        let mut count = 0;
        while self.left > 0 && count < most {
            let Some(slot) = Slot::at(block, self.at) else {
                // The kernel writes no such block.
                self.left = 0;
                break;
            };
            if slot.time() > bound {
                return count;
            }
            if !slot.is_repeated() {
                take(slot.frame(self.framing));
                count += 1;
            }
            self.left -= 1;
            self.at += slot.next_offset();
        }
        self.close_block();
        count
    }

    /// Ensures that there is a frame to read, if the kernel has handed over a block with any.
    fn open_block(&mut self) -> bool {
        while self.left == 0 {
            let Some(block) = self.memory.block(self.block) else {
                return false;
            };
            // `num_pkts` and `offset_to_first_pkt` of `struct tpacket_hdr_v1`.
            self.left = number(block, 12);
            self.at = number(block, 16) as usize;
            self.close_block();
        }
        true
    }

    /// Gives the block back if none of its frames are left.
    fn close_block(&mut self) {
        if self.left == 0 {
            self.memory.give_back(self.block);
            self.block = (self.block + 1) % self.memory.blocks();
        }
    }

    /// Passes over a frame; `None`: over the rest of the block.
    fn pass(&mut self, next_offset: Option<usize>) {
        match next_offset {
            Some(offset) => {
                self.left -= 1;
                self.at += offset;
            }
            None => self.left = 0,
        }
        self.close_block();
    }

    /// Waits until the kernel has handed over a block, the interface changes or `most` has passed.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn wait(&self, most: Duration) -> io::Result<Readiness> {
        let mut watched = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut watched, Some(&timespec(most))) {
            Ok(0) | Err(Errno::INTR) => return Ok(Readiness::Nothing),
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        let ready = watched[0].revents();
        if ready.contains(PollFlags::ERR)
            && let Some(change) = self.change()?
        {
            return Ok(change);
        }
        Ok(if ready.contains(PollFlags::IN) { Readiness::Frames } else { Readiness::Nothing })
    }

    /// What happened to the interface, once poll(2) has reported an error.
    pub(super) fn change(&self) -> io::Result<Option<Readiness>> {
        match socket_error(&self.socket)? {
            Ok(()) => Ok(None),
            // The kernel reports both in the same way (`packet_notifier` in net/packet/af_packet.c).
            Err(Errno::NETDOWN) if self.is_removed()? => Ok(Some(Readiness::Gone)),
            Err(Errno::NETDOWN) => Ok(Some(Readiness::Down)),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether its interface was removed. The kernel reports no error if it was down before.
    pub(super) fn is_removed(&self) -> io::Result<bool> {
        Ok(options::bound_to(&self.socket)?.sll_ifindex < 0)
    }

    /// What the kernel counted since the last call.
    ///
    /// # Errors
    /// When the system call fails.
    pub fn take_statistics(&mut self) -> io::Result<RingStatistics> {
        let Statistics { packets, drops, freezes } = options::get(&self.socket, options::PACKET_STATISTICS)?;
        Ok(RingStatistics { frames: packets.into(), dropped: drops.into(), times_full: freezes.into() })
    }

    /// Sends a frame on the ring's interface: with its Ethernet header, or an IP packet if the interface has no such
    /// headers. It is at most as long as the MTU and that header.
    ///
    /// # Errors
    /// When the ring receives from all interfaces, the packet is not IP, the interface is down, or its queue is full.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        if self.framing == Framing::Ethernet {
            send(&self.socket, frame, SendFlags::empty())?;
            return Ok(());
        }
        let ether_type = match frame.first().map(|first| first >> 4) {
            _ if self.index == 0 => return Err(io::ErrorKind::Unsupported.into()),
            Some(4) => IPV4,
            Some(6) => IPV6,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        options::send_packet(&self.socket, frame, self.index, ether_type)
    }
}

impl AsFd for PacketRing {
    /// For poll(2). It is ready to read once the kernel has handed over a block that was not read yet.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A number of a block's header; 0 beyond its end.
#[inline]
fn number(block: &[u8], at: usize) -> u32 {
    block.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

/// A frame with the kernel's headers.
#[derive(Clone, Copy)]
struct Slot<'a> {
    header: &'a [u8; HEADER],
    /// From the header to the end of the block.
    bytes: &'a [u8],
}

impl<'a> Slot<'a> {
    #[inline]
    fn at(block: &'a [u8], at: usize) -> Option<Self> {
        let bytes = block.get(at..)?;
        Some(Self { header: bytes.first_chunk()?, bytes })
    }

    #[inline]
    fn u32(&self, at: usize) -> u32 {
        let h = self.header;
        u32::from_ne_bytes([h[at], h[at + 1], h[at + 2], h[at + 3]])
    }

    #[inline]
    fn u16(&self, at: usize) -> u16 {
        u16::from_ne_bytes([self.header[at], self.header[at + 1]])
    }

    /// `tp_next_offset`.
    #[inline]
    fn next_offset(&self) -> usize {
        self.u32(0) as usize
    }

    /// `tp_sec` and `tp_nsec`.
    #[inline]
    fn time(&self) -> Instant {
        Instant::from_nanos(u64::from(self.u32(4)) * 1_000_000_000 + u64::from(self.u32(8)))
    }

    /// `sll_hatype`.
    #[inline]
    fn is_loopback(&self) -> bool {
        self.u16(56) == libc::ARPHRD_LOOPBACK
    }

    /// Whether the same packet comes again, when the loopback interface receives it.
    #[inline]
    fn is_repeated(&self) -> bool {
        self.header[58] == OUTGOING && self.is_loopback()
    }

    #[inline]
    fn frame(&self, framing: Framing) -> RingFrame<'a> {
        // `tp_snaplen`, `tp_len`, `tp_status`, `tp_mac` and `tp_net`.
        let (captured, on_wire, status) = (self.u32(12) as usize, self.u32(16) as usize, self.u32(20));
        let start = usize::from(self.u16(if framing == Framing::Ethernet { 24 } else { 26 }));
        let data = self.bytes.get(start..).unwrap_or_default();
        let data = data.get(..captured).unwrap_or(data);
        // `tp_vlan_tci` and `tp_vlan_tpid`.
        let vlan = (status & VLAN_VALID != 0).then(|| VlanTag {
            protocol: if status & VLAN_PROTOCOL_VALID != 0 { self.u16(36) } else { TAGS[0] },
            control: self.u32(32) as u16,
        });
        let link = match framing {
            Framing::Ethernet => LinkLayer::Ethernet,
            // `sll_protocol`.
            Framing::Network => LinkLayer::Network(inner(u16::from_be(self.u16(50)), data, on_wire)),
        };
        // `sll_pkttype`.
        let outgoing = match self.header[58] {
            _ if self.is_loopback() => None,
            OUTGOING => Some(true),
            TO_THIS_HOST => Some(false),
            _ => None,
        };
        RingFrame { interface: self.u32(52), link, outgoing, at: self.time(), vlan, data, on_wire }
    }
}

/// The EtherType of a packet. For a packet that this host sends with a VLAN tag in the frame, kernels before 6.10 give
/// the tag's EtherType, although the packet begins behind the tag. A packet whose IP header fits shows that.
fn inner(ether_type: u16, packet: &[u8], on_wire: usize) -> u16 {
    if !TAGS.contains(&ether_type) {
        return ether_type;
    }
    match *packet {
        [first @ 0x45..=0x4f, _, high, low, ..] => {
            let length = usize::from(u16::from_be_bytes([high, low]));
            let fits = (4 * usize::from(first & 15)..=on_wire).contains(&length);
            if fits { IPV4 } else { ether_type }
        }
        [0x60..=0x6f, _, _, _, high, low, ..] if 40 + usize::from(u16::from_be_bytes([high, low])) <= on_wire => IPV6,
        _ => ether_type,
    }
}
