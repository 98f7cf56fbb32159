//! Time–sequence diagrams: segments and ACKs of one data direction over time, as its sender sees them.
//!
//! The x axis is time and the y axis is sequence space. Shepard introduced these diagrams
//! (MIT/LCS/TR-494, 1991); figures 2 to 4 of the PRR paper (2011) are examples.
//!
//! | mark                                     | in the picture        | in xplot             |
//! |------------------------------------------|-----------------------|----------------------|
//! | data, first transmission                 | black arrow           | white arrow          |
//! | retransmission, with its trigger         | vermillion arrow      | red arrow and text   |
//! | retransmission an analysis found needed  | vermillion arrow      | red arrow and text   |
//! | spurious retransmission                  | blue, a cross         | blue, a cross        |
//! | retransmission, unknown whether needed   | grey, diamond         | orange, diamond      |
//! | SYN, FIN, RST                            | triangle, cross; text | white text           |
//! | `snd_una`                                | green stairs          | green stairs         |
//! | ACK that does not advance `snd_una`      | green tick            | green tick           |
//! | SACK block, when its ACK arrives         | purple line           | purple line          |
//! | end of the peer's receive window         | orange stairs         | yellow stairs        |
//! | zero window                              | orange band           |                      |
//! | note                                     | blue text             | blue text            |
//!
//! A [`Diagram`] is a plain value; a [`MarkRecorder`] collects its marks. It is drawn as SVG, which
//! [`render`](crate::render) turns into PNG and PDF, or written as a file for xplot. The SVG depends on
//! nothing but the diagram and its [`Look`], so two of them can be compared byte for byte. In the SVG,
//! retransmissions have a minimum size and lie above all other marks, because readers look for them.

mod axis;
mod mark_style;
mod panel_painter;
mod recorder;
mod segment;
mod svg;
mod xplot;

pub(crate) use mark_style::PAINTS;
pub use recorder::{AckArrival, MarkRecorder};
pub use segment::{control_flags, window_edge};

use crate::look::Look;
use recoup_units::{Instant, Offset, Span};

/// One picture: panels one above the other that share the time axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    /// Title above all panels; empty: no title.
    pub title: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Whether the panels share the scale of sequence numbers.
    pub scale: SequenceScale,
    /// Start of the visible time range; `None`: unlimited.
    pub from: Option<Instant>,
    /// End of the visible time range, included; `None`: unlimited.
    pub to: Option<Instant>,
}

/// The scale of sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SequenceScale {
    /// All panels have one scale, so that they can be compared: the same data under several profiles.
    #[default]
    Shared,
    /// Each panel has its own: different data.
    OnePerPanel,
}

/// One direction of one connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Title above the axes; empty: no title.
    pub title: String,
    /// In order of time.
    pub marks: Vec<Mark>,
}

/// One event at the sender: a segment left or an ACK arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// When it happened.
    pub at: Instant,
    /// Kind of the event.
    pub kind: MarkKind,
    /// The number of its packet in the capture, from 1; `None` without a capture.
    pub frame: Option<u64>,
}

impl Mark {
    /// A mark that no capture holds.
    pub const fn new(at: Instant, kind: MarkKind) -> Self {
        let frame = None;
        Self { at, kind, frame }
    }
}

recoup_units::named! {
    /// A flag in the header of a segment that changes the state of the connection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Control {
        /// The sender opens its direction.
        Syn = "SYN",
        /// The sender closes its direction.
        Fin = "FIN",
        /// The sender aborts the connection.
        Reset = "RST",
    }
}

recoup_units::named! {
    /// Whether a retransmission was needed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Necessity {
        /// The data would not have arrived without the retransmission.
        Needed = "needed",
        /// Another transmission delivered all of the data.
        Spurious = "spurious",
        /// The capture does not show whether the data arrived otherwise.
        Unknowable = "unknowable",
    }
}

