//! What a capture held, and what of it could not be read.

use std::fmt;
use std::time::Duration;

/// How many, and which was the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many frames.
    pub count: u64,
    /// The first of them; 0 when there is none.
    pub first_frame: u64,
}

impl Tally {
    fn add(&mut self, frame: u64) {
        if self.count == 0 {
            self.first_frame = frame;
        }
        self.count += 1;
    }
}

/// Why a frame gives no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It carries no IP: ARP, a router's greetings.
    NotIp,
    /// It is IP, and carries something else.
    NotTcp,
    /// It is no packet: a journal entry, a block of somebody's own (pcapng).
    NotPacket,
    /// It is a fragment of an IP packet; fragments are not put together again.
    Fragment,
    /// Too little of it was captured to hold the TCP header, or too little was there.
    Cut,
    /// Its IP header is impossible.
    IpHeader,
    /// Its TCP header is impossible.
    TcpHeader,
    /// It has no time: pcapng's simple packets.
    NoTime,
    /// Nothing describes its interface (pcapng).
    NoInterface,
    /// Its interface's clock is finer than 64 bits can tell, or described wrongly (pcapng).
    NoClock,
    /// Its link type is none of those that are read.
    LinkType,
    /// Its record contradicts itself: a packet longer than the block around it (pcapng).
    Record,
}

impl Reason {
    /// All of them, in the order of the enum.
    pub const ALL: [Self; 12] = [
        Self::NotIp,
        Self::NotTcp,
        Self::NotPacket,
        Self::Fragment,
        Self::Cut,
        Self::IpHeader,
        Self::TcpHeader,
        Self::NoTime,
        Self::NoInterface,
        Self::NoClock,
        Self::LinkType,
        Self::Record,
    ];

    /// Whether it may hide a segment, or something is wrong: other traffic does neither.
    pub const fn matters(self) -> bool {
        !matches!(self, Self::NotIp | Self::NotTcp | Self::NotPacket)
    }
}

impl fmt::Display for Reason {
    /// In a few words, behind "left out 3 frames: ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotIp => "no IP",
            Self::NotTcp => "no TCP",
            Self::NotPacket => "no packet",
            Self::Fragment => "an IP fragment",
            Self::Cut => "cut before the end of the TCP header",
            Self::IpHeader => "an impossible IP header",
            Self::TcpHeader => "an impossible TCP header",
            Self::NoTime => "without a time (pcapng's simple packet block)",
            Self::NoInterface => "of an interface that was not described",
            Self::NoClock => "of an interface whose time resolution has no use",
            Self::LinkType => "of an unknown link type",
            Self::Record => "a packet longer than its record",
        })
    }
}

/// What is odd about a segment that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Oddity {
    /// Its time lay before 1970, after 2554 or past its second, and was moved to the nearest there is.
    Time,
    /// Its IP header claims more bytes than the frame had.
    Overlong,
    /// Its options end early: the capture cut them, or one is malformed.
    Options,
}

impl Oddity {
    /// All of them, in the order of the enum.
    pub const ALL: [Self; 3] = [Self::Time, Self::Overlong, Self::Options];
}

impl fmt::Display for Oddity {
    /// In a few words, behind "3 segments: ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "an impossible time, moved to the nearest possible",
            Self::Overlong => "an IP length beyond the frame",
            Self::Options => "TCP options cut or malformed",
        })
    }
}

/// Stamps that cannot be when their packets passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Those from which on the clock was another, mostly one set back: time goes on there all the same.
    pub set: Steps,
    /// Those alone far from their neighbours, with which their packets are taken to have passed.
    pub astray: Steps,
}

/// How many such stamps, and how far the first was off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// How many, and which was the first.
    pub frames: Tally,
    /// How far the first was from the latest before it.
    pub first_by: Duration,
}

impl Steps {
    #[cold]
    pub(crate) fn add(&mut self, frame: u64, by: Duration) {
        if self.frames.count == 0 {
            self.first_by = by;
        }
        self.frames.add(frame);
    }

    /// What a user should know of it, in a line; nothing where there are none.
    fn note(&self, what: &str) -> Option<String> {
        let Tally { count, first_frame } = self.frames;
        let frames = match count {
            0 => return None,
            1 => format!("frame {first_frame}"),
            _ => format!("{count} frames, the first of them {first_frame}"),
        };
        let by = self.first_by.as_secs_f64();
        Some(format!("{frames}: {by:.3} s {what}"))
    }
}

impl Clock {
    fn notes(&self) -> impl Iterator<Item = String> {
        let set = "off the frame before, as if the clock was set: time goes on from there";
        let astray = "off the frames on both sides: taken to have passed with them";
        let notes = [self.set.note(set), self.astray.note(astray)];
        notes.into_iter().flatten()
    }
}

