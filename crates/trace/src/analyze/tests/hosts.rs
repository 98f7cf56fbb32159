//! Facts learned about a host change the verdicts of all its connections.

use super::*;
use crate::hosts::{DuplicateReports, HostFacts, ReportsDuplicates};
use std::net::IpAddr;

/// Connections to one client, one after the other, each from another port.
pub struct Visits {
    pub conversation: Conversation,
    timestamps: bool,
    pub begun: u16,
}

impl Visits {
    pub fn new(timestamps: bool) -> Self {
        Self { conversation: Conversation::mid_connection(), timestamps, begun: 0 }
    }

    /// One connection, in which the server sends a segment and retransmits it `after` 130 ms. Its
    /// ACK comes `answered` ms after that. A second segment follows, and the client resets.
    fn visit(&mut self, answered: f64, dsack: bool) {
        let at = 20_000.0 * f64::from(self.begun);
        self.begun += 1;
        let mut one = Conversation::opened(at);
        one.data(at + 100.0, 0, 1000);
        one.data(at + 230.0, 0, 1000);
        let original = one.packets[3].segment.options.timestamps.unwrap().value;
        let ack = one.ack(at + 230.0 + answered, 1000, 0, 0);
        if let Some(ts) = &mut ack.segment.options.timestamps
            && answered < 25.0
        {
            ts.echo = original;
        }
        if dsack {
            one.ack(at + 281.0, 1000, 0, 1000);
        }
        one.data(at + 400.0, 1000, 1000);
        one.ack(at + 450.0, 2000, 0, 0);
        one.packet(at + 460.0, 0, 0, 0, 2000, |segment| {
            segment.flags = Flags::RST.union(Flags::ACK);
        });
        for packet in &mut one.packets {
            let ends = &mut packet.endpoints;
            for end in [&mut ends.src, &mut ends.dst] {
                if end.to_string() == CLIENT {
                    end.set_port(40_000 + self.begun);
                }
            }
            if !self.timestamps {
                packet.segment.options.timestamps = None;
            }
        }
        self.conversation.packets.extend(one.packets);
    }

    /// The retransmission may have been needed or not: only a DSACK would show it.
    pub fn doubtful(&mut self) {
        self.visit(50.0, false);
    }

    /// The ACK comes before the retransmission can have arrived.
    pub fn spurious(&mut self, dsack: bool) {
        self.visit(5.0, dsack);
    }

    /// Packets of other hosts, enough that facts learned so far are used from here on.
    fn pause(&mut self) {
        let last = *self.conversation.packets.last().unwrap();
        let mut other = last;
        other.at += Duration::from_secs(6);
        other.endpoints.src = "192.0.2.7:7".parse().unwrap();
        other.segment.flags = Flags::ACK;
        let others = std::iter::repeat_n(other, 5000);
        self.conversation.packets.extend(others);
    }

    /// The findings in order, as they were passed on and as they were revised; and what was learned
    /// of the client.
    fn found(mut self, settings: &Settings) -> (Vec<String>, Vec<String>, DuplicateReports) {
        for (i, packet) in self.conversation.packets.iter_mut().enumerate() {
            packet.frame = i as u64 + 1;
        }
        let packets = &self.conversation.packets;
        let (analysis, _) = finished(packets, settings, Log::default);
        let Analysis { findings, hosts, .. } = analysis;
        let (mut given, mut kept) = (Vec::new(), Vec::new());
        for part in findings {
            given.extend(part.given);
            kept.extend(part.kept.retransmissions.iter().map(|row| {
                let connection = part.kept.connections.iter();
                let own = connection.filter(|c| c.id == row.connection);
                let counted = own.map(|c| c.directions[1].retransmissions);
                assert_eq!(counted.map(|t| t.of_verdict(row.verdict)).sum::<u64>(), 1);
                format!("{} {}", row.connection, outline(row))
            }));
        }
        given.sort();
        kept.sort();
        let client = hosts.get(client()).map(|facts| facts.duplicates);
        (given, kept, client.unwrap_or_default())
    }
}

