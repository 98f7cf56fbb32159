//! Time–sequence diagrams: which bytes were sent when, and what came back.
//!
//! The picture TCP engineers have drawn since Shepard's thesis (MIT/LCS/TR-494, 1991), as in figures
//! 2 to 4 of the PRR paper (2011): time to the right, sequence space upwards, both at the sender.
//!
//! | mark                                 | in the SVG     | in xplot             |
//! |--------------------------------------|----------------|----------------------|
//! | data sent for the first time         | black arrow    | white arrow          |
//! | data sent again, with its trigger    | red arrow      | red arrow and text   |
//! | and needed, as an analysis tells     | the same       | the same             |
//! | sent again and spurious              | blue, a cross  | blue, a cross        |
//! | sent again, unknowable if needed     | grey, diamond  | orange, diamond      |
//! | `snd_una` as ACKs advance it         | green stairs   | green stairs         |
//! | an ACK that does not advance it      | green tick     | green tick           |
//! | SACK blocks, when their ACK arrives  | purple line    | purple line          |
//! | the end of the peer's receive window | ochre stairs   | yellow stairs        |
//! | a note, such as a verdict            | blue text      | blue text            |
//!
//! A [`Diagram`] is a value, made of a simulation ([`Watch`]), or of an event stream or a packet
//! capture ([`source`]), of a capture's connection with what an analysis found ([`explain`]), and drawn as SVG or as a file for xplot. The SVG is 900 px wide and
//! depends on nothing but the diagram, so that it can be kept and compared byte for byte. There,
//! retransmissions have a least size and lie on top: they are what one looks for.

mod axis;
mod ink;
mod paint;
mod recorder;
mod svg;
mod xplot;

pub use recorder::{Arrival, Recorder};

use recoup_recovery::Trigger;
use recoup_units::{Instant, Offset, Span};

/// One picture: panels one above the other, with one scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    /// Above everything; none when empty.
    pub title: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// What comes before is left out; `None`: nothing.
    pub from: Option<Instant>,
    /// What comes after is left out; `None`: nothing.
    pub to: Option<Instant>,
}

/// One direction of one connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Above the axes; none when empty.
    pub title: String,
    /// In the order of time.
    pub marks: Vec<Mark>,
}

/// Something seen at the sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// When.
    pub at: Instant,
    /// What.
    pub what: What,
}

/// Whether a retransmission was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Necessity {
    /// The data would not have arrived without it.
    Needed,
    /// Another copy of all of it arrived.
    Spurious,
    /// The capture cannot tell.
    Unknowable,
}

impl Necessity {
    /// The word in diagrams.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Spurious => "spurious",
            Self::Unknowable => "unknowable",
        }
    }
}

/// What a mark stands for. Offsets are of the data direction: the SYN at 0, data from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Sequence space left for the first time.
    Sent(Span),
    /// Sequence space left again; why, where that is known.
    Again(Span, Option<Trigger>),
    /// Sequence space left again, as an analysis explains it.
    Judged {
        /// Which.
        span: Span,
        /// Why.
        trigger: String,
        /// Whether it had to.
        necessity: Necessity,
    },
    /// An extra copy of it left, in advance of any loss.
    Copy(Span),
    /// An ACK took `snd_una` here.
    Acked(Offset),
    /// An ACK came that left `snd_una` here though data was outstanding.
    Duplicate(Offset),
    /// A SACK block of an ACK.
    Sacked(Span),
    /// From now on the peer takes sequence space below this.
    Window(Offset),
    /// A few words beside a place.
    Note(Offset, String),
}

impl What {
    /// The highest offset the mark needs on the axis; notes and windows adapt to what is there.
    fn highest(&self) -> Option<Offset> {
        match self {
            Self::Sent(span)
            | Self::Again(span, _)
            | Self::Judged { span, .. }
            | Self::Copy(span)
            | Self::Sacked(span) => Some(span.end),
            Self::Acked(una) | Self::Duplicate(una) => Some(*una),
            Self::Window(_) | Self::Note(..) => None,
        }
    }

    /// Whether it is more than the SYN, its ACK or a window.
    fn is_of_data(&self) -> bool {
        match self {
            Self::Sent(span)
            | Self::Again(span, _)
            | Self::Judged { span, .. }
            | Self::Copy(span) => span.end > Offset::DATA,
            Self::Acked(una) => *una > Offset::DATA,
            Self::Duplicate(_) | Self::Sacked(_) => true,
            Self::Window(_) | Self::Note(..) => false,
        }
    }