/// Kind of an event. Offsets count the panel's data direction: the SYN at 0, data from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum MarkKind {
    /// The first transmission of this sequence space.
    Sent(Span),
    /// A retransmission, with its trigger if that is known.
    Retransmitted(Span, Option<&'static str>),
    /// A retransmission that an analysis explained.
    Explained {
        /// The sequence space retransmitted.
        span: Span,
        /// Trigger of the retransmission.
        trigger: String,
        /// Whether it was needed.
        necessity: Necessity,
        /// Evidence for its necessity.
        reason: &'static str,
    },
    /// An extra copy, sent before any loss was detected.
    ExtraCopy(Span),
    /// An ACK advanced `snd_una` to this offset.
    Acked(Offset),
    /// A duplicate ACK: it left `snd_una` at this offset while data was outstanding.
    DuplicateAck(Offset),
    /// A SACK block of an ACK.
    Sacked(Span),
    /// The peer accepts sequence space below this offset from now on.
    ReceiveWindow(Offset),
    /// A segment with this flag left. The offset is that of the flag, which is where a reset's sequence
    /// number lies.
    Control(Control, Offset),
    /// A text beside this offset.
    Note(Offset, String),
}

impl MarkKind {
    /// The offsets that the mark covers, from the lowest to the highest.
    pub(crate) fn range(&self) -> (Offset, Offset) {
        match self {
            Self::Sent(span)
            | Self::Retransmitted(span, _)
            | Self::Explained { span, .. }
            | Self::ExtraCopy(span)
            | Self::Sacked(span) => (span.start, span.end),
            Self::Acked(offset)
            | Self::DuplicateAck(offset)
            | Self::ReceiveWindow(offset)
            | Self::Control(_, offset)
            | Self::Note(offset, _) => (*offset, *offset),
        }
    }

    /// Whether the sequence axis must reach the mark: windows, flags and notes do not stretch it.
    fn is_on_axis(&self) -> bool {
        !matches!(self, Self::ReceiveWindow(_) | Self::Control(..) | Self::Note(..))
    }

    /// Whether the mark shows data, an ACK of data or a retransmission, rather than a SYN sent once, its
    /// ACK or a window.
    fn is_of_interest(&self) -> bool {
        match self {
            Self::Sent(_) | Self::Acked(_) => self.range().1 > Offset::DATA,
            _ => self.is_on_axis(),
        }
    }
}

impl Panel {
    /// When the sender first sent data; SYNs do not count.
    pub fn first_data(&self) -> Option<Instant> {
        let data = |mark: &&Mark| matches!(mark.kind, MarkKind::Sent(span) if span.end > Offset::DATA);
        self.marks.iter().find(data).map(|mark| mark.at)
    }

    /// When the receive window was closed: from the ACK that leaves no room above `snd_una` until the
    /// window opens, or else until the last mark.
    pub fn zero_windows(&self) -> Vec<(Instant, Instant)> {
        zero_windows(&self.marks)
    }

    /// The panel with `origin` as time 0, without the marks before it.
    pub fn since(&self, origin: Instant) -> Self {
        let shift = |mark: &Mark| Mark { at: Instant::ZERO + mark.at.since(origin), ..mark.clone() };
        Self { title: self.title.clone(), marks: self.marks.iter().filter(|m| m.at >= origin).map(shift).collect() }
    }

    /// The marks from `from` to `to`, both included. `snd_una` and the receive window at `from` come
    /// first, as marks at `from`.
    fn between(&self, from: Instant, to: Instant) -> Vec<Mark> {
        let standing = |is: fn(&MarkKind) -> bool| {
            let mut earlier = self.marks.iter().rev().filter(|mark| mark.at < from);
            let last = earlier.find(|mark| is(&mark.kind));
            last.map(|mark| Mark::new(from, mark.kind.clone()))
        };
        let standing = [
            standing(|kind| matches!(kind, MarkKind::Acked(_))),
            standing(|kind| matches!(kind, MarkKind::ReceiveWindow(_))),
        ];
        let inside = self.marks.iter().filter(|m| (from..=to).contains(&m.at));
        standing.into_iter().flatten().chain(inside.cloned()).collect()
    }
}

