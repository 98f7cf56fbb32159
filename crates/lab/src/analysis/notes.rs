//! Notes on what limits the figures of a capture.

use super::findings::{Analyzed, Collector};
use super::summary::Vantages;
use recoup_trace::finding::Vantage;
use recoup_trace::read::Oddity;

/// Link (with VLAN tags), IPv6 and TCP headers with all options take up to 122 bytes.
const CUT: &str = "the snaplen cuts TCP options of ACKs: from there on, triggers are unknown and fewer verdicts are possible; capture at least 128 bytes of each packet (tcpdump -s 128)";

impl<V: Collector> Analyzed<V> {
    /// One line for each limit: frames that could not be read, packets the capture lacks, and a capture
    /// point other than the sender.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.counts.notes();
        if self.interrupted {
            let frames = self.counts.frames;
            notes.push(format!(
                "interrupted: only the first {frames} frames are analyzed"
            ));
        }
        match self.counts.frames {
            0 => notes.push("the capture contains no packets".into()),
            _ if self.counts.packets == 0 => {
                notes.push("the capture contains no TCP segments".into())
            }
            _ => {}
        }
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
        notes.extend(capture_point_note(vantages));
        notes
    }
}

/// What the most frequent capture point hides. `None` if it is the sender.
fn capture_point_note(vantages: &Vantages) -> Option<String> {
    let all: u64 = vantages.bytes.iter().sum();
    let of = |vantage: Vantage| vantages.bytes[vantage as usize];
    let most = Vantage::ALL
        .into_iter()
        .max_by_key(|vantage| of(*vantage))?;
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
    use crate::analysis::{Analyzed, Summary};
    use recoup_trace::analyze::Findings;
    use recoup_trace::finding::{Closing, Connection, Direction, Opening, Vantage};
    use recoup_trace::read::Counts;
    use recoup_units::Instant;
    use recoup_wire::Endpoints;

    /// The notes on a connection with these directions.
    fn notes(there: Direction, back: Direction) -> Vec<String> {
        let mut findings = Summary::default();
        let connection = Connection {
            id: 0,
            endpoints: Endpoints {
                src: ([192, 0, 2, 1], 1).into(),
                dst: ([192, 0, 2, 2], 2).into(),
            },
            frames: 1..=1,
            opening: Opening::MidConnection,
            closing: Closing::CaptureEnd,
            begun: Instant::ZERO,
            ended: Instant::ZERO,
            packets: 9,
            handshake_rtt: None,
            directions: [there, back],
        };
        findings.connection(connection, &[]);
        let mut counts = Counts::default();
        (counts.frames, counts.packets) = (9, 9);
        let analyzed = Analyzed {
            capture: "a.pcap".into(),
            counts,
            interrupted: false,
            findings,
        };
        analyzed.notes()
    }

    #[test]
    fn notes_name_what_the_capture_lacks() {
        let data = |vantage| Direction {
            vantage,
            bytes: 1000,
            ..Direction::default()
        };
        let absent = Direction {
            absent: true,
            ..Direction::default()
        };
        let stray = Direction {
            foreign: 2,
            to_sender: None,
            ..Direction::default()
        };
        // (the directions, the beginning of each note)
        let cases: [(Direction, Direction, &[&str]); 4] = [
            (data(Vantage::Sender), Direction::default(), &[]),
            (absent.clone(), Direction::default(), &[]),
            (
                data(Vantage::Unknown),
                absent,
                &[
                    "1 of 1 connections were captured in one direction only",
                    "capture point unknown for 100 %",
                ],
            ),
            (
                data(Vantage::Sender),
                stray,
                &["2 of 9 packets were left out"],
            ),
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
