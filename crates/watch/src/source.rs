//! Packets of interfaces, as a source of the analysis.

use crate::shared::Shared;
use recoup_net::{LinkLayer, MergedRings, RingEvent, RingFrame};
use recoup_trace::read::{CapturedPacket, Counts, DeviceFrame, FrameDecoder, Packet, PacketSource, ReadError};
use recoup_units::Instant;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Frames decoded at a time.
const BATCH: usize = 4096;

/// A source of packets that gives more later.
pub trait Source: PacketSource {
    /// Waits until there may be packets, something happens to an interface, or `most` has passed.
    ///
    /// # Errors
    /// When the system does not say.
    fn wait(&mut self, most: Duration) -> io::Result<Vec<RingEvent>>;

    /// No packet that was captured before this time will come.
    fn settled(&self) -> Instant;

    /// Whether there is nothing left to read from.
    fn is_over(&self) -> bool;

    /// What became of the source, once there is nothing left.
    fn gone(&self) -> &'static str;

    /// Frames that the system dropped since the last call.
    ///
    /// # Errors
    /// When the system does not say.
    fn take_dropped(&mut self) -> io::Result<u64>;
}

/// Reads interfaces. It is dry when all that is due was read, and gives more later.
pub struct LiveSource {
    rings: MergedRings,
    decoder: FrameDecoder,
    /// Packets that were decoded, from `next` on not given yet.
    decoded: Vec<Packet>,
    next: usize,
    given_out: CapturedPacket,
    name: String,
    /// When the rings were read last, and had no more.
    dry_at: Instant,
    bytes: u64,
    shared: Arc<Shared>,
}

impl LiveSource {
    /// Reads these rings. Frames are kept in what is shared.
    pub fn new(rings: MergedRings, name: String, shared: Arc<Shared>) -> Self {
        Self {
            rings,
            decoder: FrameDecoder::default(),
            decoded: Vec::with_capacity(BATCH),
            next: 0,
            given_out: CapturedPacket::from(&Packet::default()),
            name,
            dry_at: Instant::ZERO,
            bytes: 0,
            shared,
        }
    }

    /// Decodes the frames that are due. Returns whether there is a packet.
    fn refill(&mut self) -> bool {
        self.decoded.clear();
        self.next = 0;
        let (decoder, decoded, bytes) = (&mut self.decoder, &mut self.decoded, &mut self.bytes);
        loop {
            let now = now();
            let mut packet = Packet::default();
            let mut kept = self.shared.kept();
            let count = self.rings.drain(BATCH, |_, frame| {
                let frame = device_frame(&frame);
                *bytes += frame.on_wire as u64;
                kept.push(&frame);
                if decoder.decode(&frame, &mut packet) {
                    decoded.push(packet);
                }
            });
            if count < BATCH {
                self.dry_at = now;
            }
            if count == 0 || !decoded.is_empty() {
                return !decoded.is_empty();
            }
        }
    }
}

impl Source for LiveSource {
    fn wait(&mut self, most: Duration) -> io::Result<Vec<RingEvent>> {
        self.rings.wait(most)
    }

    fn settled(&self) -> Instant {
        let hold = u64::try_from(self.rings.hold().as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(self.dry_at.as_nanos().saturating_sub(hold))
    }

    fn is_over(&self) -> bool {
        self.rings.is_over()
    }

    fn gone(&self) -> &'static str {
        "no interface is left to watch"
    }

    fn take_dropped(&mut self) -> io::Result<u64> {
        let statistics = self.rings.take_statistics()?;
        self.decoder.on_dropped(statistics.dropped);
        Ok(statistics.dropped)
    }
}

fn device_frame<'a>(frame: &RingFrame<'a>) -> DeviceFrame<'a> {
    let &RingFrame { interface, link, outgoing, at, data, on_wire, .. } = frame;
    let network = match link {
        LinkLayer::Ethernet => None,
        LinkLayer::Network(ether_type) => Some(ether_type),
    };
    DeviceFrame { at, network, interface, outgoing, data, on_wire }
}

/// The time since 1970, by the clock of the frames.
pub fn now() -> Instant {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

impl PacketSource for LiveSource {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        let mut packet = Packet::default();
        if !self.next_into(&mut packet) {
            return None;
        }
        self.given_out = CapturedPacket::from(&packet);
        Some(&self.given_out)
    }

    #[inline]
    fn next_into(&mut self, packet: &mut Packet) -> bool {
        if self.next == self.decoded.len() && !self.refill() {
            return false;
        }
        *packet = self.decoded[self.next];
        self.next += 1;
        true
    }

    fn counts(&self) -> &Counts {
        self.decoder.counts()
    }

    fn taken(&self) -> u64 {
        self.bytes
    }

    fn size(&self) -> Option<u64> {
        None
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn stop(self) -> Result<Counts, ReadError> {
        Ok(self.decoder.counts().clone())
    }
}
