//! The memory of a ring. The kernel and this process own its blocks by turns.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::{
    io,
    os::fd::AsFd,
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};

/// The bytes of a block: a power of two, as the kernel allocates memory. At 256 bytes a frame it holds 750 of them, so
/// that a wakeup is rare at high rates.
pub const BLOCK: usize = 1 << 18;

/// Where a block says who owns it (`struct tpacket_block_desc` in linux/if_packet.h).
const STATUS: usize = 8;
/// The owner is this process (TP_STATUS_USER).
const READY: u32 = 1;
/// The owner is the kernel (TP_STATUS_KERNEL).
const RETURNED: u32 = 0;

/// The blocks of a ring.
#[derive(Debug)]
pub struct RingMemory {
    start: *mut u8,
    blocks: usize,
}

// SAFETY: the memory belongs to the process and not to a thread, and only this value points to it.
unsafe impl Send for RingMemory {}

impl RingMemory {
    /// Maps the ring of a socket that has this many blocks.
    pub fn map(socket: impl AsFd, blocks: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an unused place, and keeps the memory until it is unmapped, even if the socket is
        // closed first.
        let start = unsafe { mmap(ptr::null_mut(), blocks * BLOCK, access, MapFlags::SHARED, socket, 0) }?;
        Ok(Self { start: start.cast(), blocks })
    }

    /// How many blocks there are.
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// A block, if the kernel has handed it over.
    #[inline]
    pub fn block(&self, index: usize) -> Option<&[u8]> {
        if self.status(index)?.load(Ordering::Acquire) & READY == 0 {
            return None;
        }
        // SAFETY: the block is within the mapping (`status` checked it), and the kernel does not write to a block that
        // it has handed over. `give_back` needs the value exclusively, so the slice is gone by then.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(index * BLOCK), BLOCK) })
    }

    /// Returns a block to the kernel.
    #[inline]
    pub fn give_back(&mut self, index: usize) {
        if let Some(status) = self.status(index) {
            status.store(RETURNED, Ordering::Release);
        }
    }

    #[inline]
    fn status(&self, index: usize) -> Option<&AtomicU32> {
        if index >= self.blocks {
            return None;
        }
        // SAFETY: it is within the mapping and aligned to 8 bytes. The kernel and this process access it atomically.
        Some(unsafe { AtomicU32::from_ptr(self.start.add(index * BLOCK + STATUS).cast()) })
    }
}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made above, and nothing points to it any more. If unmapping fails, the memory
        // stays until the process ends.
        let _ = unsafe { munmap(self.start.cast(), self.blocks * BLOCK) };
    }
}
