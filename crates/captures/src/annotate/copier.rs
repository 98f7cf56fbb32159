//! The copy of a capture: blocks of pcapng as they are but for added comments, frames of pcap as pcapng.

use crate::pcapng::{SectionWriter, WrittenFrame};
use recoup_trace::read::CopiedFrame;
use std::io::{self, Write};

/// The type of a section header block.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// The byte-order magic of a big-endian section.
const BIG_ENDIAN: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
/// Where the length of a section stands in its header, and the length that says nothing.
const SECTION_LENGTH: std::ops::Range<usize> = 16..24;
const UNKNOWN_LENGTH: [u8; 8] = [0xff; 8];
/// The types of blocks with a packet and options: enhanced packet block, and packet block, which is obsolete.
const PACKETS: [u32; 2] = [6, 2];
/// Where a packet's captured length and its bytes stand in these blocks.
const CAPTURED_LENGTH: usize = 20;
const DATA: usize = 28;
/// The option with a comment (draft-ietf-opsawg-pcapng §3.5).
const COMMENT: u16 = 1;

/// Writes the copy.
pub(super) struct Copier<W: Write> {
    out: Option<Out<W>>,
    /// What the section says of numbers.
    big_endian: bool,
    /// What becomes of the frame whose block follows.
    pending: Pending,
    /// Comments written.
    comments: u64,
}

enum Out<W: Write> {
    /// Blocks are copied.
    Blocks(W),
    /// Frames of pcap are written.
    Frames(SectionWriter<W>),
}

#[derive(Debug, Default, PartialEq)]
enum Pending {
    #[default]
    Nothing,
    /// Its block gets these comments.
    Comments(Vec<String>),
    /// Its block is left out.
    LeaveOut,
}

impl<W: Write> Copier<W> {
    pub fn new(out: W) -> Self {
        Self { out: Some(Out::Blocks(out)), big_endian: false, pending: Pending::Nothing, comments: 0 }
    }

    /// How many comments were written. A simple packet block has no room for one.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// The output, to begin something else.
    fn take_out(&mut self) -> io::Result<W> {
        match self.out.take() {
            Some(Out::Blocks(out)) => Ok(out),
            Some(Out::Frames(writer)) => Ok(writer.into_inner()),
            None => Err(io::Error::other("a header could not be written")),
        }
    }

    /// A classic capture of this link type begins: a section with one interface.
    pub fn classic(&mut self, link: i32) -> io::Result<()> {
        let mut writer = SectionWriter::begin(self.take_out()?)?;
        writer.interface(link)?;
        self.out = Some(Out::Frames(writer));
        Ok(())
    }

    /// A frame, with these comments. In pcapng its block follows.
    pub fn frame(&mut self, frame: &CopiedFrame<'_>, comments: Vec<String>) -> io::Result<()> {
        let Some(Out::Frames(writer)) = &mut self.out else {
            self.pending = if comments.is_empty() { Pending::Nothing } else { Pending::Comments(comments) };
            return Ok(());
        };
        self.comments += comments.len() as u64;
        let &CopiedFrame { at, data, on_wire, .. } = frame;
        writer.frame(&WrittenFrame { interface: 0, at, outgoing: None, data, on_wire }, comments)
    }

    /// A frame is left out. In pcapng its block follows.
    pub fn leave_out(&mut self) -> io::Result<()> {
        if let Some(Out::Blocks(_)) = self.out {
            self.pending = Pending::LeaveOut;
        }
        Ok(())
    }

    /// A block, or a part of one, as it is.
    pub fn block(&mut self, bytes: &[u8]) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        if bytes.starts_with(&SECTION) && bytes.len() >= SECTION_LENGTH.end {
            return self.section(bytes);
        }
        match pending {
            Pending::LeaveOut => Ok(()),
            Pending::Comments(comments) => {
                let Some(longer) = self.with_comments(bytes, &comments) else {
                    return self.write(bytes);
                };
                self.comments += comments.len() as u64;
                self.write(&longer)
            }
            Pending::Nothing => self.write(bytes),
        }
    }

    /// The header of a section, whose length is not known any more.
    fn section(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.big_endian = bytes[8..12] == BIG_ENDIAN;
        let out = self.take_out()?;
        self.out = Some(Out::Blocks(out));
        let mut header = bytes.to_vec();
        header[SECTION_LENGTH].copy_from_slice(&UNKNOWN_LENGTH);
        self.write(&header)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.out {
            Some(Out::Blocks(out)) => out.write_all(bytes),
            _ => Err(io::Error::other("a block of pcapng outside of a section")),
        }
    }

    /// A packet's block with comments before its other options. `None` if it has no room for them.
    fn with_comments(&self, block: &[u8], comments: &[String]) -> Option<Vec<u8>> {
        let word = |at: usize| -> Option<u32> {
            let bytes: [u8; 4] = block.get(at..at + 4)?.try_into().ok()?;
            Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
        };
        if !PACKETS.contains(&word(0)?) {
            return None;
        }
        let captured = word(CAPTURED_LENGTH)? as usize;
        let options_at = DATA + captured.next_multiple_of(4);
        let end = block.len().checked_sub(4)?;
        let options = block.get(options_at..end)?;
        let mut longer = Vec::with_capacity(block.len() + comments.iter().map(|c| c.len() + 8).sum::<usize>() + 4);
        longer.extend_from_slice(&block[..options_at]);
        for comment in comments {
            let comment = comment.as_bytes();
            let len = u16::try_from(comment.len()).ok()?;
            for half in [COMMENT, len] {
                longer.extend(if self.big_endian { half.to_be_bytes() } else { half.to_le_bytes() });
            }
            longer.extend_from_slice(comment);
            longer.resize(longer.len().next_multiple_of(4), 0);
        }
        match options.is_empty() {
            // The end of options.
            true => longer.extend([0; 4]),
            false => longer.extend_from_slice(options),
        }
        let length = u32::try_from(longer.len() + 4).ok()?;
        let length = if self.big_endian { length.to_be_bytes() } else { length.to_le_bytes() };
        longer[4..8].copy_from_slice(&length);
        longer.extend(length);
        Some(longer)
    }
}
