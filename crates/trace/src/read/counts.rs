//! Counts of a capture's frames, and of those that could not be read.

use super::{CapturedCopies, ReadError, Tunnel, TunnelKind, joined::JoinedFiles, sniff::EMPTY};
use crate::finding::Inseparable;
use crate::qlog::QlogCounts;
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, fmt, mem::take, time::Duration};

/// A number of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameCount {
    /// How many frames.
    pub count: u64,
    /// The first of them; 0 if there is none.
    pub first_frame: u64,
}

impl FrameCount {
    /// How many, and the first of them; `None` if there are none.
    fn display(&self, files: &JoinedFiles) -> Option<String> {
        let first = files.display(self.first_frame);
        match self.count {
            0 => None,
            1 => Some(format!("frame {first}")),
            count => Some(format!("{count} frames, first frame {first}")),
        }
    }

    fn add(&mut self, frame: u64) {
        if self.count == 0 {
            self.first_frame = frame;
        }
        self.count += 1;
    }

    /// Adds frames of another capture. `place` gives the number of one of its frames here.
    fn append(&mut self, later: Self, place: impl Fn(u64) -> u64) {
        if later.count > 0 {
            let first = place(later.first_frame);
            self.first_frame = match self.count {
                0 => first,
                _ => self.first_frame.min(first),
            };
            self.count += later.count;
        }
    }
}

recoup_units::named! {
    /// Why a frame is no segment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Reason {
        /// It is UDP.
        Udp = "UDP",
        /// It is QUIC (RFC 9000).
        Quic = "QUIC, which is not TCP",
        /// It is DTLS (RFC 9147), which carries media, VPNs and more.
        Dtls = "DTLS, encrypted",
        /// It is ICMP.
        Icmp = "ICMP",
        /// It is IP, but none of the protocols above, and not TCP.
        NotTcp = "other IP protocols",
        /// It is ARP.
        Arp = "ARP",
        /// It is not IP, and not ARP.
        NotIp = "not IP",
        /// It is no packet, but a journal entry or custom block (pcapng).
        NotPacket = "not a packet",
        /// It is WireGuard, whose tunnels are encrypted.
        WireGuard = "WireGuard, encrypted",
        /// It is IPsec ESP (RFC 4303).
        Esp = "IPsec ESP, encrypted",
        /// It is OpenVPN.
        OpenVpn = "OpenVPN, encrypted",
        /// It is MACsec (IEEE 802.1AE).
        MacSec = "MACsec, encrypted",
        /// It is PPP that is compressed or encrypted (RFC 2118, RFC 3078).
        CompressedPpp = "PPP, compressed or encrypted",
        /// It is a tunnel that carries neither IP nor Ethernet, or in an unknown form.
        UnknownTunnel = "tunnels of unknown content",
        /// It is a fragment of an IP packet that carries a tunnel, without the inner headers.
        TunnelFragment = "IP fragments of tunnels, but for the first ones",
        /// It has more tunnels in each other than are entered.
        TooManyTunnels = "more than 8 tunnels in each other",
        /// It is a fragment of an IP packet. Fragments are not reassembled.
        Fragment = "IP fragment",
        /// It is too short, or was cut too short, for a TCP header.
        Cut = "cut before the end of the TCP header",
        /// Its IP header is invalid.
        IpHeader = "invalid IP header",
        /// Its TCP header is invalid.
        TcpHeader = "invalid TCP header",
        /// It has no time (a simple packet block of pcapng).
        NoTime = "no time (simple packet block of pcapng)",
        /// Its interface is not described (pcapng).
        NoInterface = "interface not described",
        /// Its interface's clock is too fine for 64 bits, or described wrongly (pcapng).
        NoClock = "interface with an unusable time resolution",
        /// Its link type is not supported.
        LinkType = "unknown link type",
        /// Its record contradicts itself: the packet is longer than its block (pcapng).
        Record = "packet longer than its record",
    }
}

