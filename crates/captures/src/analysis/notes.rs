//! Notes on what limits the figures of a capture.

use super::columns::ms;
use super::findings::{Analyzed, View};
use super::summary::Vantages;
use crate::wording::{count, grouped};
use recoup_trace::finding::Vantage;
use recoup_trace::read::{CapturedCopies, LeftOut, Oddity};
use serde_json::{Value, json};

/// Link (with VLAN tags), IPv6 and TCP headers with all options take up to 122 bytes.
const CUT: &str = "the snaplen cuts TCP options: where SACK blocks are missing, triggers are unknown and fewer verdicts are possible; capture at least 128 bytes of each packet (tcpdump -s 128)";

impl<V: View> Analyzed<V> {
    /// One line for each limit: frames that could not be read, packets the capture lacks, and a capture
    /// point other than the sender.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.counts.notes();
        if self.interrupted {
            let frames = self.counts.frames;
            let what = if self.counts.qlog.is_some() { "events" } else { "frames" };
            notes.push(format!("interrupted: only the first {frames} {what} are analyzed"));
        }
        match self.counts.frames {
            // The counts of a trace say it themselves.
            _ if self.counts.qlog.is_some() => {}
            0 => notes.push("the capture contains no packets".into()),
            _ if self.counts.packets == 0 => notes.push(match self.counts.instead_of_tcp() {
                Some(instead) => format!("no TCP: {instead}"),
                None => "the capture contains no TCP segments".into(),
            }),
            _ => {}
        }
        notes.extend(self.left_out_notes());
        if let Some(dropped) = self.counts.dropped.filter(|dropped| *dropped > 0) {
            notes.push(format!("the capturing host dropped {dropped} packets"));
        }
        if self.counts.odd(Oddity::Options).count > 0 {
            notes.push(CUT.into());
        }
        let vantages = self.findings.vantages();
        if vantages.one_way > 0 {
            notes.push(format!(
                "{} of {} connections were captured in one direction only; their retransmissions have no verdicts, because the ACKs are missing",
                vantages.one_way,
                self.findings.connections()
            ));
        }
        if vantages.foreign > 0 {
            notes.push(format!(
                "{} of {} packets were left out, because their sequence numbers are far from those of their connections",
                vantages.foreign,
                self.counts.packets
            ));
        }
        if vantages.revised > 0 {
            let verdicts = match vantages.revised {
                1 => "1 verdict was".into(),
                revised => format!("{revised} verdicts were"),
            };
            notes.push(format!(
                "{verdicts} revised when it became known whether the receiver reports duplicates (RFC 2883)"
            ));
        }
        if vantages.too_costly > 0 {
            let senders = count(vantages.too_costly, "sender");
            notes.push(format!(
                "the retransmissions of {senders} would have taken too long to explain: some of their triggers and verdicts are unknown"
            ));
        }
        if vantages.evicted > 0 {
            notes.push(format!(
                "{} of {} connections were closed early to limit memory; their later packets count as new connections",
                vantages.evicted,
                self.findings.connections()
            ));
        }
        notes.extend(receiver_notes(vantages));
        notes.extend(merged_note(vantages));
        // A trace is of one end, whatever the other one sends.
        notes.extend(capture_point_note(vantages).filter(|_| self.counts.qlog.is_none()));
        notes
    }
}

impl<V> Analyzed<V> {
    /// How many copies `recoup guard` sent, if its log is known. Tables and explanations that say so themselves need no note.
    pub fn copies_note(&self) -> Option<String> {
        self.counts.copies.as_ref().map(copies_line)
    }
}

/// How many copies `recoup guard` sent; `null`: its log is not known.
pub(crate) fn copies_json(copies: Option<&CapturedCopies>) -> Value {
    copies.map_or(Value::Null, |copies| json!({ "captured": copies.captured, "not_captured": copies.not_captured() }))
}