    /// The lowest one.
    fn lowest(&self) -> Option<Offset> {
        match self {
            Self::Sent(span)
            | Self::Again(span, _)
            | Self::Judged { span, .. }
            | Self::Copy(span)
            | Self::Sacked(span) => Some(span.start),
            other => other.highest(),
        }
    }
}

impl Panel {
    /// When data was first sent; a SYN is none.
    pub fn first_data(&self) -> Option<Instant> {
        let data = |mark: &&Mark| matches!(mark.what, What::Sent(span) if span.end > Offset::DATA);
        self.marks.iter().find(data).map(|mark| mark.at)
    }

    /// The panel with `origin` as time 0; what came before is left out.
    pub fn since(&self, origin: Instant) -> Self {
        let shift = |mark: &Mark| Mark {
            at: Instant::ZERO + mark.at.since(origin),
            what: mark.what.clone(),
        };
        Self {
            title: self.title.clone(),
            marks: self
                .marks
                .iter()
                .filter(|m| m.at >= origin)
                .map(shift)
                .collect(),
        }
    }

    /// The marks from `from` to `to`, both included; what stood at `from` already, `snd_una` and the
    /// window, is said there.
    fn between(&self, from: Instant, to: Instant) -> Vec<Mark> {
        let standing = |is: fn(&What) -> bool| {
            let mut earlier = self.marks.iter().rev().filter(|mark| mark.at < from);
            earlier.find(|mark| is(&mark.what)).map(|mark| Mark {
                at: from,
                what: mark.what.clone(),
            })
        };
        let standing = [
            standing(|what| matches!(what, What::Acked(_))),
            standing(|what| matches!(what, What::Window(_))),
        ];
        let inside = self.marks.iter().filter(|m| (from..=to).contains(&m.at));
        standing
            .into_iter()
            .flatten()
            .chain(inside.cloned())
            .collect()
    }
}

impl Diagram {
    /// Each panel's marks, as far as they are to be drawn.
    fn visible(&self) -> Vec<Vec<Mark>> {
        let from = self.from.unwrap_or(Instant::ZERO);
        let to = self.to.unwrap_or(Instant::from_nanos(u64::MAX));
        self.panels
            .iter()
            .map(|panel| panel.between(from, to))
            .collect()
    }

    /// Whether there is nothing to see: no data and no ACK of any.
    pub fn is_blank(&self) -> bool {
        self.extent().is_none()
    }

    /// When the first and the last of what is shown happens: data is sent, or an ACK of some comes.
    /// `None`: there is nothing to see.
    pub fn extent(&self) -> Option<(Instant, Instant)> {
        let from = self.from.unwrap_or(Instant::ZERO);
        let to = self.to.unwrap_or(Instant::from_nanos(u64::MAX));
        let marks = self.panels.iter().flat_map(|panel| &panel.marks);
        let times = marks
            .filter(|mark| mark.what.is_of_data() && (from..=to).contains(&mark.at))
            .map(|mark| mark.at);
        Some((times.clone().min()?, times.max()?))
    }

    /// The diagram as an SVG document, 900 px wide.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }

    /// One panel as a file for xplot and xplot.org, in their command language; `None` when there is
    /// no such panel. Times are seconds since the diagram's time 0, sequence numbers count from the
    /// first data byte.
    pub fn to_xplot(&self, panel: usize) -> Option<String> {
        let marks = self.visible().into_iter().nth(panel)?;
        Some(xplot::write(
            &self.title,
            &self.panels.get(panel)?.title,
            &marks,
        ))
    }
}

/// A position as both drawings count it: from the first data byte.
fn position(offset: Offset) -> u64 {
    offset.since(Offset::DATA)
}

/// A level part of stairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    from: Instant,
    to: Instant,
    level: u64,
}

/// The stairs of the levels that `level` finds in `marks`; the last step lasts until `end`.
fn stairs(marks: &[Mark], end: Instant, level: impl Fn(&What) -> Option<Offset>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for mark in marks {
        let Some(offset) = level(&mark.what) else {
            continue;
        };
        if let Some(last) = steps.last_mut() {
            last.to = mark.at;
        }
        steps.push(Step {
            from: mark.at,
            to: end.max(mark.at),
            level: position(offset),
        });
    }
    steps
}

fn una(what: &What) -> Option<Offset> {
    match what {
        What::Acked(una) => Some(*una),
        _ => None,
    }
}

fn window(what: &What) -> Option<Offset> {
    match what {
        What::Window(edge) => Some(*edge),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