impl Reason {
    /// Whether it may hide a segment or shows damage. Other traffic does neither.
    pub const fn matters(self) -> bool {
        !self.is_other_traffic() && !matches!(self, Self::NotPacket)
    }

    /// Whether it is a packet without TCP, as far as anyone can see.
    const fn is_other_traffic(self) -> bool {
        use Reason::*;
        matches!(self, Udp | Quic | Dtls | Icmp | NotTcp | Arp | NotIp)
    }

    /// Whether it says what a capture has that has no TCP.
    const fn is_named_instead_of_tcp(self) -> bool {
        self.is_other_traffic() || self.is_closed_tunnel()
    }

    /// Whether it may carry TCP in a tunnel that cannot be entered.
    pub const fn is_closed_tunnel(self) -> bool {
        use Reason::*;
        matches!(
            self,
            WireGuard | Esp | OpenVpn | MacSec | CompressedPpp | UnknownTunnel | TunnelFragment | TooManyTunnels
        )
    }
}

impl fmt::Display for Reason {
    /// A few words that follow "left out 3 frames: ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

recoup_units::named! {
    /// An oddity of a segment that was read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Oddity {
        /// Its time was before 1970, after 2554 or past the end of its second, and was moved to the
        /// nearest possible one.
        Time = "impossible time, replaced by the nearest possible one",
        /// Its IP header claims more bytes than the frame had.
        Overlong = "IP length exceeds the frame",
        /// Its options end early: the capture cut them, or one is malformed.
        Options = "TCP options cut or malformed",
        /// Its IP length counts the padding of a short Ethernet frame, which is no payload.
        Padding = "IP length counts padding, which is no payload",
    }
}

impl fmt::Display for Oddity {
    /// A few words that follow "3 segments: ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Timestamps that cannot be the time of their packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockAnomalies {
    /// The clock was set, usually back: time continues from there.
    pub set: Anomaly,
    /// Single timestamps far from their neighbours: the packet counts as captured together with
    /// those.
    pub outliers: Anomaly,
}

/// Frames with anomalous timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// The frames.
    pub frames: FrameCount,
    /// How far the first timestamp was from the latest before it.
    pub first_by: Duration,
}

impl Anomaly {
    #[cold]
    pub(crate) fn add(&mut self, frame: u64, by: Duration) {
        if self.frames.count == 0 {
            self.first_by = by;
        }
        self.frames.add(frame);
    }

    fn append(&mut self, later: Self, place: impl Fn(u64) -> u64) {
        if self.frames.count == 0 {
            self.first_by = later.first_by;
        }
        self.frames.append(later.frames, place);
    }

    /// A line for the user; `None` without frames.
    fn note(&self, what: &str, files: &JoinedFiles) -> Option<String> {
        let by = self.first_by.as_secs_f64();
        let frames = self.frames.display(files)?;
        Some(format!("{frames}: timestamp {by:.3} s {what}"))
    }
}

impl ClockAnomalies {
    /// Adds those of a later capture. `place` gives the number of one of its frames here.
    pub(crate) fn append(&mut self, later: &Self, place: impl Fn(u64) -> u64) {
        self.set.append(later.set, &place);
        self.outliers.append(later.outliers, &place);
    }

    fn notes(&self, files: &JoinedFiles) -> impl Iterator<Item = String> {
        let set = "away from the frame before, as if the clock was set: time continues from there";
        let outliers = "away from the frames on both sides: taken as captured with them";
        let notes = [self.set.note(set, files), self.outliers.note(outliers, files)];
        notes.into_iter().flatten()
    }
}

