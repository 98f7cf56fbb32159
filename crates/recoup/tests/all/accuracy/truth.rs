//! The truth about every packet sent, and about the retransmissions among them.

use recoup_recovery::Trigger;
use recoup_tcp::flow::{Host, SpuriousRetransmissions};
use recoup_trace::finding::Verdict;
use recoup_units::{Offset, Span};
use std::collections::BTreeMap;

/// What a packet with sequence space carries. Each kind is scored by itself.
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

    /// A FIN with payload counts as data.
    pub const fn of(syn: bool, payload: bool) -> Self {
        match (syn, payload) {
            (true, _) => Self::Syn,
            (false, true) => Self::Data,
            (false, false) => Self::Fin,
        }
    }
}

/// Why a packet was retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Trigger(Trigger),
    /// An extra copy sent before any loss. It has no trigger.
    Copy,
    /// The truth does not include the reason.
    Unknown,
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
    /// Its frame in the capture at its receiver, if it arrived. The first one if the path duplicated it.
    pub arrived: Option<u64>,
    /// Whether its checksum was correct on arrival.
    pub intact: bool,
    /// `None` if its sender reported it as a first transmission.
    pub reason: Option<Reason>,
}

/// A retransmission with the true reason and verdict.
#[derive(Clone, Copy, Debug)]
pub struct TrueRetransmission {
    pub sent: Sent,
    pub reason: Reason,
    pub verdict: Verdict,
}

/// The retransmissions among all packets, which are ordered by the time of sending. A packet is a
/// retransmission if its sequence space begins below the highest sent before. It is spurious if earlier
/// copies deliver every byte of it, even if they arrive later.
pub fn retransmissions(sent: &[Sent]) -> Vec<TrueRetransmission> {
    let mut streams: BTreeMap<(u64, Host), Vec<&Sent>> = BTreeMap::new();
    for packet in sent {
        let stream = streams.entry((packet.flow, packet.by));
        stream.or_default().push(packet);
    }
    streams.values().flat_map(|stream| of_one(stream)).collect()
}

fn of_one(stream: &[&Sent]) -> Vec<TrueRetransmission> {
    let mut highest = Offset::SYN;
    let mut found = Vec::new();
    for (i, packet) in stream.iter().enumerate() {
        if packet.span.start < highest {
            found.push(TrueRetransmission {
                sent: **packet,
                reason: packet.reason.unwrap_or(Reason::Unknown),
                verdict: verdict(packet.span, &stream[..i]),
            });
        }
        highest = highest.max(packet.span.end);
    }
    found
}

/// Applies the simulator's own rule to one packet and all packets sent before it.
fn verdict(span: Span, earlier: &[&Sent]) -> Verdict {
    let mut ledger = SpuriousRetransmissions::default();
    ledger.on_retransmission(earlier.len() as u64, true, |missing| missing(span));
    for (ordinal, copy) in earlier.iter().enumerate() {
        if copy.arrived.is_some() && copy.intact {
            ledger.on_arrival(ordinal as u64, copy.span);
        }
    }
    match ledger.spurious().all {
        0 => Verdict::Needed,
        _ => Verdict::Spurious,
    }
}

#[test]
fn a_retransmission_is_spurious_if_earlier_copies_deliver_every_byte() {
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
    // (packets in order, the verdict on each retransmission)
    type Case = (Vec<Sent>, Vec<Verdict>);
    let (needed, spurious) = (Verdict::Needed, Verdict::Spurious);
    let cases: [Case; 5] = [
        (vec![packet(1, 5, true), packet(5, 9, false)], vec![]),
        (vec![packet(1, 5, true), packet(1, 5, true)], vec![spurious]),
        (vec![packet(1, 5, false), packet(1, 5, false)], vec![needed]),
        // Half of its bytes never arrived before.
        (vec![packet(1, 5, true), packet(5, 9, false), packet(1, 9, true)], vec![needed]),
        // The second copy arrived, so the third was spurious.
        (vec![packet(1, 5, false), packet(1, 5, true), packet(1, 5, true)], vec![needed, spurious]),
    ];
    for (sent, expected) in cases {
        let found: Vec<_> = retransmissions(&sent).iter().map(|a| a.verdict).collect();
        assert_eq!(found, expected, "{sent:?}");
    }
}
