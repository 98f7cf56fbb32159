//! The bytes of a frame that a reader needs to find its IP packets, for programs that write the frame again without the
//! others.
//!
//! Headers below and between IP packets have many fields. `link` and `tunnel` mark those that say where the IP packet
//! is or which network it belongs to. A header whose bytes are not marked is blank in what is written, and then is read as
//! no such header: what is forgotten here is lost, and does not leak.

use std::ops::Range;

/// Learns what the bytes of a frame are.
pub(super) trait Marks {
    /// These bytes say where the IP packet is, or which network it belongs to.
    fn keep(&mut self, bytes: Range<usize>);

    /// Six bytes from here are a hardware address.
    fn hardware(&mut self, at: usize);

    /// An IP packet begins here, which had `on_wire` bytes.
    fn ip(&mut self, at: usize, on_wire: usize);

    /// For places that count from `by`.
    #[inline(always)]
    fn behind(&mut self, by: usize) -> Behind<'_, Self>
    where
        Self: Sized,
    {
        Behind { marks: self, by }
    }
}

/// Nobody learns anything.
impl Marks for () {
    #[inline(always)]
    fn keep(&mut self, _: Range<usize>) {}

    #[inline(always)]
    fn hardware(&mut self, _: usize) {}

    #[inline(always)]
    fn ip(&mut self, _: usize, _: usize) {}
}

/// Marks for places that count from another one.
#[derive(Debug)]
pub(super) struct Behind<'m, M> {
    marks: &'m mut M,
    by: usize,
}

impl<M: Marks> Marks for Behind<'_, M> {
    #[inline(always)]
    fn keep(&mut self, bytes: Range<usize>) {
        self.marks.keep(self.by + bytes.start..self.by + bytes.end);
    }

    #[inline(always)]
    fn hardware(&mut self, at: usize) {
        self.marks.hardware(self.by + at);
    }

    #[inline(always)]
    fn ip(&mut self, at: usize, on_wire: usize) {
        self.marks.ip(self.by + at, on_wire);
    }
}

/// A part of a frame. All places count from the frame's first byte, and may lie behind its last captured one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// These bytes say where the IP packet is, or which network it belongs to.
    Needed(Range<usize>),
    /// Six bytes from here are a hardware address.
    Hardware(usize),
    /// An IP packet: its first byte, and its length on the wire.
    Ip(usize, usize),
}

impl Marks for Vec<Part> {
    fn keep(&mut self, bytes: Range<usize>) {
        self.push(Part::Needed(bytes));
    }

    fn hardware(&mut self, at: usize) {
        self.push(Part::Hardware(at));
    }

    fn ip(&mut self, at: usize, on_wire: usize) {
        self.push(Part::Ip(at, on_wire));
    }
}
