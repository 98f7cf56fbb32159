//! Notes on what limits the figures of a capture.

use super::findings::{Analyzed, View};
use super::summary::Vantages;
use recoup_trace::finding::Vantage;
use recoup_trace::read::{LeftOut, Oddity};
use std::time::Duration;

/// Link (with VLAN tags), IPv6 and TCP headers with all options take up to 122 bytes.
const CUT: &str = "the snaplen cuts TCP options of ACKs: from there on, triggers are unknown and fewer verdicts are possible; capture at least 128 bytes of each packet (tcpdump -s 128)";

impl<V: View> Analyzed<V> {
    /// One line for each limit: frames that could not be read, packets the capture lacks, and a capture
    /// point other than the sender.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.counts.notes();
        if self.interrupted {
            let frames = self.counts.frames;
            notes.push(format!("interrupted: only the first {frames} frames are analyzed"));
        }
        match self.counts.frames {
            0 => notes.push("the capture contains no packets".into()),
            _ if self.counts.packets == 0 => notes.push("the capture contains no TCP segments".into()),
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
            let senders = match vantages.too_costly {
                1 => "1 sender".into(),
                senders => format!("{senders} senders"),
            };
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
        notes.extend(merged_note(vantages));
        notes.extend(capture_point_note(vantages));
        notes
    }
}

impl<V: View> Analyzed<V> {
    /// What the filter and the time window left out.
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

/// How many capture points a merged file has. `None` if it is not merged.
fn merged_note(vantages: &Vantages) -> Option<String> {
    let points = vantages.capture_points;
    if points < 2 {
        return None;
    }
    let ms = |time: Duration| time.as_nanos() as f64 / 1e6;
    let apart = match vantages.apart.map(|(least, most)| (ms(least), ms(most))) {
        None => String::new(),
        Some((least, most)) if most - least < 0.1 => format!(", {most:.1} ms apart"),
        Some((least, most)) => format!(", {least:.1} to {most:.1} ms apart"),
    };
    let connections = match vantages.merged {
        1 => "1 connection".into(),
        count => format!("{count} connections"),
    };
    Some(format!(
        "the capture holds {connections} at {points} capture points{apart}, as a merged file does: each point is analyzed by itself, and the summary counts what each end sent at the point nearest to it"
    ))
}

/// What the most frequent capture point hides. `None` if it is the sender.
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
mod tests {
    use crate::analysis::{Analyzed, Collector, Summary};
    use recoup_trace::analyze::Findings;
    use recoup_trace::finding::{
        CapturePoint, Closing, Connection, Direction, Evidence, Opening, Retransmission, Revision, Triggers, Vantage,
        Verdict,
    };
    use recoup_trace::hosts::ReportsDuplicates;
    use recoup_trace::read::Counts;
    use recoup_units::Instant;
    use recoup_wire::{Endpoints, SeqNumber};

    /// A retransmission that is needed, if its receiver reports duplicates.
    fn provisional(endpoints: Endpoints) -> Retransmission {
        Retransmission {
            frame: 1,
            at: Instant::ZERO,
            connection: 0,
            endpoints,
            seq: SeqNumber(1),
            len: 1000,
            syn: false,
            fin: false,
            triggers: Triggers::UNKNOWN,
            verdict: Verdict::Needed,
            evidence: Evidence::NoDuplicate,
            copy: 1,
            detection: None,
            recovery: None,
            rtt: None,
            flight: 1,
            vantage: Vantage::Sender,
            provisional: true,
            capture_point: 0,
            cost: None,
        }
    }

