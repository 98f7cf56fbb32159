//! The latest frames, in bounded memory, to be saved or looked at.

use recoup_captures::pcapng::{SectionWriter, WrittenFrame};
use recoup_trace::read::{CapturedPacket, DeviceFrame, FrameDecoder, Packet};
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// Frames are kept in blocks of this many bytes, which are forgotten as a whole.
const BLOCK: usize = 1 << 18;

/// Link types of pcapng: Ethernet, and IP packets.
const ETHERNET: i32 = 1;
const RAW: i32 = 101;

/// The latest frames. A clone shares them, so that it is made at once.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    blocks: VecDeque<Arc<Block>>,
    most_bytes: usize,
    most_time: Duration,
}

#[derive(Clone, Debug, Default)]
struct Block {
    frames: Vec<KeptFrame>,
    bytes: Vec<u8>,
}

/// A frame whose bytes follow those of the one before.
#[derive(Clone, Copy, Debug)]
struct KeptFrame {
    at: Instant,
    network: Option<u16>,
    interface: u32,
    outgoing: Option<bool>,
    len: u32,
    on_wire: u32,
}

impl Block {
    fn frames(&self) -> impl Iterator<Item = DeviceFrame<'_>> {
        let mut rest = &self.bytes[..];
        self.frames.iter().map(move |frame| {
            let (data, others) = rest.split_at(frame.len as usize);
            rest = others;
            let &KeptFrame { at, network, interface, outgoing, on_wire, .. } = frame;
            DeviceFrame { at, network, interface, outgoing, data, on_wire: on_wire as usize }
        })
    }
}

impl Kept {
    /// Keeps frames of this much time, as far as they fit into this many bytes; none if that is 0.
    pub fn new(most_bytes: usize, most_time: Duration) -> Self {
        Self { blocks: VecDeque::new(), most_bytes, most_time }
    }

    /// Keeps a frame.
    pub fn push(&mut self, frame: &DeviceFrame<'_>) {
        if self.most_bytes == 0 {
            return;
        }
        let is_full = self.blocks.back().is_none_or(|block| block.bytes.len() + frame.data.len() > BLOCK);
        if is_full {
            self.forget(frame.at);
            let bytes = Vec::with_capacity(BLOCK);
            self.blocks.push_back(Arc::new(Block { frames: Vec::new(), bytes }));
        }
        // Where a clone shares the last block, it is copied once.
        if let Some(block) = self.blocks.back_mut().map(Arc::make_mut) {
            block.bytes.extend_from_slice(frame.data);
            let &DeviceFrame { at, network, interface, outgoing, data, on_wire } = frame;
            let [len, on_wire] = [data.len(), on_wire].map(|len| u32::try_from(len).unwrap_or(u32::MAX));
            block.frames.push(KeptFrame { at, network, interface, outgoing, len, on_wire });
        }
    }

    /// Makes room for another block at this time.
    fn forget(&mut self, now: Instant) {
        let size = BLOCK + BLOCK / 4;
        while self.blocks.len() > 1 && (self.blocks.len() + 1) * size > self.most_bytes {
            self.blocks.pop_front();
        }
        let is_old = |block: &Arc<Block>| block.frames.last().is_none_or(|last| now.since(last.at) > self.most_time);
        while self.blocks.front().is_some_and(is_old) {
            self.blocks.pop_front();
        }
    }

    /// Whether frames are kept at all.
    pub fn is_on(&self) -> bool {
        self.most_bytes > 0
    }

    /// When the oldest frame was seen.
    pub fn since(&self) -> Option<Instant> {
        self.blocks.front()?.frames.first().map(|frame| frame.at)
    }

    /// Frames from this time on, in the order in which they came.
    pub fn frames(&self, from: Instant) -> impl Iterator<Item = DeviceFrame<'_>> {
        let is_new = move |block: &&Arc<Block>| block.frames.last().is_some_and(|last| last.at >= from);
        self.blocks.iter().filter(is_new).flat_map(|block| block.frames()).filter(move |frame| frame.at >= from)
    }

    /// The frames with TCP from this time on, each with its packet, numbered from 1 with all others counted.
    pub fn packets(&self, from: Instant) -> impl Iterator<Item = (DeviceFrame<'_>, CapturedPacket)> {
        let mut decoder = FrameDecoder::default();
        let mut packet = Packet::default();
        self.frames(from).filter_map(move |frame| {
            let is_tcp = decoder.decode(&frame, &mut packet);
            is_tcp.then(|| (frame, CapturedPacket::from(&packet)))
        })
    }

    /// Those of a connection alone.
    pub fn packets_of(
        &self,
        ends: Endpoints,
        from: Instant,
    ) -> impl Iterator<Item = (DeviceFrame<'_>, CapturedPacket)> {
        let is_its = move |found: Endpoints| found == ends || found == ends.reverse();
        self.packets(from).filter(move |(_, packet)| is_its(packet.endpoints))
    }

    /// Writes frames from this time on as pcapng, those of `ends` alone if there are any. Returns how many.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn save(&self, from: Instant, ends: Option<Endpoints>, out: impl Write) -> io::Result<u64> {
        let mut writer = Writer::begin(out)?;
        match ends {
            None => self.frames(from).try_for_each(|frame| writer.write(&frame))?,
            Some(ends) => self.packets_of(ends, from).try_for_each(|(frame, _)| writer.write(&frame))?,
        }
        writer.finish()
    }
}

