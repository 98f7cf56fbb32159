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

/// The blocks of a ring, mapped.
#[derive(Debug)]
pub struct RingMemory(Blocks);

impl RingMemory {
    /// Maps the ring of a socket that has this many blocks.
    pub fn map(socket: impl AsFd, blocks: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an unused place, and keeps the memory until it is unmapped, even if the socket is
        // closed first.
        let start = unsafe { mmap(ptr::null_mut(), blocks * BLOCK, access, MapFlags::SHARED, socket, 0) }?;
        Ok(Self(Blocks { start: start.cast(), count: blocks }))
    }

    /// How many blocks there are.
    pub const fn blocks(&self) -> usize {
        self.0.count
    }

    /// A block, if the kernel has handed it over.
    #[inline]
    pub fn block(&self, index: usize) -> Option<&[u8]> {
        self.0.block(index)
    }

    /// Returns a block to the kernel.
    #[inline]
    pub fn give_back(&mut self, index: usize) {
        self.0.give_back(index);
    }
}

/// Blocks, wherever they are. Apart from the mapping, so that Miri can check what is done with them.
#[derive(Debug)]
struct Blocks {
    /// `count` blocks of [`BLOCK`] bytes, which nothing else in this process points to, aligned to 8 bytes.
    start: *mut u8,
    count: usize,
}

// SAFETY: the memory belongs to the process and not to a thread, and only this value points to it.
unsafe impl Send for Blocks {}

impl Blocks {
    #[inline]
    fn block(&self, index: usize) -> Option<&[u8]> {
        if self.status(index)?.load(Ordering::Acquire) & READY == 0 {
            return None;
        }
        // SAFETY: the block is among them (`status` checked it), and the kernel does not write to a block that it has handed
        // over. `give_back` needs the value exclusively, so the slice is gone by then.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(index * BLOCK), BLOCK) })
    }

    #[inline]
    fn give_back(&mut self, index: usize) {
        if let Some(status) = self.status(index) {
            status.store(RETURNED, Ordering::Release);
        }
    }

    #[inline]
    fn status(&self, index: usize) -> Option<&AtomicU32> {
        if index >= self.count {
            return None;
        }
        // SAFETY: it is within the block and aligned to 8 bytes. The kernel and this process access it atomically.
        Some(unsafe { AtomicU32::from_ptr(self.start.add(index * BLOCK + STATUS).cast()) })
    }
}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made above, and nothing points to it any more. If unmapping fails, the memory
        // stays until the process ends.
        let _ = unsafe { munmap(self.0.start.cast(), self.0.count * BLOCK) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_there_while_it_is_this_processs() {
        const COUNT: usize = 2;
        let mut memory = vec![0_u64; COUNT * BLOCK / 8];
        let start: *mut u8 = memory.as_mut_ptr().cast();
        let mut blocks = Blocks { start, count: COUNT };
        assert!((0..3).all(|index| blocks.block(index).is_none()));
        // The kernel writes a frame at the end of the second block, and hands the block over.
        // SAFETY: both are within the memory, which nobody reads now.
        unsafe {
            start.add(2 * BLOCK - 1).write(7);
            AtomicU32::from_ptr(start.add(BLOCK + STATUS).cast()).store(READY, Ordering::Release);
        }
        assert!(blocks.block(0).is_none() && blocks.block(2).is_none());
        assert_eq!(blocks.block(1).and_then(|block| block.last().copied()), Some(7));
        blocks.give_back(1);
        blocks.give_back(2);
        assert!(blocks.block(1).is_none());
    }
}