/// How a capture ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Behind a whole record.
    #[default]
    Whole,
    /// Within a record.
    Cut {
        /// Where that record begins, in bytes of the unpacked capture.
        offset: u64,
    },
    /// It makes no sense from here.
    Damaged {
        /// Where, in bytes of the unpacked capture.
        offset: u64,
        /// What stands there, and what was expected.
        what: String,
    },
    /// It cannot be read or unpacked further.
    Unreadable {
        /// The last record begun, in bytes of the unpacked capture.
        offset: u64,
        /// What the system says.
        why: String,
    },
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the capture is whole"),
            Self::Cut { .. } => f.write_str("the capture ends within a packet"),
            Self::Damaged { offset, what } => write!(f, "damaged at byte {offset}: {what}"),
            Self::Unreadable { why, .. } => write!(f, "cannot be read further: {why}"),
        }
    }
}

/// What a capture held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records, numbered as Wireshark does.
    pub frames: u64,
    /// TCP segments.
    pub packets: u64,
    /// Packets the capturing host dropped, as the capture says; `None` when it does not (pcap).
    pub dropped: Option<u64>,
    /// How it ended, once read to its end.
    pub ending: Ending,
    /// What is odd about its stamps, once analyzed.
    pub clock: Clock,
    /// The first link type that is not read.
    pub(super) unknown_link: Option<i32>,
    skipped: [Tally; Reason::ALL.len()],
    odd: [Tally; Oddity::ALL.len()],
}

impl Counts {
    /// Frames without a segment for this reason.
    pub fn skipped(&self, reason: Reason) -> Tally {
        self.skipped[reason as usize]
    }

    /// Segments read that have this about them.
    pub fn odd(&self, oddity: Oddity) -> Tally {
        self.odd[oddity as usize]
    }

    /// What a user should know, a line each: what was left out though it may have mattered, what
    /// is odd, and how the capture ended unless as it should.
    pub fn notes(&self) -> Vec<String> {
        let line = |tally: Tally, left_out: &str, what: &dyn fmt::Display| match tally {
            Tally { count: 0, .. } => None,
            Tally {
                count: 1,
                first_frame,
            } => Some(format!("{left_out}frame {first_frame}: {what}")),
            Tally { count, first_frame } => Some(format!(
                "{left_out}{count} frames, the first of them {first_frame}: {what}"
            )),
        };
        let skipped = Reason::ALL.iter().filter(|reason| reason.matters());
        let skipped = skipped.filter_map(|r| line(self.skipped(*r), "left out ", r));
        let odd = Oddity::ALL.iter();
        let odd = odd.filter_map(|o| line(self.odd(*o), "", o));
        let ending = match &self.ending {
            Ending::Whole => None,
            other => Some(format!("after frame {}: {other}", self.frames)),
        };
        (skipped.chain(odd))
            .chain(self.clock.notes())
            .chain(ending)
            .collect()
    }

    /// The frame counted last gives no segment.
    #[inline]
    pub(super) fn skip(&mut self, reason: Reason) {
        self.skipped[reason as usize].add(self.frames);
    }

    /// The frame counted last is odd.
    #[cold]
    pub(super) fn note(&mut self, oddity: Oddity) {
        self.odd[oddity as usize].add(self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_lists_is_that_of_the_enums() {
        for (i, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, i, "{reason}");
        }
        for (i, oddity) in Oddity::ALL.into_iter().enumerate() {
            assert_eq!(oddity as usize, i, "{oddity}");
        }
    }

    #[test]
    fn notes_take_a_line_each() {
        let mut counts = Counts::default();
        assert_eq!(counts.notes(), [""; 0]);
        for reason in [Reason::NotTcp, Reason::Cut, Reason::Fragment, Reason::Cut] {
            counts.frames += 1;
            counts.skip(reason);
        }
        counts.note(Oddity::Time);
        counts.clock.set.add(3, Duration::from_secs(3600));
        counts.clock.set.add(4, Duration::from_secs(2));
        counts.clock.astray.add(2, Duration::from_millis(1500));
        counts.ending = Ending::Cut { offset: 900 };
        assert_eq!(
            counts.notes(),
            [
                "left out frame 3: an IP fragment",
                "left out 2 frames, the first of them 2: cut before the end of the TCP header",
                "frame 4: an impossible time, moved to the nearest possible",
                "2 frames, the first of them 3: 3600.000 s off the frame before, as if the clock was \
                 set: time goes on from there",
                "frame 2: 1.500 s off the frames on both sides: taken to have passed with them",
                "after frame 4: the capture ends within a packet",
            ]
        );
    }
}
