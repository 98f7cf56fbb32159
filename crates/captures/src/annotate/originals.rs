//! The frames that retransmissions repeat, and the text of comments.
//!
//! A retransmission repeats the last frame before it that carried its first byte. Only the bytes that some retransmission begins
//! with are watched.

use super::remarks::{Lost, Remark, Remarks};
use recoup_support::rounded::decimals;
use recoup_trace::finding::Retransmission;
use recoup_trace::read::CapturedPacket;
use recoup_wire::{Endpoints, Flags, SeqNumber};
use std::collections::{BTreeSet, HashMap};

/// Comments begin with this word.
const PREFIX: &str = "Recoup";

/// What is watched while a capture is copied.
#[derive(Debug, Default)]
pub(super) struct Originals {
    /// For each sender and receiver, sequence numbers that are retransmitted, ascending as numbers, each with the latest frame
    /// that carried it.
    watched: HashMap<Endpoints, Vec<(u32, Option<u64>)>>,
    /// Frames that later comments name, and their numbers in the copy.
    named: HashMap<u64, u64>,
}

impl Originals {
    pub fn of(remarks: &Remarks) -> Self {
        let mut sought: HashMap<Endpoints, BTreeSet<u32>> = HashMap::new();
        let mut named = HashMap::new();
        for remark in remarks.all() {
            match remark {
                Remark::Retransmission(row, _) => {
                    sought.entry(row.endpoints).or_default().insert(row.seq.0);
                }
                Remark::Ends(_, began) => {
                    named.insert(*began, 0);
                }
                Remark::Begins(_) | Remark::Copy => {}
            }
        }
        let watched = sought.into_iter().map(|(ends, all)| (ends, all.into_iter().map(|seq| (seq, None)).collect()));
        Self { watched: watched.collect(), named }
    }

    /// The comments on a frame, given by its numbers in the capture and in the copy.
    pub fn comments(&mut self, remarks: &Remarks, (frame, copied): (u64, u64), packet: &CapturedPacket) -> Vec<String> {
        if let Some(number) = self.named.get_mut(&frame) {
            *number = copied;
        }
        let said = remarks.of(frame);
        let comments = said.iter().map(|remark| match remark {
            Remark::Retransmission(row, lost) => retransmission(row, *lost, self.original(row)),
            Remark::Copy => format!("{PREFIX}: copy sent by recoup guard"),
            Remark::Begins(lost) => episode(*lost, None),
            Remark::Ends(lost, began) => episode(*lost, Some(self.named.get(began).copied())),
        });
        let comments = comments.collect();
        self.note(copied, packet);
        comments
    }

    /// The frame that a retransmission repeats.
    fn original(&self, row: &Retransmission) -> Option<u64> {
        let watched = self.watched.get(&row.endpoints)?;
        let place = watched.binary_search_by_key(&row.seq.0, |(seq, _)| *seq).ok()?;
        watched[place].1
    }

    /// Notes which of the bytes watched a packet carries.
    fn note(&mut self, copied: u64, packet: &CapturedPacket) {
        let Some(watched) = self.watched.get_mut(&packet.endpoints) else {
            return;
        };
        let SeqNumber(first) = packet.segment.seq;
        let len = packet.segment.payload_len + u32::from(packet.segment.flags.intersects(Flags::SYN.union(Flags::FIN)));
        let carries = |seq: u32| seq.wrapping_sub(first) < len;
        // Those from the first byte on, and after the greatest number those from 0 on.
        let begin = watched.partition_point(|(seq, _)| *seq < first);
        let (low, high) = watched.split_at_mut(begin);
        for part in [high, low] {
            for (_, frame) in part.iter_mut().take_while(|(seq, _)| carries(*seq)) {
                *frame = Some(copied);
            }
        }
    }
}

/// The comment on a retransmission.
fn retransmission(row: &Retransmission, lost: Option<Lost>, original: Option<u64>) -> String {
    let mut text = format!(
        "{PREFIX}: retransmission; trigger={}; verdict={}; evidence={}",
        row.triggers,
        row.verdict.name(),
        row.evidence.name()
    );
    if let Some(original) = original {
        text += &format!("; original={original}");
    }
    if let Some(detection) = row.detection {
        text += &format!("; detection_ms={}", decimals(detection.as_secs_f64() * 1e3, 3));
    }
    if let Some(Lost { cause, ms }) = lost {
        text += &format!("; cause={cause}; episode_cost_ms={}", decimals(ms, 3));
    }
    text
}

/// The comment on the first frame of an episode, or on the last one, where it says which frame is the first.
fn episode(Lost { cause, ms }: Lost, ends: Option<Option<u64>>) -> String {
    let ms = decimals(ms, 3);
    match ends {
        None => format!("{PREFIX}: lost time begins; cause={cause}; cost_ms={ms}"),
        Some(None) => format!("{PREFIX}: lost time ends; cause={cause}; episode_cost_ms={ms}"),
        Some(Some(began)) => format!("{PREFIX}: lost time ends; cause={cause}; episode_cost_ms={ms}; began={began}"),
    }
}