/// How many copies `recoup guard` sent.
pub fn copies_line(copies: &CapturedCopies) -> String {
    let (captured, others) = (grouped(copies.captured), grouped(copies.not_captured()));
    format!("copies sent by recoup guard: {captured} ({others} of the log not in the capture)")
}

impl<V: View> Analyzed<V> {
    /// Notes on packets that the filter and the time window left out.
    fn left_out_notes(&self) -> impl Iterator<Item = String> {
        let LeftOut { connections, packets, outside_window } = self.counts.left_out;
        let selected = self.findings.connections();
        let all = selected + connections;
        let filter = match (connections, selected) {
            (0, _) => None,
            (_, 0) => Some(format!("the filter selects none of {all} connections")),
            _ => Some(format!(
                "the filter selects {selected} of {all} connections; the {packets} packets of the others are not analyzed"
            )),
        };
        let read = self.counts.packets;
        let window = match outside_window {
            0 => None,
            outside if outside >= read => Some(format!("none of the {read} packets is in the time window")),
            outside => Some(format!("{outside} of {read} packets are outside the time window")),
        };
        filter.into_iter().chain(window)
    }
}

/// What receivers reported, and what they did not.
fn receiver_notes(vantages: &Vantages) -> Vec<String> {
    let connections = |number| count(number, "connection");
    let mut notes = Vec::new();
    if vantages.reneging > 0 {
        notes.push(format!(
            "in {} the receiver discarded data that it had reported by SACK (reneging, RFC 2018 section 8): it was needed again",
            connections(vantages.reneging)
        ));
    }
    if vantages.unusable_sack > 0 {
        notes.push(format!(
            "the SACK blocks of {} report what was never sent, as where a middlebox changes the sequence numbers alone: the sender could not use them, and no verdict rests on them",
            connections(vantages.unusable_sack)
        ));
    }
    if vantages.unknown_window_scale > 0 {
        notes.push(format!(
            "the window scale of {} is unknown, because the capture does not hold the handshake: only a window of 0 shows that the receiver held the sender up",
            connections(vantages.unknown_window_scale)
        ));
    }
    notes
}

/// How many capture points a merged file has. `None` if it is not merged.
fn merged_note(vantages: &Vantages) -> Option<String> {
    let points = vantages.capture_points;
    if points < 2 {
        return None;
    }
    let apart = match vantages.apart.map(|(least, most)| (ms(least), ms(most))) {
        None => String::new(),
        Some((least, most)) if most - least < 0.1 => format!(", {most:.1} ms apart"),
        Some((least, most)) => format!(", {least:.1} to {most:.1} ms apart"),
    };
    let connections = count(vantages.merged, "connection");
    Some(format!(
        "the capture holds {connections} at {points} capture points{apart}, as a merged file does: each point is analyzed by itself, and the summary counts what each end sent at the point nearest to it"
    ))
}

/// A note on what the most frequent capture point hides. `None` if it is the sender.
fn capture_point_note(vantages: &Vantages) -> Option<String> {
    let all: u64 = vantages.bytes.iter().sum();
    let of = |vantage: Vantage| vantages.bytes[vantage as usize];
    let most = Vantage::ALL.into_iter().max_by_key(|vantage| of(*vantage))?;
    if all == 0 || most == Vantage::Sender {
        return None;
    }
    let share = 100.0 * of(most) as f64 / all as f64;
    Some(match most {
        Vantage::Receiver => format!(
            "{share:.0} % of the data was captured at the receiver, where the retransmission of a lost segment looks like a first transmission"
        ),
        Vantage::Between => format!(
            "{share:.0} % of the data was captured between the hosts, where the retransmission of a segment lost before the capture point looks like a first transmission"
        ),
        _ => format!(
            "capture point unknown for {share:.0} % of the data: unless it is the sender, some retransmissions look like first transmissions"
        ),
    })
}

#[cfg(test)]
mod tests;
