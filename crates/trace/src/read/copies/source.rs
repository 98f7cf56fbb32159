//! A source of packets in which copies are messages.

use super::{CopyFinder, SentCopy, Taken};
use crate::read::{CapturedPacket, Counts, Packet, PacketSource, ReadError};

/// Reads packets, of which copies become [messages](crate::read::Message::Copy).
#[derive(Debug)]
pub struct WithoutCopies<S> {
    source: S,
    finder: CopyFinder,
    given_out: CapturedPacket,
}

impl<S: PacketSource> WithoutCopies<S> {
    /// Finds these copies in what `source` reads.
    pub fn new(source: S, copies: &[SentCopy]) -> Self {
        Self { source, finder: CopyFinder::new(copies), given_out: CapturedPacket::from(&Packet::default()) }
    }
}

impl<S: PacketSource> PacketSource for WithoutCopies<S> {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        loop {
            self.given_out = *self.source.next_or_message()?;
            if self.finder.take(&mut self.given_out) != Taken::LeftOut {
                return Some(&self.given_out);
            }
        }
    }

    fn next_into(&mut self, packet: &mut Packet) -> bool {
        while self.source.next_into(packet) {
            if !self.finder.concerns(packet.headers.ports) {
                return true;
            }
            let mut full = CapturedPacket::from(&*packet);
            match self.finder.take(&mut full) {
                Taken::AsItIs => return true,
                Taken::Changed => {
                    *packet = Packet::from(&full);
                    return true;
                }
                Taken::LeftOut => {}
            }
        }
        false
    }

    /// Those of the source.
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
        let mut counts = self.source.stop()?;
        counts.copies = Some(self.finder.copies);
        Ok(counts)
    }
}