/// How a capture ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// After a complete record.
    #[default]
    Whole,
    /// Within a record.
    Cut {
        /// Where that record begins, in bytes of the decompressed capture.
        offset: u64,
    },
    /// It is damaged from here on.
    Damaged {
        /// Where, in bytes of the decompressed capture.
        offset: u64,
        /// The bytes found, and those expected.
        what: String,
    },
    /// It cannot be read or decompressed further.
    Unreadable {
        /// Where the last record begins, in bytes of the decompressed capture.
        offset: u64,
        /// The system's error message.
        why: String,
    },
    /// It is a file without a byte, to which nothing is written yet.
    Empty,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the capture is whole"),
            Self::Cut { .. } => f.write_str("the capture ends within a packet"),
            Self::Damaged { offset, what } => write!(f, "damaged at byte {offset}: {what}"),
            Self::Unreadable { why, .. } => write!(f, "cannot be read further: {why}"),
            Self::Empty => f.write_str(EMPTY),
        }
    }
}

/// Connections and packets that the settings of an analysis leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Connections with a packet in the time window that the filter leaves out.
    pub connections: u64,
    /// Their packets in the time window.
    pub packets: u64,
    /// Segments outside the time window.
    pub outside_window: u64,
}

impl LeftOut {
    /// Adds what was left out elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        self.connections = self.connections.saturating_add(other.connections);
        self.packets = self.packets.saturating_add(other.packets);
        self.outside_window = self.outside_window.saturating_add(other.outside_window);
    }
}

/// Counts of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Records, numbered as in Wireshark.
    pub frames: u64,
    /// The time of the first frame that has one, from which Wireshark counts; of joined files, of the earliest first
    /// frame.
    pub first_frame_at: Option<Instant>,
    /// TCP segments.
    pub packets: u64,
    /// Packets that the capturing host dropped; `None` if the capture does not say (pcap).
    pub dropped: Option<u64>,
    /// How it ended, once it is read.
    pub ending: Ending,
    /// Anomalies of its timestamps, once it is analyzed.
    pub clock: ClockAnomalies,
    /// Connections of a merged file that were left out because their capture points cannot be told
    /// apart, and the first of them; known once it is analyzed.
    pub inseparable: Option<(u64, Inseparable)>,
    /// Connections and packets left out by the user's choice; known once it is analyzed.
    pub left_out: LeftOut,
    /// ICMP messages that a TCP segment was too large for its path. The analysis uses them.
    pub path_mtu_messages: FrameCount,
    /// Segments by the innermost tunnel that they were captured in.
    in_tunnels: [FrameCount; TunnelKind::ALL.len()],
    /// Copies of segments that another program sent, if its log is known ([`WithoutCopies`](super::WithoutCopies)). A saved
    /// analysis does not keep them.
    #[serde(skip)]
    pub copies: Option<CapturedCopies>,
    /// Counts of a trace of QUIC, whose events are the frames; `None`: it is a capture.
    #[serde(skip)]
    pub qlog: Option<QlogCounts>,
    /// The files, if several were joined.
    pub files: JoinedFiles,
    /// Frames up to this one were counted by an earlier run.
    #[serde(skip)]
    pub(super) counted_before: u64,
    /// The first unsupported link type.
    pub(super) unknown_link: Option<i32>,
    skipped: [FrameCount; Reason::ALL.len()],
    odd: [FrameCount; Oddity::ALL.len()],
}

impl Counts {
    /// Frames that are no segment, for this reason.
    pub fn skipped(&self, reason: Reason) -> FrameCount {
        self.skipped[reason as usize]
    }

    /// Segments with this oddity.
    pub fn odd(&self, oddity: Oddity) -> FrameCount {
        self.odd[oddity as usize]
    }

    /// Segments that were captured in tunnels of this kind, the innermost one.
    pub fn in_tunnels(&self, kind: TunnelKind) -> FrameCount {
        self.in_tunnels[kind as usize]
    }

