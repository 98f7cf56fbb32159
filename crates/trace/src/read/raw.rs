//! The records of a capture with their bytes, for programs that write it again.

use super::{
    CapturedPacket, Counts, ReadError, Reason,
    frames::{Frame, Frames},
    link::Link,
    marks::Part,
    packet::Packet,
    records::{RecordSink, Records},
};
use recoup_units::Instant;
use std::{
    io::{self, Read},
    mem,
    path::Path,
};
use thiserror::Error;

/// A record of a capture, or the beginning of a capture among several in a file.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one value at a time")]
pub enum RawRecord<'a> {
    /// A classic capture begins. Its frames have this link type.
    Classic(i32),
    /// A section of pcapng begins.
    Section,
    /// The next interface of the section, counted from 0, has this link type.
    Interface(i32),
    /// At the end of the section: this interface dropped this many packets.
    Dropped(u32, u64),
    /// A frame.
    Frame(RawFrame<'a>),
    /// A record of pcapng that is numbered as a frame, but holds none that can be read.
    NoFrame(Reason),
}

/// A frame of a capture.
#[derive(Debug)]
pub struct RawFrame<'a> {
    /// When it was captured: the nearest possible time if the record's is impossible.
    pub at: Instant,
    /// The number of its link type.
    pub link: i32,
    /// The interface of its pcapng section, from 0; 0 in a classic capture.
    pub interface: u32,
    /// Whether the capturing host sent it (`true`) or received it, if the record says so.
    pub outgoing: Option<bool>,
    /// The captured bytes.
    pub data: &'a [u8],
    /// Its length on the wire in bytes: at least that of `data`.
    pub on_wire: usize,
    /// The segment or ICMP message in it, or why it is neither.
    pub content: Result<CapturedPacket, Reason>,
    /// Its parts, from the outermost to the innermost packet, as far as they were read. Parts of what turned out to be
    /// something else may be among them.
    pub parts: &'a [Part],
}

/// Why a capture cannot be written again.
#[derive(Debug, Error)]
pub enum RewriteError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its records were not taken.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Reads the records of a capture, one after another.
#[derive(Debug)]
pub struct RawReader<'a>(Records<'a, Waiting>);

/// Keeps the events of one step until they are taken.
#[derive(Debug, Default)]
struct Waiting {
    frames: Frames,
    events: Vec<Event>,
    link_types: Vec<i32>,
    /// The frame's bytes and parts; reused.
    data: Vec<u8>,
    parts: Vec<Part>,
}

/// As [`RawRecord`], without borrowed bytes.
#[derive(Debug)]
enum Event {
    Classic(i32),
    Section,
    Interface(i32),
    Dropped(u32, u64),
    Frame(FrameEvent),
    NoFrame(Reason),
}

#[derive(Debug)]
struct FrameEvent {
    at: Instant,
    interface: u32,
    outgoing: Option<bool>,
    on_wire: usize,
    content: Result<CapturedPacket, Reason>,
}

impl RecordSink for Waiting {
    fn begins(&mut self, link: Option<i32>) {
        self.link_types.clear();
        self.link_types.extend(link);
        self.events.push(link.map_or(Event::Section, Event::Classic));
    }

    fn interface(&mut self, link: i32) {
        self.link_types.push(link);
        self.events.push(Event::Interface(link));
    }

    fn dropped(&mut self, interface: u32, count: u64) {
        self.frames.dropped(interface, count);
        self.events.push(Event::Dropped(interface, count));
    }

    fn skip(&mut self, reason: Reason) {
        self.frames.skip(reason);
        self.events.push(Event::NoFrame(reason));
    }

    fn frame(&mut self, frame: Frame<'_>, packet: &mut Packet) -> bool {
        self.data.clear();
        self.data.extend(frame.data);
        self.parts.clear();
        let read = self.frames.read(frame, packet, &mut self.parts);
        self.events.push(Event::Frame(FrameEvent {
            at: frame.at.unwrap_or_else(|nearest| nearest),
            interface: frame.interface,
            outgoing: frame.outgoing,
            on_wire: frame.on_wire.max(frame.data.len()),
            content: read.map(|()| CapturedPacket::from(&*packet)),
        }));
        read.is_ok()
    }
}

impl RawReader<'static> {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Records::open(path, Waiting::default()).map(Self)
    }
}

impl<'a> RawReader<'a> {
    /// Reads `input`, which messages call `name`.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn new(name: &str, input: impl Read + Send + 'a) -> Result<Self, ReadError> {
        Records::new(name, input, Waiting::default()).map(Self)
    }

    /// The size of the file in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        self.0.size
    }

    /// Gives all records to `take`, each with the number of bytes read so far, compressed if the capture is. Returns the
    /// counts of its frames.
    ///
    /// # Errors
    /// The first error of `take`, or a capture that has frames, but none of a known link type.
    pub fn each(mut self, mut take: impl FnMut(RawRecord<'_>, u64) -> io::Result<()>) -> Result<Counts, RewriteError> {
        let mut packet = Packet::default();
        let mut events = Vec::new();
        loop {
            mem::swap(&mut events, &mut self.0.sink.events);
            for event in events.drain(..) {
                take(self.0.sink.record(event), self.0.taken())?;
            }
            if self.0.ending.is_some() {
                break;
            }
            self.0.step_once(&mut packet);
        }
        // The last step may have ended a section.
        for event in mem::take(&mut self.0.sink.events) {
            take(self.0.sink.record(event), self.0.taken())?;
        }
        let counts = self.0.sink.frames.into_counts(self.0.ending);
        Ok(counts.of_known_link(self.0.name)?)
    }
}

impl Waiting {
    /// The record of an event. One step reads one frame at most, whose bytes and parts are still here.
    fn record(&self, event: Event) -> RawRecord<'_> {
        match event {
            Event::Classic(link) => RawRecord::Classic(link),
            Event::Section => RawRecord::Section,
            Event::Interface(link) => RawRecord::Interface(link),
            Event::Dropped(interface, count) => RawRecord::Dropped(interface, count),
            Event::NoFrame(reason) => RawRecord::NoFrame(reason),
            Event::Frame(FrameEvent { at, interface, outgoing, on_wire, content }) => RawRecord::Frame(RawFrame {
                at,
                link: self.link_types.get(interface as usize).copied().unwrap_or_default(),
                interface,
                outgoing,
                data: &self.data,
                on_wire,
                content,
                parts: &self.parts,
            }),
        }
    }
}

/// Reads single frames as a capture's are read.
#[derive(Debug, Default)]
pub struct FrameReader(Frames);

impl FrameReader {
    /// The segment or ICMP message in a frame of `on_wire` bytes, or why it is neither. Its time is 0, its interface the
    /// first one.
    ///
    /// # Errors
    /// If it is neither.
    pub fn read(&mut self, link: i32, data: &[u8], on_wire: usize) -> Result<CapturedPacket, Reason> {
        let frame = Frame {
            at: Ok(Instant::ZERO),
            link: Link::of(link).ok_or(link),
            interface: 0,
            outgoing: None,
            data,
            on_wire,
        };
        let mut packet = Packet::default();
        self.0.read(frame, &mut packet, &mut ())?;
        Ok(CapturedPacket::from(&packet))
    }
}

#[cfg(test)]
mod tests;
