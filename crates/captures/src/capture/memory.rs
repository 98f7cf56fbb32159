//! Packets of a capture that can be read only once, kept for a second look at them.

use recoup_trace::read::{CapturedPacket, Counts, Packet, PacketSource, ReadError, Reader};
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
    /// How many packets a second reading had.
    recalled: Option<usize>,
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

    /// How many packets the second reading had, if there were more.
    pub fn recalled_of_more(&self) -> Option<usize> {
        let packets = self.packets();
        packets.recalled.filter(|_| packets.left_out > 0)
    }

    /// Reads the packets that were kept. `counts` are those of the reading.
    pub fn recall(&self, counts: Counts) -> Recalled {
        let mut packets = self.packets();
        packets.recalled = Some(packets.kept.len());
        Recalled::new(std::mem::take(&mut packets.kept), counts)
    }
}

/// Reads a stream and keeps its packets.
#[derive(Debug)]
pub(crate) struct Remembering<'a> {
    pub source: Box<Reader<'a>>,
    pub memory: Memory,
}

impl PacketSource for Remembering<'_> {
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
    pub fn of(packets: &[CapturedPacket]) -> Self {
        let mut counts = Counts::default();
        counts.frames = packets.len() as u64;
        counts.packets = counts.frames;
        counts.first_frame_at = packets.first().map(|packet| packet.at);
        Self::new(packets.iter().map(Packet::from).collect(), counts)
    }

    fn new(kept: Vec<Packet>, counts: Counts) -> Self {
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