    /// What the capture has instead of TCP, the most frequent first: for example "1,200 packets of WireGuard,
    /// encrypted; 3 of ARP". `None` if it has TCP, or nothing that can be named.
    pub fn instead_of_tcp(&self) -> Option<String> {
        if self.packets > 0 {
            return None;
        }
        let named = Reason::ALL.iter().filter(|reason| reason.is_named_instead_of_tcp());
        let mut named: Vec<_> = named.map(|reason| (self.skipped(*reason).count, reason)).collect();
        named.retain(|(count, _)| *count > 0);
        named.sort_by_key(|(count, _)| Reverse(*count));
        let mut list = String::new();
        for (count, reason) in named {
            let packets = match (list.is_empty(), count) {
                (false, _) => "",
                (true, 1) => " packet",
                (true, _) => " packets",
            };
            let between = if list.is_empty() { "" } else { "; " };
            list += &format!("{between}{}{packets} of {reason}", grouped(count));
        }
        (!list.is_empty()).then_some(list)
    }

    /// Says that there is no connection, and what the capture has instead.
    pub fn why_no_connection(&self) -> String {
        let instead = self.instead_of_tcp();
        let instead = instead.map(|instead| format!(": the capture has {instead}"));
        format!("there is no TCP connection{}", instead.unwrap_or_default())
    }

    /// When the first frame was captured, of a capture whose first connection begins at `begun`. Without a first frame, and if
    /// its clock was ahead, that is `begun`.
    pub fn from_first_frame(&self, begun: Instant) -> Instant {
        self.first_frame_at.map_or(begun, |at| at.min(begun))
    }

    /// Adds what was read after this. Its frames go on after those counted so far.
    pub fn append(&mut self, mut later: Self) {
        let before = self.frames;
        self.files.append(take(&mut later.files), before);
        self.merge(&later, |frame| before + frame);
        self.frames += later.frames;
        self.ending = later.ending;
    }

    /// Adds all but the frames, files and ending of `later`. `place` gives the number of one of its frames here.
    pub(super) fn merge(&mut self, later: &Self, place: impl Fn(u64) -> u64) {
        self.first_frame_at = match (self.first_frame_at, later.first_frame_at) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.packets += later.packets;
        self.dropped = match (self.dropped, later.dropped) {
            (Some(dropped), Some(more)) => Some(dropped.saturating_add(more)),
            (dropped, more) => dropped.or(more),
        };
        self.clock.append(&later.clock, &place);
        if let Some((count, first)) = later.inseparable {
            let first = Inseparable { frame: place(first.frame), ..first };
            let (before, first) = self.inseparable.unwrap_or((0, first));
            self.inseparable = Some((before + count, first));
        }
        self.left_out.add(later.left_out);
        if let Some(copies) = &later.copies {
            self.copies.get_or_insert_default().append(copies, &place);
        }
        self.path_mtu_messages.append(later.path_mtu_messages, &place);
        self.unknown_link = self.unknown_link.or(later.unknown_link);
        let in_tunnels = self.in_tunnels.iter_mut().zip(later.in_tunnels);
        in_tunnels.for_each(|(all, more)| all.append(more, &place));
        let skipped = self.skipped.iter_mut().zip(later.skipped);
        skipped.for_each(|(all, more)| all.append(more, &place));
        let odd = self.odd.iter_mut().zip(later.odd);
        odd.for_each(|(all, more)| all.append(more, &place));
    }

