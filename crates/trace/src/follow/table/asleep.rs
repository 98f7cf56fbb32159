//! Silent connections, packed to save memory while they wait for more packets.
//!
//! Of a hundred thousand open connections most are silent at a time. The state of one takes up several kilobytes, so that each
//! packet is taken fast. Packed, it takes up an eighth. It is unpacked when a packet of its ends comes, and is then what it was.

use super::{ConnectionTable, KeepingCost, TableEntry};
use crate::{
    follow::connection::{Attention, ConnectionState},
    memory::allocated,
};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::time::Duration;

/// A connection that was silent for this long may be packed: its next packet is probably not among those that wait.
const SILENT: Duration = Duration::from_millis(10);

/// Packed connections, by slot.
#[derive(Debug, Default)]
pub(super) struct Asleep(HashMap<u32, Box<Packed>, RandomState>);

/// A packed connection, and what is asked of it without unpacking it.
#[derive(Debug)]
struct Packed {
    ends: Endpoints,
    last: Instant,
    first_frame: u64,
    state: Box<[u8]>,
}

impl Packed {
    /// In bytes, with its part of the map, which is half empty at times.
    fn memory(&self) -> usize {
        2 * size_of::<(u32, Box<Self>)>() + allocated(size_of::<Self>()) + allocated(self.state.len())
    }

    /// The connection. Its bytes were made of one, so there is one.
    fn unpacked(&self) -> Option<Box<ConnectionState>> {
        squeeze::unsqueezed(&self.state, |state| postcard::from_bytes(state).ok())
    }
}

impl Asleep {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ends of the connection in `slot`, if it is packed.
    pub fn ends(&self, slot: u32) -> Option<&Endpoints> {
        self.0.get(&slot).map(|packed| &packed.ends)
    }

    /// When its last packet came.
    pub fn last(&self, slot: u32) -> Option<Instant> {
        self.0.get(&slot).map(|packed| packed.last)
    }

    /// Cost of keeping each.
    pub fn keeping_costs(&self) -> impl Iterator<Item = KeepingCost> {
        self.0.iter().map(|(slot, packed)| KeepingCost {
            last: packed.last,
            first_frame: packed.first_frame,
            over: false,
            slot: *slot,
            memory: packed.memory(),
        })
    }
}

impl ConnectionTable {
    /// Cost of keeping the connections that may be packed. There are none unless connections are [looked at](Self::look): an
    /// analysis that is saved has none that is packed.
    pub fn drowsy(&self) -> impl Iterator<Item = KeepingCost> {
        let may_sleep = self.looks.is_some() && self.points.is_empty();
        let awake = may_sleep.then(|| self.awake_costs());
        awake.into_iter().flatten().filter(|cost| self.may_sleep(cost.slot))
    }

    /// Whether nothing but a packet changes the connection in `slot`, and nobody asks for it.
    fn may_sleep(&self, slot: u32) -> bool {
        let is_touched = self.looks.as_ref().is_none_or(|looks| looks.is_touched(slot));
        let is_quiet = |open: &ConnectionState| {
            self.now.since(open.last) >= SILENT
                && open.number.get().is_some()
                && open.attention == Attention::Followed
                && !(open.is_over() || open.is_half_open() || open.in_pair || open.has_rows())
        };
        !is_touched && self.get(slot).is_some_and(is_quiet)
    }

    /// Packs the connection in `slot`.
    pub fn pack(&mut self, slot: u32) {
        let Some(open) = self.get(slot) else { return };
        let Some(state) = postcard::to_allocvec(open).ok().and_then(|state| squeeze::squeezed(&state)) else { return };
        let (ends, last, first_frame) = (open.shared.endpoints, open.last, open.first_frame());
        let packed = Box::new(Packed { ends, last, first_frame, state });
        self.memory = self.memory.saturating_sub(open.counted_memory()).saturating_add(packed.memory());
        self.slots[slot as usize] = None;
        self.asleep.0.insert(slot, packed);
    }

    /// Unpacks the connections that a packet with this hash may be of.
    #[cold]
    pub(super) fn wake_all_of(&mut self, hash: u64) {
        let tag = TableEntry::tag(hash);
        let entries = self.entries.iter_hash(hash).filter(|entry| entry.tag == tag);
        let slots: Vec<u32> = entries.map(|entry| entry.slot).collect();
        slots.into_iter().for_each(|slot| self.wake(slot));
    }

    /// Unpacks the connection in `slot`, if it is packed.
    pub(super) fn wake(&mut self, slot: u32) {
        let Some(packed) = self.asleep.0.remove(&slot) else { return };
        self.memory = self.memory.saturating_sub(packed.memory());
        if let Some(mut open) = packed.unpacked() {
            self.memory = self.memory.saturating_add(open.counted_memory());
            self.memory = self.memory.saturating_add_signed(open.count_memory());
            self.slots[slot as usize] = Some(open);
        }
    }
}

/// Compresses a state. A context for each would take longer than the work.
#[cfg(not(target_family = "wasm"))]
mod squeeze {
    use std::cell::RefCell;
    use zstd::bulk::{Compressor, Decompressor};

    /// The fastest level of those that find repeated bytes well.
    const LEVEL: i32 = 1;

    /// No state has more bytes. Larger ones stay as they are.
    const MOST: usize = 1 << 16;

    thread_local! {
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
        static DECOMPRESSOR: RefCell<Option<(Decompressor<'static>, Vec<u8>)>> = const { RefCell::new(None) };
    }

    pub fn squeezed(bytes: &[u8]) -> Option<Box<[u8]>> {
        if bytes.len() > MOST {
            return None;
        }
        COMPRESSOR.with_borrow_mut(|made| {
            let compressor = match made {
                Some(made) => made,
                None => made.insert(Compressor::new(LEVEL).ok()?),
            };
            compressor.compress(bytes).ok().map(Into::into)
        })
    }

    /// What `read` makes of the bytes, which are in the same place each time.
    pub fn unsqueezed<T>(bytes: &[u8], read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        DECOMPRESSOR.with_borrow_mut(|made| {
            let (decompressor, room) = match made {
                Some(made) => made,
                None => made.insert((Decompressor::new().ok()?, Vec::with_capacity(MOST))),
            };
            decompressor.decompress_to_buffer(bytes, room).ok()?;
            read(room)
        })
    }
}

/// There, nothing is live, so nothing is packed.
#[cfg(target_family = "wasm")]
mod squeeze {
    pub fn squeezed(bytes: &[u8]) -> Option<Box<[u8]>> {
        Some(bytes.into())
    }

    pub fn unsqueezed<T>(bytes: &[u8], read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        read(bytes)
    }
}
