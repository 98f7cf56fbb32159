//! Packets of a capture that can be read only once, kept for a second look at them.

use recoup_trace::read::{CapturedPacket, Counts, Packet, PacketSource, ReadError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most packets kept. They take up to 250 MB.
const MOST_PACKETS: usize = 1 << 20;

/// Packets kept from a reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(Arc<Mutex<Packets>>);

#[derive(Debug, Default)]
struct Packets {
    kept: Vec<Packet>,
    left_out: u64,
}

impl Memory {
    fn packets(&self) -> MutexGuard<'_, Packets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, packet: &Packet) {
        let mut packets = self.packets();
        match packets.kept.len() < MOST_PACKETS {
            true => packets.kept.push(*packet),
            false => packets.left_out += 1,
        }
    }

    /// How many packets were kept, if there were more.
    pub fn kept_of_more(&self) -> Option<usize> {
        let packets = self.packets();
        (packets.left_out > 0).then_some(packets.kept.len())
    }

    /// Reads the packets that were kept. `counts` are those of the reading.
    pub fn recall(&self, counts: Counts) -> Recalled {
        let kept = std::mem::take(&mut self.packets().kept);
        Recalled { kept: kept.into_iter(), packet: CapturedPacket::from(&Packet::default()), counts }
    }
}

/// Reads a capture and keeps its packets.
#[derive(Debug)]
pub(crate) struct Remembering<S> {
    pub source: S,
    pub memory: Memory,
}

impl<S: PacketSource> PacketSource for Remembering<S> {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        let packet = self.source.next_or_message()?;
        self.memory.keep(&Packet::from(packet));
        Some(packet)
    }

    fn next_into(&mut self, packet: &mut Packet) -> bool {
        let found = self.source.next_into(packet);
        if found {
            self.memory.keep(packet);
        }
        found
    }

    fn counts(&self) -> &Counts {
        self.source.counts()
    }

    fn taken(&self) -> u64 {
        self.source.taken()
    }

    fn size(&self) -> Option<u64> {
        self.source.size()
    }

    fn name(&self) -> &str {
        self.source.name()
    }

    fn stop(self) -> Result<Counts, ReadError> {
        self.source.stop()
    }
}

/// Reads packets that were kept.
#[derive(Debug)]
pub(crate) struct Recalled {
    kept: std::vec::IntoIter<Packet>,
    packet: CapturedPacket,
    counts: Counts,
}

impl Recalled {
    /// Reads these packets.
    pub fn of(packets: &[CapturedPacket], counts: Counts) -> Self {
        let kept: Vec<Packet> = packets.iter().map(Packet::from).collect();
        Self { kept: kept.into_iter(), packet: CapturedPacket::from(&Packet::default()), counts }
    }
}

impl PacketSource for Recalled {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        self.packet = CapturedPacket::from(&self.kept.next()?);
        Some(&self.packet)
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn taken(&self) -> u64 {
        0
    }

    fn size(&self) -> Option<u64> {
        None
    }

    fn name(&self) -> &str {
        ""
    }

    fn stop(self) -> Result<Counts, ReadError> {
        Ok(self.counts)
    }
}