/// Writes frames as pcapng.
pub struct Writer<W: Write> {
    section: SectionWriter<W>,
    /// The interfaces so far: index and link type. Their place is their number in the file.
    interfaces: Vec<(u32, i32)>,
    frames: u64,
}

impl<W: Write> Writer<W> {
    pub fn begin(out: W) -> io::Result<Self> {
        Ok(Self { section: SectionWriter::begin(out)?, interfaces: Vec::new(), frames: 0 })
    }

    pub fn write(&mut self, frame: &DeviceFrame<'_>) -> io::Result<()> {
        let link = if frame.network.is_none() { ETHERNET } else { RAW };
        let interface = self.interface((frame.interface, link))?;
        let &DeviceFrame { at, outgoing, data, on_wire, .. } = frame;
        self.frames += 1;
        self.section.frame(&WrittenFrame { interface, at, outgoing, data, on_wire }, Vec::new())
    }

    /// The number of an interface in the file, which is described first.
    fn interface(&mut self, interface: (u32, i32)) -> io::Result<u32> {
        let known = self.interfaces.iter().position(|known| *known == interface);
        let number = known.unwrap_or(self.interfaces.len());
        if known.is_none() {
            self.section.interface(interface.1)?;
            self.interfaces.push(interface);
        }
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    pub fn finish(self) -> io::Result<u64> {
        self.section.into_inner().flush()?;
        Ok(self.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_trace::read::Reader;

    /// An ACK from 192.0.2.1:40000 to 192.0.2.2:80, as an IP packet.
    const ACK: [u8; 40] = [
        0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1,
        0x50, 0x10, 1, 0, 0, 0, 0, 0,
    ];

    fn frame(at: u64, data: &[u8], network: Option<u16>) -> DeviceFrame<'_> {
        DeviceFrame { at: Instant::from_millis(at), network, interface: 3, outgoing: Some(true), data, on_wire: 1500 }
    }

    fn ethernet() -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes.extend([8, 0]);
        bytes.extend(ACK);
        bytes
    }

    #[test]
    fn what_is_saved_is_read_as_it_was_seen() {
        let mut kept = Kept::new(10 << 20, Duration::from_secs(60));
        let bytes = ethernet();
        kept.push(&frame(1000, &bytes, None));
        kept.push(&frame(1001, &ACK, Some(0x0800)));
        kept.push(&frame(1002, &bytes, None));
        let mut saved = Vec::new();
        assert_eq!(kept.save(Instant::from_millis(1001), None, &mut saved).unwrap(), 2);
        let mut reader = Reader::new("saved", &saved[..]).unwrap();
        let first = *reader.next().expect("a segment");
        assert_eq!((first.at, first.outgoing, first.interface), (Instant::from_millis(1001), Some(true), 0));
        let second = *reader.next().expect("a segment");
        assert_eq!((second.at, second.interface), (Instant::from_millis(1002), 1));
        assert_eq!(second.endpoints.to_string(), "192.0.2.1:40000 > 192.0.2.2:80");
        assert!(reader.next().is_none());
        let ends = first.endpoints;
        assert_eq!(kept.packets_of(ends.reverse(), Instant::ZERO).count(), 3);
        let others = Endpoints { src: ends.dst, dst: ends.dst };
        assert_eq!(kept.save(Instant::ZERO, Some(others), io::sink()).unwrap(), 0);
        assert_eq!(kept.save(Instant::ZERO, Some(ends), io::sink()).unwrap(), 3);
    }

    #[test]
    fn a_clone_has_the_frames_of_its_time() {
        let mut kept = Kept::new(10 << 20, Duration::from_secs(60));
        kept.push(&frame(1000, &ACK, Some(0x0800)));
        let then = kept.clone();
        kept.push(&frame(1001, &ACK, Some(0x0800)));
        assert_eq!([&then, &kept].map(|kept| kept.frames(Instant::ZERO).count()), [1, 2]);
    }

    #[test]
    fn the_oldest_frames_are_forgotten_first() {
        let bytes = ethernet();
        let mut bounded = Kept::new(2 << 20, Duration::from_secs(60));
        for at in 0..100_000 {
            bounded.push(&frame(at / 10, &bytes, None));
        }
        let since = bounded.since().expect("frames");
        assert!(since > Instant::ZERO);
        let count = bounded.frames(Instant::ZERO).count();
        assert!((20_000..40_000).contains(&count), "{count} frames of 54 bytes in 2 MiB");
        let mut old = Kept::new(100 << 20, Duration::from_secs(5));
        for at in 0..100_000 {
            old.push(&frame(at / 10, &bytes, None));
        }
        let since = old.since().expect("frames");
        assert!(Instant::from_millis(9_999).since(since) < Duration::from_secs(6));
        let mut none = Kept::default();
        none.push(&frame(0, &bytes, None));
        assert_eq!(none.since(), None);
    }
}
