//! Recorded losses: which packets of a real path were lost, in their order.
//!
//! A trace is a text of `0` and `1`, one a packet, with or without white space in between. `#` begins a remark that
//! ends with its line. It says which packets were lost, not when: packet k of a flow meets entry k of the trace. After
//! the last entry the trace begins again.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::packet_rng::{PacketId, PacketRng, Purpose};

/// The entries of a word of [`LossTrace`].
const PER_WORD: u64 = u64::BITS as u64;

/// Which packets a path lost, in their order. Clones share the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossTrace {
    /// A bit an entry, the first one lowest: whether the packet was lost.
    lost: Arc<[u64]>,
    /// The number of entries; at least 1.
    entries: u64,
}

/// Text that is not a loss trace. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LossTraceError {
    /// The text has no entry.
    #[error("the loss trace is empty: expected a 0 or 1 for each packet")]
    Empty,
    /// Something else than `0` and `1` stands where an entry is expected.
    #[error(
        "line {line}, column {column} of the loss trace: expected 0 or 1 for each packet, or # before a remark, found `{found}`"
    )]
    NotAnEntry {
        /// The line's number.
        line: usize,
        /// The place of the character in its line.
        column: usize,
        /// The character.
        found: char,
    },
}

impl LossTrace {
    /// Reads a trace in which `lost` stands for a lost packet, `0` or `1`, and the other one for a packet that arrived.
    ///
    /// # Errors
    /// Another character, or no entry.
    pub fn parse(text: &str, lost: char) -> Result<Self, LossTraceError> {
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (line, _) = line.split_once('#').unwrap_or((line, ""));
            for (place, found) in line.chars().enumerate() {
                match found {
                    '0' | '1' => entries.push(found == lost),
                    blank if blank.is_whitespace() => {}
                    found => {
                        return Err(LossTraceError::NotAnEntry { line: index + 1, column: place + 1, found });
                    }
                }
            }
        }
        Self::new(entries).ok_or(LossTraceError::Empty)
    }

    /// The trace with these entries: whether each packet was lost. `None` without any.
    pub fn new(entries: impl IntoIterator<Item = bool>) -> Option<Self> {
        let mut words: Vec<u64> = Vec::new();
        let mut count = 0;
        for lost in entries {
            if count % PER_WORD == 0 {
                words.push(0);
            }
            if let Some(last) = words.last_mut() {
                *last |= u64::from(lost) << (count % PER_WORD);
            }
            count += 1;
        }
        (count > 0).then(|| Self { lost: words.into(), entries: count })
    }

    /// The number of entries; at least 1.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The number of lost packets among them.
    pub fn losses(&self) -> u64 {
        self.lost.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether a packet of a flow is lost. Flow 0 begins with the first entry. Each other flow begins at an entry drawn
    /// at random, so that many flows meet different parts of the trace.
    pub(crate) fn loses(&self, rng: &PacketRng, id: PacketId) -> bool {
        let begin = match id.flow.0 {
            0 => 0,
            _ => rng.draw(PacketId { ordinal: 0, copy: 0, ..id }, Purpose::TraceBegin) % self.entries,
        };
        let entry = (begin + id.ordinal % self.entries) % self.entries;
        let word = self.lost.get((entry / PER_WORD) as usize);
        word.is_some_and(|word| word >> (entry % PER_WORD) & 1 == 1)
    }
}

impl fmt::Display for LossTrace {
    /// For reading: `20 of 1000 packets lost`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} packets lost", self.losses(), self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_units::{Direction, FlowId};

    fn lost(trace: &LossTrace, flow: u64, packets: u64) -> Vec<bool> {
        let rng = PacketRng::new(1, Direction::Down, 0);
        let id = |ordinal| PacketId { flow: FlowId(flow), ordinal, copy: 0 };
        (0..packets).map(|ordinal| trace.loses(&rng, id(ordinal))).collect()
    }

    #[test]
    fn the_first_flow_meets_the_trace_from_its_beginning_and_again() {
        let text = "# a remark with 1\n0 1\r\n\n10 # and 1\n0\n";
        let trace = LossTrace::parse(text, '1').unwrap();
        assert_eq!((trace.entries(), trace.losses(), trace.to_string().as_str()), (5, 2, "2 of 5 packets lost"));
        let round = [false, true, true, false, false];
        assert_eq!(lost(&trace, 0, 15), [round, round, round].concat());
        let arrivals = LossTrace::parse(text, '0').unwrap();
        assert_eq!(lost(&arrivals, 0, 5), round.map(|lost| !lost));
    }

    #[test]
    fn other_flows_begin_elsewhere_and_lose_as_much_in_a_round() {
        // A word and a half, so that a round crosses both ends of the bits.
        let entries: Vec<bool> = (0..96).map(|i| i % 7 == 0 || i == 95).collect();
        let trace = LossTrace::new(entries.iter().copied()).unwrap();
        let mut begins = Vec::new();
        for flow in 1..40 {
            let met = lost(&trace, flow, 96);
            let begin = (0..96).find(|begin| (0..96).all(|i| met[i] == entries[(begin + i) % 96]));
            begins.push(begin.expect("a rotation of the trace"));
        }
        begins.sort_unstable();
        begins.dedup();
        assert!(begins.len() > 20, "{begins:?}");
    }

    #[test]
    fn other_characters_are_named_with_their_place() {
        for (text, error) in [
            ("", "the loss trace is empty: expected a 0 or 1 for each packet"),
            ("# 1\n \n", "the loss trace is empty: expected a 0 or 1 for each packet"),
            (
                "01\n0 2",
                "line 2, column 3 of the loss trace: expected 0 or 1 for each packet, or # before a remark, found `2`",
            ),
            (
                "0.25 1",
                "line 1, column 2 of the loss trace: expected 0 or 1 for each packet, or # before a remark, found `.`",
            ),
        ] {
            assert_eq!(LossTrace::parse(text, '1').unwrap_err().to_string(), error);
        }
    }
}
