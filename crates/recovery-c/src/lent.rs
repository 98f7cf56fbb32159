//! Memory of the host: where the parts of a sender lie in it.
//!
//! ```text
//! Handle | outstanding segments | those that wait for retransmission | packets given up lately
//! ```
//! The number of segments is rounded up to a power of two, as their ring needs it.

use crate::abi::MOST_OUTSTANDING;
use crate::handle::Handle;
use core::mem::{align_of, size_of};
use recoup_recovery::{GivenUpPacket, SentSegment, Storage};

/// The most packets that a sender remembers after they were given up.
const MOST_GIVEN_UP: usize = 1024;

/// The alignment of the memory, in bytes.
pub const ALIGNMENT: usize = {
    let parts = [align_of::<Handle>(), align_of::<SentSegment>(), align_of::<Word>(), align_of::<GivenUpPacket>()];
    let (mut most, mut i) = (1, 0);
    while i < parts.len() {
        most = if parts[i] > most { parts[i] } else { most };
        i += 1;
    }
    most
};

/// The unit of what waits for retransmission.
type Word = u64;

/// Several values of one type, one after another.
#[derive(Clone, Copy)]
struct Part {
    offset: usize,
    count: usize,
}

/// The layout of the memory of one sender.
#[derive(Clone, Copy)]
pub struct Layout {
    segments: Part,
    waiting: Part,
    given_up: Part,
    /// All bytes.
    pub size: usize,
}

impl Layout {
    /// The layout for `most` outstanding segments. `None` if that is out of range, or more than the address space.
    pub fn of(most: u32) -> Option<Self> {
        if !(1..=MOST_OUTSTANDING).contains(&most) {
            return None;
        }
        let slots = usize::try_from(most.next_power_of_two()).ok()?;
        let mut size = size_of::<Handle>();
        let segments = part::<SentSegment>(&mut size, slots)?;
        let waiting = part::<Word>(&mut size, Storage::words_for(slots))?;
        let given_up = part::<GivenUpPacket>(&mut size, slots.min(MOST_GIVEN_UP))?;
        (size <= isize::MAX as usize).then_some(Self { segments, waiting, given_up, size })
    }

    /// The memory at `memory`, apart from the `Handle`.
    ///
    /// # Safety
    /// `memory` is a multiple of [`ALIGNMENT`]. [`size`](Self::size) bytes can be read and written there. Nobody else
    /// uses them as long as the results are used.
    pub unsafe fn split(self, memory: *mut u8) -> (Storage, &'static mut [GivenUpPacket]) {
        // SAFETY: the caller's duty, and the parts do not overlap.
        let segments = unsafe { fresh::<SentSegment>(memory, self.segments) };
        // SAFETY: the same.
        let waiting = unsafe { fresh::<Word>(memory, self.waiting) };
        // SAFETY: the same.
        let given_up = unsafe { fresh::<GivenUpPacket>(memory, self.given_up) };
        (Storage::lent(segments, waiting), given_up)
    }
}

/// Appends `count` values of type `T` to memory that has `size` bytes so far.
fn part<T>(size: &mut usize, count: usize) -> Option<Part> {
    let offset = size.checked_next_multiple_of(align_of::<T>())?;
    *size = offset.checked_add(count.checked_mul(size_of::<T>())?)?;
    Some(Part { offset, count })
}

/// Default values at `part` of the memory at `memory`.
///
/// # Safety
/// As for [`Layout::split`], for this part.
unsafe fn fresh<T: Default>(memory: *mut u8, part: Part) -> &'static mut [T] {
    let first = memory.wrapping_add(part.offset).cast::<T>();
    for index in 0..part.count {
        // SAFETY: inside the memory of the caller, and aligned: `memory` and `offset` are multiples of the alignment
        // of `T`. It has no destructor that would have to run before.
        unsafe { first.wrapping_add(index).write(T::default()) };
    }
    // SAFETY: all values were written just now, and the caller says that nobody else uses them.
    unsafe { core::slice::from_raw_parts_mut(first, part.count) }
}