impl Diagram {
    /// Each panel's marks in the visible time range.
    fn visible(&self) -> Vec<Vec<Mark>> {
        let from = self.from.unwrap_or(Instant::ZERO);
        let to = self.to.unwrap_or(Instant::from_nanos(u64::MAX));
        self.panels.iter().map(|panel| panel.between(from, to)).collect()
    }

    /// Whether the visible time range has neither data nor ACKs of data.
    pub fn is_blank(&self) -> bool {
        self.extent().is_none()
    }

    /// The times of the first and the last visible mark of data or of an ACK of data; `None` when the
    /// diagram [is blank](Self::is_blank).
    pub fn extent(&self) -> Option<(Instant, Instant)> {
        let from = self.from.unwrap_or(Instant::ZERO);
        let to = self.to.unwrap_or(Instant::from_nanos(u64::MAX));
        let marks = self.panels.iter().flat_map(|panel| &panel.marks);
        let times =
            marks.filter(|mark| mark.kind.is_of_interest() && (from..=to).contains(&mark.at)).map(|mark| mark.at);
        Some((times.clone().min()?, times.max()?))
    }

    /// The diagram as an SVG document with the usual look.
    pub fn to_svg(&self) -> String {
        self.to_svg_as(&Look::default())
    }

    /// The diagram as an SVG document.
    pub fn to_svg_as(&self, look: &Look) -> String {
        svg::draw(self, look)
    }

    /// Panel number `panel`, from 0, as a file for xplot and xplot.org; `None` when there is no such
    /// panel. Times are seconds since the diagram's time 0. Sequence numbers count from the first
    /// data byte.
    pub fn to_xplot(&self, panel: usize) -> Option<String> {
        let marks = self.visible().into_iter().nth(panel)?;
        Some(xplot::write(&self.title, &self.panels.get(panel)?.title, &marks))
    }
}

/// `offset` as a distance from the first data byte, which both formats show.
fn position(offset: Offset) -> u64 {
    offset.since(Offset::DATA)
}

/// A horizontal part of stairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    from: Instant,
    to: Instant,
    level: u64,
}

/// The stairs through the offsets that `level` finds in `marks`; the last step lasts until `end`.
fn stairs(marks: &[Mark], end: Instant, level: impl Fn(&MarkKind) -> Option<Offset>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for mark in marks {
        let Some(offset) = level(&mark.kind) else {
            continue;
        };
        if let Some(last) = steps.last_mut() {
            last.to = mark.at;
        }
        steps.push(Step { from: mark.at, to: end.max(mark.at), level: position(offset) });
    }
    steps
}

fn zero_windows(marks: &[Mark]) -> Vec<(Instant, Instant)> {
    let (mut una, mut edge) = (None, None);
    let mut closed: Option<Instant> = None;
    let mut found = Vec::new();
    for (i, mark) in marks.iter().enumerate() {
        match mark.kind {
            MarkKind::Acked(offset) => una = Some(offset),
            MarkKind::ReceiveWindow(offset) => edge = Some(offset),
            _ => continue,
        }
        // An ACK has two marks, one of `snd_una` and one of the window.
        if marks.get(i + 1).is_some_and(|next| next.at == mark.at && matches!(next.kind, MarkKind::ReceiveWindow(_))) {
            continue;
        }
        let is_closed = una.zip(edge).is_some_and(|(una, edge)| edge <= una);
        match closed {
            None if is_closed => closed = Some(mark.at),
            Some(from) if !is_closed => {
                found.push((from, mark.at));
                closed = None;
            }
            _ => {}
        }
    }
    let end = marks.iter().map(|mark| mark.at).max();
    found.extend(closed.zip(end).filter(|(from, end)| from < end));
    found
}

fn una(kind: &MarkKind) -> Option<Offset> {
    match kind {
        MarkKind::Acked(una) => Some(*una),
        _ => None,
    }
}

fn window(kind: &MarkKind) -> Option<Offset> {
    match kind {
        MarkKind::ReceiveWindow(edge) => Some(*edge),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
