//! Packets for a TUN device, written in batches with one system call (io_uring(7)).
//!
//! A write(2) for each packet costs two things. The system call itself takes about a tenth of the time of a packet of 1500
//! bytes. And when it returns, the kernel may run the receiving process, which the packet woke: if both share a
//! processor, they take turns with every packet. The latter holds for super-packets, too.

use std::{
    fmt,
    io::{self, IoSlice},
    os::fd::{AsFd, AsRawFd},
};

use io_uring::{IoUring, opcode, types};

use crate::{Tun, VNET_HEADER_LEN};
use recoup_stack::device::Frame;

/// The most packets of a batch.
const PACKETS: usize = 64;

/// Packets that wait to be written to a TUN device without offloads.
pub(crate) struct WriteBatch {
    /// `None` where the kernel has none or refuses it: then packets are written one by one.
    ring: Option<IoUring>,
    /// [`PACKETS`] places of `longest` bytes.
    places: Box<[u8]>,
    longest: usize,
    /// The lengths of the packets that wait, in the first places.
    lengths: Vec<usize>,
}

impl fmt::Debug for WriteBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBatch").field("lengths", &self.lengths).finish_non_exhaustive()
    }
}

impl WriteBatch {
    /// For packets of up to `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self {
            ring: IoUring::new(PACKETS as u32).ok(),
            places: vec![0; PACKETS * longest].into_boxed_slice(),
            longest,
            lengths: Vec::with_capacity(PACKETS),
        }
    }

    /// Takes a packet that [`submit`](Self::submit) writes. Returns how many packets the device refused meanwhile.
    pub fn push(&mut self, tun: &Tun, packet: [&[u8]; 3]) -> u64 {
        let len = packet.iter().map(|part| part.len()).sum();
        if len > self.longest {
            // The device refuses it, too.
            return self.submit(tun) + 1;
        }
        let full = self.lengths.len() == PACKETS;
        let refused = if full { self.submit(tun) } else { 0 };
        let mut at = self.lengths.len() * self.longest;
        for part in packet {
            self.places[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.lengths.push(len);
        refused
    }

    /// Has room for packets of up to `longest` bytes from now on, if it had less. Returns how many packets the device
    /// refused meanwhile.
    pub fn grow(&mut self, tun: &Tun, longest: usize) -> u64 {
        if longest <= self.longest {
            return 0;
        }
        let refused = self.submit(tun);
        self.longest = longest;
        self.places = vec![0; PACKETS * longest].into_boxed_slice();
        refused
    }

    /// Writes the packets that wait, in order. Returns how many the device refused.
    pub fn submit(&mut self, tun: &Tun) -> u64 {
        let (written, mut refused) = self.submit_to_ring(tun);
        if written < self.lengths.len() {
            self.ring = None;
            let packets = self.places.chunks_exact(self.longest).zip(&self.lengths);
            for (place, &len) in packets.skip(written) {
                refused += u64::from(tun.write(&place[..len]).is_err());
            }
        }
        self.lengths.clear();
        refused
    }

    /// Returns how many packets the kernel has written or refused, and how many it refused.
    fn submit_to_ring(&mut self, tun: &Tun) -> (usize, u64) {
        let Some(ring) = &mut self.ring else {
            return (0, 0);
        };
        let fd = types::Fd(tun.as_fd().as_raw_fd());
        let mut queue = ring.submission();
        for (place, &len) in self.places.chunks_exact(self.longest).zip(&self.lengths) {
            let write = opcode::Write::new(fd, place.as_ptr(), len as u32);
            // The kernel writes the packet at once or refuses it.
            let write = write.rw_flags(libc::RWF_NOWAIT).build();
            // SAFETY: the kernel reads `len` bytes of `place`, which holds as many. The call below waits until it has, and
            // nothing changes `places` before. If the kernel takes no more, it has nothing that it took, because writes do not
            // wait. The descriptor is open for as long as `tun` is borrowed.
            let queued = unsafe { queue.push(&write) };
            debug_assert!(queued.is_ok(), "the ring has an entry for each place");
        }
        drop(queue);
        complete(ring, self.lengths.len())
    }
}

/// Writes super-packets to a TUN device with offloads, several with one system call.
pub(crate) struct SuperPackets {
    /// As [`WriteBatch::ring`].
    ring: Option<IoUring>,
}

/// The most super-packets of a system call.
const SUPER_PACKETS: usize = 8;

impl SuperPackets {
    pub fn new() -> Self {
        Self { ring: IoUring::new(SUPER_PACKETS as u32).ok() }
    }

    /// Writes packets, in order. Returns how many the device refused.
    pub fn write(&mut self, tun: &Tun, frames: &[Frame<'_>]) -> u64 {
        frames.chunks(SUPER_PACKETS).map(|frames| self.write_some(tun, frames)).sum()
    }

    fn write_some(&mut self, tun: &Tun, frames: &[Frame<'_>]) -> u64 {
        let (written, mut refused) = self.submit(tun, frames);
        if written < frames.len() {
            self.ring = None;
            for frame in &frames[written..] {
                refused += u64::from(tun.write_frame(&frame.header, frame.packet).is_err());
            }
        }
        refused
    }

    /// Returns how many packets the kernel has written or refused, and how many it refused.
    fn submit(&mut self, tun: &Tun, frames: &[Frame<'_>]) -> (usize, u64) {
        let Some(ring) = &mut self.ring else {
            return (0, 0);
        };
        let mut headers = [[0; VNET_HEADER_LEN]; SUPER_PACKETS];
        for (header, frame) in headers.iter_mut().zip(frames) {
            *header = frame.header.to_bytes();
        }
        let mut parts = [[IoSlice::new(&[]); 4]; SUPER_PACKETS];
        for ((parts, header), frame) in parts.iter_mut().zip(&headers).zip(frames) {
            let [first, second, third] = frame.packet.map(IoSlice::new);
            *parts = [IoSlice::new(header), first, second, third];
        }
        let fd = types::Fd(tun.as_fd().as_raw_fd());
        let mut queue = ring.submission();
        for parts in &parts[..frames.len().min(SUPER_PACKETS)] {
            let write = opcode::Writev::new(fd, parts.as_ptr().cast(), parts.len() as u32);
            // The kernel writes the packet at once or refuses it.
            let write = write.rw_flags(libc::RWF_NOWAIT).build();
            // SAFETY: an IoSlice is an iovec, of which the kernel reads four, and what they say. All of it outlives the call
            // below, which waits until the kernel has. If the kernel takes no more, it has nothing that it took, because
            // writes do not wait. The descriptor is open for as long as `tun` is borrowed.
            let queued = unsafe { queue.push(&write) };
            debug_assert!(queued.is_ok(), "the ring has an entry for each packet");
        }
        drop(queue);
        complete(ring, frames.len())
    }
}

impl fmt::Debug for SuperPackets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuperPackets").finish_non_exhaustive()
    }
}

/// Waits until the kernel has done `count` writes that were queued. Returns how many it has done, and how many of them it refused.
fn complete(ring: &mut IoUring, count: usize) -> (usize, u64) {
    let (mut written, mut refused) = (0, 0);
    while written < count {
        match ring.submit_and_wait(count - written) {
            Ok(_) => {}
            Err(e) if is_temporary(&e) => {}
            Err(_) => break,
        }
        for done in ring.completion() {
            written += 1;
            refused += u64::from(done.result() < 0);
        }
    }
    (written, refused)
}

/// Whether a system call is worth repeating.
fn is_temporary(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

#[cfg(test)]
mod tests;