    #[test]
    fn revised_verdicts_of_two_capture_points_count_once_in_the_totals() {
        let mut summary = Summary::default();
        let endpoints = Endpoints { src: ([192, 0, 2, 1], 1).into(), dst: ([192, 0, 2, 2], 2).into() };
        let row = provisional(endpoints);
        let mut there = Direction::default();
        there.retransmissions.add(row.triggers, row.verdict);
        let point = |number| {
            let mut point = CapturePoint::default();
            (point.number, point.count) = (number, 2);
            point
        };
        for number in [0, 1] {
            let connection =
                Connection { capture_point: point(number), ..connection(there.clone(), Direction::default()) };
            let row = Retransmission { capture_point: number, ..row };
            summary.connection(connection, &[row]);
        }
        let new = Retransmission { verdict: Verdict::Unknowable, evidence: Evidence::NoReports, ..row };
        summary.revision(&Revision {
            retransmission: new,
            before: (row.verdict, row.evidence),
            cause_before: None,
            host: endpoints.dst.ip(),
            fact: ReportsDuplicates::No,
        });
        summary.order();
        let verdicts = Verdict::ALL.map(|verdict| summary.data.of_verdict(verdict));
        assert_eq!(verdicts, [0, 0, 1]);
        assert_eq!((summary.connections, summary.slowest.len()), (1, 0));
        let mut counts = Counts::default();
        (counts.frames, counts.packets) = (9, 9);
        let notes = Analyzed { capture: "a.pcap".into(), counts, interrupted: false, findings: summary };
        let notes = notes.notes();
        assert!(notes[0].starts_with("1 verdict was revised"), "{notes:?}");
    }

    fn connection(there: Direction, back: Direction) -> Connection {
        Connection {
            id: 0,
            endpoints: Endpoints { src: ([192, 0, 2, 1], 1).into(), dst: ([192, 0, 2, 2], 2).into() },
            frames: 1..=1,
            opening: Opening::MidConnection,
            closing: Closing::CaptureEnd,
            begun: Instant::ZERO,
            ended: Instant::ZERO,
            packets: 9,
            handshake_rtt: None,
            sack: Some(true),
            capture_point: CapturePoint::default(),
            directions: [there, back],
        }
    }

    /// The notes on a connection with these directions.
    fn notes(there: Direction, back: Direction) -> Vec<String> {
        notes_on(connection(there, back))
    }

    fn notes_on(connection: Connection) -> Vec<String> {
        let mut findings = Summary::default();
        findings.connection(connection, &[]);
        let mut counts = Counts::default();
        (counts.frames, counts.packets) = (9, 9);
        let analyzed = Analyzed { capture: "a.pcap".into(), counts, interrupted: false, findings };
        analyzed.notes()
    }

    #[test]
    fn notes_count_what_was_left_out_to_limit_time_and_memory() {
        let costly = Direction { vantage: Vantage::Sender, bytes: 1000, too_costly: true, ..Direction::default() };
        let notes = notes_on(Connection { closing: Closing::Evicted, ..connection(costly, Direction::default()) });
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].starts_with("the retransmissions of 1 sender would have"));
        assert!(notes[1].starts_with("1 of 1 connections were closed early to limit memory"));
    }

    #[test]
    fn notes_name_what_the_capture_lacks() {
        let data = |vantage| Direction { vantage, bytes: 1000, ..Direction::default() };
        let absent = Direction { absent: true, ..Direction::default() };
        let stray = Direction { foreign: 2, to_sender: None, ..Direction::default() };
        // (the directions, the beginning of each note)
        let cases: [(Direction, Direction, &[&str]); 4] = [
            (data(Vantage::Sender), Direction::default(), &[]),
            (absent.clone(), Direction::default(), &[]),
            (
                data(Vantage::Unknown),
                absent,
                &["1 of 1 connections were captured in one direction only", "capture point unknown for 100 %"],
            ),
            (data(Vantage::Sender), stray, &["2 of 9 packets were left out"]),
        ];
        for (there, back, expected) in cases {
            let notes = notes(there, back);
            assert_eq!(notes.len(), expected.len(), "{notes:?}");
            for (note, start) in notes.iter().zip(expected) {
                assert!(note.starts_with(start), "{note}");
            }
        }
    }
}
