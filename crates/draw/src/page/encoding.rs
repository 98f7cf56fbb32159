//! The marks of a panel as bytes that `diagram.js` reads.
//!
//! Each mark is a byte with its kind and its flags, then integers in LEB128: seven bits a byte, the
//! lowest first. Most integers are differences from the mark before, so that a mark takes about six
//! bytes. Signed differences are zigzag-encoded. Times are in microseconds.
//!
//! | field    | present                  | value                                                |
//! |----------|--------------------------|------------------------------------------------------|
//! | kind     | always                   | a [`Kind`], plus the flags                           |
//! | time     | always                   | since the mark before                                |
//! | frame    | [`HAS_FRAME`]            | less the last frame, signed                          |
//! | low      | always                   | less the `high` of the last mark of its kind, signed |
//! | length   | kinds that cover a range | less that of the last mark of its kind, signed       |
//! | texts    | [`HAS_TEXTS`]            | their place in the list of texts                     |
//! | merged   | [`IS_MERGED`]            | number of marks, then time until the last of them, then for a kind without a
//! range its last offset less `low`, signed |

use crate::sequence::{Control, Mark, MarkKind, Necessity, Panel};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Serialize;
use std::collections::HashMap;

const HAS_FRAME: u8 = 0x80;
const HAS_TEXTS: u8 = 0x40;
const IS_MERGED: u8 = 0x20;

/// Kind of a mark. `diagram.js` has the same list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Retransmission,
    Needed,
    Spurious,
    Unknowable,
    ExtraCopy,
    Acked,
    DuplicateAck,
    Sacked,
    ReceiveWindow,
    Note,
    Syn,
    Fin,
    Reset,
}

impl Kind {
    /// The number of kinds.
    pub const COUNT: usize = Self::Reset as usize + 1;

    /// Whether it covers a range of sequence space, not one offset.
    pub fn has_range(self) -> bool {
        matches!(
            self,
            Self::Data
                | Self::Retransmission
                | Self::Needed
                | Self::Spurious
                | Self::Unknowable
                | Self::ExtraCopy
                | Self::Sacked
        )
    }

    /// Whether readers look for each of them, so that they are never merged.
    pub fn stands_alone(self) -> bool {
        !matches!(self, Self::Data | Self::Acked | Self::DuplicateAck | Self::Sacked | Self::ReceiveWindow)
    }
}

/// A mark, or several that thinning merged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub kind: Kind,
    /// When it happened, in microseconds.
    pub at: u64,
    /// When the last of merged marks happened.
    pub until: u64,
    /// Where its range begins, or its offset. Of merged marks without a range: the first offset.
    pub low: u64,
    /// Where its range ends, or its offset. Of merged marks without a range: the last offset.
    pub high: u64,
    pub frame: Option<u64>,
    pub texts: Option<Texts>,
    /// The number of marks merged into it; 1: none.
    pub count: u64,
}

/// Texts of a mark: the trigger of a retransmission or the text of a note, and the reason of a
/// verdict.
pub(super) type Texts = (String, &'static str);

impl Item {
    fn of(mark: &Mark) -> Self {
        let (low, high) = mark.kind.range();
        let at = mark.at.as_nanos() / 1000;
        Self {
            kind: kind(&mark.kind),
            at,
            until: at,
            low: low.0,
            high: high.0,
            frame: mark.frame,
            texts: texts(&mark.kind),
            count: 1,
        }
    }
}

fn kind(kind: &MarkKind) -> Kind {
    match kind {
        MarkKind::Sent(_) => Kind::Data,
        MarkKind::Retransmitted(..) => Kind::Retransmission,
        MarkKind::Explained { necessity, .. } => match necessity {
            Necessity::Needed => Kind::Needed,
            Necessity::Spurious => Kind::Spurious,
            Necessity::Unknowable => Kind::Unknowable,
        },
        MarkKind::ExtraCopy(_) => Kind::ExtraCopy,
        MarkKind::Acked(_) => Kind::Acked,
        MarkKind::DuplicateAck(_) => Kind::DuplicateAck,
        MarkKind::Sacked(_) => Kind::Sacked,
        MarkKind::ReceiveWindow(_) => Kind::ReceiveWindow,
        MarkKind::Note(..) => Kind::Note,
        MarkKind::Control(Control::Syn, _) => Kind::Syn,
        MarkKind::Control(Control::Fin, _) => Kind::Fin,
        MarkKind::Control(Control::Reset, _) => Kind::Reset,
    }
}

fn texts(kind: &MarkKind) -> Option<Texts> {
    match kind {
        MarkKind::Retransmitted(_, trigger) => Some((trigger.as_ref()?.to_string(), "")),
        MarkKind::Explained { trigger, reason, .. } => Some((trigger.clone(), reason)),
        MarkKind::Note(_, text) => Some((text.clone(), "")),
        _ => None,
    }
}

/// The marks of `panel`, in order of time.
pub(super) fn items(panel: &Panel) -> Vec<Item> {
    let mut items: Vec<Item> = panel.marks.iter().map(Item::of).collect();
    items.sort_by_key(|item| item.at);
    items
}

/// The marks of a panel as the page holds them.
#[derive(Debug, Serialize)]
pub(super) struct Encoded {
    /// The number of marks.
    count: usize,
    /// The marks as bytes, in base64.
    bytes: String,
    /// The texts of marks, each pair once.
    texts: Vec<Texts>,
}

pub(super) fn encode(items: &[Item]) -> Encoded {
    let mut encoder = Encoder::default();
    for item in items {
        encoder.push(item);
    }
    Encoded { count: items.len(), bytes: BASE64_STANDARD.encode(&encoder.bytes), texts: encoder.texts }
}

#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    texts: Vec<Texts>,
    places: HashMap<Texts, usize>,
    time: u64,
    frame: u64,
    /// The last `high` and the last length of each kind.
    last: [(u64, u64); Kind::COUNT],
}

impl Encoder {
    fn push(&mut self, item: &Item) {
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        self.bytes.push(
            item.kind as u8
                | flag(item.frame.is_some(), HAS_FRAME)
                | flag(item.texts.is_some(), HAS_TEXTS)
                | flag(item.count > 1, IS_MERGED),
        );
        self.unsigned(item.at.saturating_sub(self.time));
        self.time = self.time.max(item.at);
        if let Some(frame) = item.frame {
            self.difference(frame, self.frame);
            self.frame = frame;
        }
        let (last_high, last_length) = self.last[item.kind as usize];
        let length = item.high.saturating_sub(item.low);
        self.difference(item.low, last_high);
        if item.kind.has_range() {
            self.difference(length, last_length);
        }
        self.last[item.kind as usize] = (item.high, length);
        if let Some(texts) = &item.texts {
            let place = self.place(texts);
            self.unsigned(place as u64);
        }
        if item.count > 1 {
            self.unsigned(item.count);
            self.unsigned(item.until.saturating_sub(item.at));
            if !item.kind.has_range() {
                self.difference(item.high, item.low);
            }
        }
    }

    /// The place of `texts` in the list.
    fn place(&mut self, texts: &Texts) -> usize {
        if let Some(&place) = self.places.get(texts) {
            return place;
        }
        let place = self.texts.len();
        self.texts.push(texts.clone());
        self.places.insert(texts.clone(), place);
        place
    }

    fn unsigned(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn difference(&mut self, value: u64, from: u64) {
        let signed = value.wrapping_sub(from) as i64;
        self.unsigned(((signed << 1) ^ (signed >> 63)) as u64);
    }
}

#[cfg(test)]
mod tests;
