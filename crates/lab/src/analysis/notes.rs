//! What a user should know before believing the figures of a capture.

use super::findings::{Analyzed, View};
use super::summary::Vantages;
use recoup_trace::finding::Vantage;
use recoup_trace::read::Oddity;

/// Link (with VLAN tags), IPv6 and TCP headers with all options take up to 122 bytes.
const CUT: &str = "where the options of ACKs are cut (SACK blocks come last), triggers are unknown from there on and fewer verdicts are given: capture at least 128 bytes of each packet (tcpdump -s 128)";

impl<V: View> Analyzed<V> {
    /// What a user should know, a line each: what could not be read, where the capture is blind, and
    /// what it lacks.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.counts.notes();
        if self.interrupted {
            let frames = self.counts.frames;
            notes.push(format!(
                "interrupted: only the first {frames} frames are analyzed"
            ));
        }
        match self.counts.frames {
            0 => notes.push("no packets in it".into()),
            _ if self.counts.packets == 0 => notes.push("no TCP in it".into()),
            _ => {}
        }
        if let Some(dropped) = self.counts.dropped.filter(|dropped| *dropped > 0) {
            notes.push(format!("the capturing host dropped {dropped} packets"));
        }
        if self.counts.odd(Oddity::Options).count > 0 {
            notes.push(CUT.into());
        }
        let vantages = self.found.vantages();
        if vantages.one_way > 0 {
            notes.push(format!(
                "captured one way only: {} of {} connections; without the ACKs to what was sent there are no verdicts",
                vantages.one_way,
                self.found.connections()
            ));
        }
        if vantages.foreign > 0 {
            notes.push(format!(
                "left out of their connections, for sequence numbers far from the others: {} of {} packets",
                vantages.foreign,
                self.counts.packets
            ));
        }
        notes.extend(blind(vantages));
        notes
    }
}

/// What is not seen from where most data was captured; `None` at its sender.
fn blind(vantages: &Vantages) -> Option<String> {
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
            "{share:.0} % of the data was captured at its receiver: there, what is sent again because it was lost looks like a first transmission"
        ),
        Vantage::Between => format!(
            "{share:.0} % of the data was captured on its way: what is sent again because it was lost before looks like a first transmission there"
        ),
        _ => format!(
            "nothing tells whether {share:.0} % of the data was captured at its sender: if it was not, some of what was sent again looks like a first transmission"
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

    /// What is noted of a connection of which `there` carried data.
    fn notes(there: Direction, back: Direction) -> Vec<String> {
        let mut found = Summary::default();
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
        found.connection(connection, &[]);
        let mut counts = Counts::default();
        (counts.frames, counts.packets) = (9, 9);
        let analyzed = Analyzed {
            capture: "a.pcap".into(),
            counts,
            interrupted: false,
            found,
        };
        analyzed.notes()
    }

    #[test]
    fn what_the_capture_lacks_is_noted() {
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
            ..Direction::default()
        };
        // (there, back, how its notes begin)
        let cases: [(Direction, Direction, &[&str]); 4] = [
            (data(Vantage::Sender), Direction::default(), &[]),
            (absent.clone(), Direction::default(), &[]),
            (
                data(Vantage::Unknown),
                absent,
                &[
                    "captured one way only: 1 of 1 ",
                    "nothing tells whether 100 %",
                ],
            ),
            (
                data(Vantage::Sender),
                stray,
                &["left out of their connections,"],
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
