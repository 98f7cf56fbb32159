//! What is known of every packet sent, and what that makes of those sent again.

use recoup_recovery::Trigger;
use recoup_tcp::flow::{Host, SpuriousRetransmissions};
use recoup_trace::finding::Verdict;
use recoup_units::{Offset, Span};
use std::collections::BTreeMap;

/// What a packet with sequence space carries; the evidence for each is of another sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carries {
    Data,
    Fin,
    Syn,
}

impl Carries {
    pub const ALL: [Self; 3] = [Self::Data, Self::Fin, Self::Syn];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Fin => "FIN",
            Self::Syn => "SYN",
        }
    }

    /// A FIN that comes with data is data.
    pub const fn of(syn: bool, payload: bool) -> Self {
        match (syn, payload) {
            (true, _) => Self::Syn,
            (false, true) => Self::Data,
            (false, false) => Self::Fin,
        }
    }
}

/// Why something was sent again, as far as the truth tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Trigger(Trigger),
    /// An extra copy in advance of any loss, which has no trigger.
    Copy,
    /// The truth says that it was sent again, not why.
    Untold,
}

/// A packet with sequence space, as sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub flow: u64,
    pub by: Host,
    pub span: Span,
    pub carries: Carries,
    /// Its frame in the capture at its sender, from 1.
    pub frame: u64,
    /// Its frame in the capture at its receiver, where it arrived there: the first, where the path
    /// doubled it.
    pub arrived: Option<u64>,
    /// Its receiver could read it.
    pub intact: bool,
    /// `None`: as far as its sender said, it was sent for the first time.
    pub reason: Option<Reason>,
}

/// A packet sent again.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    pub sent: Sent,
    pub reason: Reason,
    pub verdict: Verdict,
}

/// Those of all packets, in the order they were sent, that are retransmissions: whose sequence space
/// begins below the highest sent before. Spurious is one of which earlier copies deliver every byte,
/// whenever they do.
pub fn retransmissions(sent: &[Sent]) -> Vec<Again> {
    let mut streams: BTreeMap<(u64, Host), Vec<&Sent>> = BTreeMap::new();
    for packet in sent {
        let stream = streams.entry((packet.flow, packet.by));
        stream.or_default().push(packet);
    }
    streams.values().flat_map(|stream| of_one(stream)).collect()
}

fn of_one(stream: &[&Sent]) -> Vec<Again> {
    let mut highest = Offset::SYN;
    let mut again = Vec::new();
    for (i, packet) in stream.iter().enumerate() {
        if packet.span.start < highest {
            again.push(Again {
                sent: **packet,
                reason: packet.reason.unwrap_or(Reason::Untold),
                verdict: verdict(packet.span, &stream[..i]),
            });
        }
        highest = highest.max(packet.span.end);
    }
    again
}

/// The simulator's own rule, asked about one packet with all that was sent before it.
fn verdict(span: Span, earlier: &[&Sent]) -> Verdict {
    let mut ledger = SpuriousRetransmissions::default();
    ledger.on_retransmission(earlier.len() as u64, |missing| missing(span));
    for (ordinal, copy) in earlier.iter().enumerate() {
        if copy.arrived.is_some() && copy.intact {
            ledger.on_arrival(ordinal as u64, copy.span);
        }
    }
    match ledger.spurious() {
        0 => Verdict::Needed,
        _ => Verdict::Spurious,
    }
}

#[test]
fn what_is_spurious_by_the_rule() {
    let packet = |start, end, arrived: bool| Sent {
        flow: 0,
        by: Host::Server,
        span: Span::new(Offset(start), Offset(end)),
        carries: Carries::Data,
        frame: 1,
        arrived: arrived.then_some(1),
        intact: true,
        reason: None,
    };
    // (packets in order, the verdict on each sent again)
    type Case = (Vec<Sent>, Vec<Verdict>);
    let (needed, spurious) = (Verdict::Needed, Verdict::Spurious);
    let cases: [Case; 5] = [
        (vec![packet(1, 5, true), packet(5, 9, false)], vec![]),
        (vec![packet(1, 5, true), packet(1, 5, true)], vec![spurious]),
        (vec![packet(1, 5, false), packet(1, 5, false)], vec![needed]),
        // Half of it had never arrived.
        (
            vec![packet(1, 5, true), packet(5, 9, false), packet(1, 9, true)],
            vec![needed],
        ),
        // The copy in between arrived.
        (
            vec![packet(1, 5, false), packet(1, 5, true), packet(1, 5, true)],
            vec![needed, spurious],
        ),
    ];
    for (sent, expected) in cases {
        let found: Vec<_> = retransmissions(&sent).iter().map(|a| a.verdict).collect();
        assert_eq!(found, expected, "{sent:?}");
    }
}