    /// Notes for the user, one line each: frames left out that may matter, oddities, and how
    /// the capture ended unless it is complete.
    pub fn notes(&self) -> Vec<String> {
        let files = &self.files;
        let line = |tally: FrameCount, left_out: &str, what: &dyn fmt::Display| {
            let frames = tally.display(files)?;
            Some(format!("{left_out}{frames}: {what}"))
        };
        // Without TCP, the capture's other traffic is named in one line.
        let is_listed = |reason: &&Reason| reason.matters() && !(self.packets == 0 && reason.is_closed_tunnel());
        let skipped = Reason::ALL.iter().filter(is_listed);
        let skipped = skipped.filter_map(|r| line(self.skipped(*r), "left out ", r));
        let odd = Oddity::ALL.iter();
        let odd = odd.filter_map(|o| line(self.odd(*o), "", o));
        let qlog = self.qlog.iter().flat_map(|qlog| qlog.notes(self.packets));
        let ending = match &self.ending {
            // The note on the file says that it is empty.
            Ending::Whole | Ending::Empty => None,
            Ending::Cut { .. } if self.qlog.is_some() => {
                Some(format!("after event {}: the trace ends within an event", self.frames))
            }
            other if self.qlog.is_some() => Some(format!("after event {}: {other}", self.frames)),
            other => Some(format!("after frame {}: {other}", self.frames)),
        };
        let left_out = self.inseparable.map(|(count, first)| {
            let Inseparable { frame, why, .. } = first;
            let frame = files.display(frame);
            let connections = if count == 1 { "connection" } else { "connections" };
            format!("left out {count} {connections} that several capture points captured, first frame {frame}: {why}")
        });
        let tunnels = TunnelKind::ALL.iter();
        let tunnels = tunnels.filter_map(|kind| {
            let frames = self.in_tunnels(*kind).display(files)?;
            Some(format!("{frames}: analyzed in tunnels ({})", kind.title()))
        });
        let messages = "ICMP: segments too large for their path";
        let messages = line(self.path_mtu_messages, "", &messages);
        (skipped.chain(odd).chain(tunnels).chain(messages))
            .chain(self.clock.notes(files))
            .chain(left_out)
            .chain(qlog)
            .chain(ending)
            .chain(self.files.notes())
            .collect()
    }

    /// These counts, unless `file` has only frames of unsupported link types.
    pub(super) fn of_known_link(self, file: String) -> Result<Self, ReadError> {
        let unknown = self.skipped(Reason::LinkType).count;
        if unknown > 0 && unknown == self.frames {
            let link = self.unknown_link.unwrap_or_default();
            return Err(ReadError::LinkType { file, link });
        }
        Ok(self)
    }

    /// The last frame counted is no segment.
    #[inline]
    pub(super) fn skip(&mut self, reason: Reason) {
        if self.frames <= self.counted_before {
            return;
        }
        self.skipped[reason as usize].add(self.frames);
    }

    /// The last frame counted is a segment in this tunnel.
    pub(super) fn on_segment_in_tunnel(&mut self, tunnel: Tunnel) {
        if let Some(kind) = tunnel.kind()
            && self.frames > self.counted_before
        {
            self.in_tunnels[kind as usize].add(self.frames);
        }
    }

    /// The last frame counted is an ICMP message that a segment was too large for its path.
    #[cold]
    pub(super) fn on_path_mtu_message(&mut self) {
        if self.frames <= self.counted_before {
            return;
        }
        self.path_mtu_messages.add(self.frames);
    }

    /// The last frame counted is odd.
    #[cold]
    pub(super) fn note(&mut self, oddity: Oddity) {
        if self.frames <= self.counted_before {
            return;
        }
        self.odd[oddity as usize].add(self.frames);
    }
}

/// A number with a comma before every three digits from the right.
fn grouped(number: u64) -> String {
    match number.checked_div(1000) {
        Some(0) | None => number.to_string(),
        Some(thousands) => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_note_is_one_line() {
        let mut counts = Counts::default();
        assert_eq!(counts.notes(), [""; 0]);
        for reason in [Reason::Udp, Reason::Cut, Reason::Fragment, Reason::Cut] {
            counts.frames += 1;
            counts.skip(reason);
        }
        counts.note(Oddity::Time);
        counts.clock.set.add(3, Duration::from_secs(3600));
        counts.clock.set.add(4, Duration::from_secs(2));
        counts.clock.outliers.add(2, Duration::from_millis(1500));
        counts.ending = Ending::Cut { offset: 900 };
        assert_eq!(
            counts.notes(),
            [
                "left out frame 3: IP fragment",
                "left out 2 frames, first frame 2: cut before the end of the TCP header",
                "frame 4: impossible time, replaced by the nearest possible one",
                "2 frames, first frame 3: timestamp 3600.000 s away from the frame before, as if the clock \
                 was set: time continues from there",
                "frame 2: timestamp 1.500 s away from the frames on both sides: taken as captured with them",
                "after frame 4: the capture ends within a packet",
            ]
        );
    }
}
