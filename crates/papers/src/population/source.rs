//! Captured packets as a capture that can be read more than once.

use recoup_trace::read::{CapturedPacket, Counts, PacketSource, ReadError};
use std::sync::Arc;

/// Reads packets that are in memory.
#[derive(Clone, Debug)]
pub struct InMemory {
    packets: Arc<[CapturedPacket]>,
    next: usize,
    counts: Counts,
}

impl InMemory {
    /// Reads these packets from the first.
    pub fn new(packets: Vec<CapturedPacket>) -> Self {
        Self { packets: packets.into(), next: 0, counts: Counts::default() }
    }
}

impl PacketSource for InMemory {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        let packet = self.packets.get(self.next)?;
        self.next += 1;
        self.counts.frames += 1;
        self.counts.packets += 1;
        Some(packet)
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn taken(&self) -> u64 {
        self.next as u64
    }

    fn size(&self) -> Option<u64> {
        Some(self.packets.len() as u64)
    }

    fn name(&self) -> &str {
        "simulated"
    }

    fn stop(self) -> Result<Counts, ReadError> {
        Ok(self.counts)
    }
}