fn client() -> IpAddr {
    "192.0.2.1".parse().unwrap()
}

fn outline(row: &Retransmission) -> String {
    format!("{} {}", row.verdict.name(), row.evidence.name())
}

/// Keeps findings both as they were passed on, and as they are revised.
#[derive(Default)]
pub struct Log {
    pub given: Vec<String>,
    kept: Kept,
}

impl Findings for Log {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        for row in retransmissions {
            let line = format!("{} {}", connection.id, outline(row));
            self.given.push(line);
        }
        self.kept.connection(connection, retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        let row = &revision.retransmission;
        assert_eq!(revision.host, client());
        self.given.push(format!("{} revised: {:?} {}", row.connection, revision.fact, outline(row)));
        self.kept.revision(revision);
    }
}

#[test]
fn findings_are_revised_once_a_host_is_known_to_send_no_dsacks() {
    for (timestamps, evidence) in [(true, "timestamp_echo"), (false, "no_duplicate")] {
        for threads in [0, 3] {
            let mut visits = Visits::new(timestamps);
            visits.doubtful();
            (0..3).for_each(|_| visits.spurious(false));
            visits.doubtful();
            // With a given profile, no connection waits for its host to be identified.
            let profile = "linux-6".parse().ok();
            let settings = Settings { threads, profile, ..Settings::default() };
            let (given, kept, client) = visits.found(&settings);
            let early = "spurious ack_too_early";
            let expected = [
                &format!("0 needed {evidence}"),
                "0 revised: No unknowable no_reports",
                &format!("1 {early}"),
                &format!("2 {early}"),
                &format!("3 {early}"),
                "4 unknowable no_reports",
            ];
            assert_eq!(given, expected, "{timestamps}");
            let expected = [0, 1, 2, 3, 4].map(|i| match i {
                0 | 4 => format!("{i} unknowable no_reports"),
                _ => format!("{i} {early}"),
            });
            assert_eq!(kept, expected);
            let (seen, missing) = (client.seen, client.missing);
            assert_eq!((seen, missing), (0, 3));
        }
    }
}

#[test]
fn a_host_that_sends_dsacks_is_believed_whatever_is_lost() {
    for timestamps in [true, false] {
        let mut visits = Visits::new(timestamps);
        visits.doubtful();
        visits.spurious(true);
        (0..5).for_each(|_| visits.spurious(false));
        visits.doubtful();
        let (given, kept, client) = visits.found(&Settings::default());
        assert_eq!(given, kept, "nothing is revised");
        assert!(given[0].starts_with("0 needed") && given[7].starts_with("7 needed"));
        assert_eq!((client.seen, client.missing), (1, 5));
    }
}

#[test]
fn a_first_dsack_restores_the_verdicts() {
    let mut visits = Visits::new(false);
    (0..3).for_each(|_| visits.spurious(false));
    visits.pause();
    visits.doubtful();
    visits.pause();
    visits.spurious(true);
    let (given, kept, _) = visits.found(&Settings::default());
    // Connection 3 is that of the other hosts.
    assert!(given.contains(&"4 unknowable no_reports".to_owned()));
    assert!(given.contains(&"4 revised: Yes needed no_duplicate".to_owned()));
    assert!(kept.contains(&"4 needed no_duplicate".to_owned()));
}

#[test]
fn what_is_known_beforehand_counts_from_the_first_connection() {
    let mut hosts = Hosts::default();
    let facts = HostFacts { duplicates: DuplicateReports { seen: 0, missing: 3 }, ..HostFacts::default() };
    assert_eq!(facts.duplicates.proof(), Some(ReportsDuplicates::No));
    hosts.add(client(), &facts);
    let settings = Settings { hosts: Arc::new(hosts), ..Settings::default() };
    let mut visits = Visits::new(false);
    visits.doubtful();
    let (given, _, learned) = visits.found(&settings);
    assert_eq!(given, ["0 unknowable no_reports"]);
    assert_eq!(learned, DuplicateReports::default());
}
