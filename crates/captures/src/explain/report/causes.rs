//! The causes of lost time, in sentences.

use super::super::facts::{CauseFacts, Facts, lost_by};
use super::super::quic::Protocol;
use crate::wording::{count, duration, grouped, longest_first, millis, times};
use recoup_support::stats::Durations;
use recoup_trace::finding::{Cause, Connection, LostTime, Retransmission};
use std::cmp::Reverse;
use std::time::Duration;

/// Causes that a reader wants to see as one, with the time they cost.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseLine {
    /// The causes.
    pub causes: Vec<Cause>,
    /// Their heading: `Lost SYN-ACKs`.
    pub name: &'static str,
    /// The time lost.
    pub lost: Duration,
    /// How often, and what the capture shows of it.
    pub text: String,
}

/// Causes that are shown as one.
pub(crate) const GROUPS: [(&str, &[Cause]); 19] = [
    ("Lost SYNs", &[Cause::LostSyn]),
    ("Lost SYN-ACKs", &[Cause::LostSynAck]),
    ("Lost handshakes", &[Cause::LostSynOrSynAck, Cause::LostHandshakePacket]),
    ("Unanswered SYNs", &[Cause::UnansweredSyn]),
    ("Full accept queues", &[Cause::IgnoredAck]),
    ("Lost segments", &[Cause::LostSegment, Cause::Burst]),
    ("Lost tails", &[Cause::TailByProbe, Cause::TailByTimeout]),
    ("Timeouts", &[Cause::LossByTimeout]),
    ("Lost retransmissions", &[Cause::LostRetransmission]),
    ("Reordering", &[Cause::Reordering]),
    ("Delay spikes", &[Cause::DelaySpike]),
    ("Lost or late ACKs", &[Cause::LostAcks, Cause::LateOrLostAcks]),
    ("Path MTU", &[Cause::PathMtu]),
    ("Path MTU black holes", &[Cause::MtuBlackHole]),
    ("Refused Fast Open", &[Cause::RefusedFastOpen]),
    ("No answer", &[Cause::Unanswered]),
    ("Nagle and delayed ACKs", &[Cause::NagleDelayedAck]),
    ("Zero windows", &[Cause::ZeroWindow]),
    ("Not explained", &[Cause::Unknown]),
];

/// The causes that lost time, the most expensive first.
pub fn ranked(facts: &Facts) -> Vec<CauseLine> {
    let line = |(name, causes): &(&'static str, &[Cause])| {
        let lost: Duration = causes.iter().map(|cause| facts.lost.of(*cause)).sum();
        let clauses: Vec<String> = causes.iter().filter_map(|cause| clause(facts, *cause)).collect();
        (!lost.is_zero()).then(|| CauseLine {
            causes: causes.to_vec(),
            name: heading(name, facts.protocol()),
            lost,
            text: format!("{}{}", super::sentence(&clauses, "; "), remedy(causes[0])),
        })
    };
    let mut lines: Vec<CauseLine> = GROUPS.iter().filter_map(line).collect();
    lines.sort_by_key(|line| Reverse(line.lost));
    lines
}

/// The heading of causes.
fn heading(of_tcp: &'static str, protocol: Protocol) -> &'static str {
    match (of_tcp, protocol) {
        ("Lost segments", Protocol::Quic) => "Lost packets",
        ("Zero windows", Protocol::Quic) => "Flow control",
        _ => of_tcp,
    }
}

/// The causes that cost time, the most expensive first.
pub fn costly(lost: &LostTime) -> Vec<Cause> {
    longest_first(Cause::ALL, |cause| lost.of(cause)).into_iter().map(|(cause, _)| cause).collect()
}

/// The cause that cost a connection most time; `None` if it lost none.
pub fn most_costly(connection: &Connection) -> Option<Cause> {
    costly(&lost_by(connection)).first().copied()
}

/// A cause's name in tables: `lost SYN-ACK`.
pub fn cause_title(cause: Cause) -> &'static str {
    title(cause, Protocol::Tcp)
}

/// The same in the words of a protocol.
pub fn title(cause: Cause, protocol: Protocol) -> &'static str {
    let one = names(cause, protocol).0;
    one.strip_prefix("a ").or(one.strip_prefix("an ")).unwrap_or(one)
}

/// A clause about a cause; `None` if it did not occur.
fn clause(facts: &Facts, cause: Cause) -> Option<String> {
    let n = u64::from(facts.lost.times(cause));
    if n == 0 {
        return None;
    }
    let of = &facts.causes[cause as usize];
    let protocol = facts.protocol();
    let each = each(of, facts.lost.of(cause), n);
    let often = format!("{}{each}", times(n));
    let after = format!("{}{}", found_after(&of.detection, n), several_timeouts(of, n));
    Some(match cause {
        Cause::LostSyn | Cause::LostSynAck => {
            format!("{often}: the handshake's retransmission timeout")
        }
        Cause::LostSynOrSynAck => {
            format!("{often}: a SYN or its SYN-ACK was lost, and the capture does not show which")
        }
        Cause::LostHandshakePacket => format!("{often}: a packet of the handshake was lost{after}"),
        Cause::UnansweredSyn => {
            format!("{often}: the SYN arrived, and the host answered only when it came again")
        }
        Cause::IgnoredAck => {
            format!("{often}: the host ignored the ACK that completes the handshake, as with a full accept queue")
        }
        Cause::LostSegment => format!("{} found by ACKs{after}{}", grouped(n), at_rtt(of, n)),
        Cause::Burst => {
            let size = match n {
                1 => grouped(of.segments),
                _ => format!("{:.1}", of.segments as f64 / n as f64),
            };
            let mean = if n == 1 { "" } else { " on average" };
            let packets = protocol.choose("segments", "packets");
            format!("{} of {size} {packets}{mean} found by ACKs{after}{}", count(n, "burst"), at_rtt(of, n))
        }
        Cause::TailByProbe => {
            let probe = protocol.choose("a tail loss probe", "a probe timeout (PTO)");
            format!("{} found by {probe}{after}", grouped(n))
        }
        Cause::TailByTimeout => {
            format!("{} found by the retransmission timeout{after}", grouped(n))
        }
        Cause::LossByTimeout => {
            format!(
                "{often}: the receiver had reported data sent later, but the sender waited for its retransmission timeout{after}"
            )
        }
        Cause::LostRetransmission => {
            format!("{often}: the retransmission was lost as well{}", several_timeouts(of, n))
        }
        Cause::Reordering => {
            let findings = protocol.choose("retransmission", "loss declaration");
            format!("{}, {}: packets had only arrived out of order", times(n), count(of.segments, findings))
        }
        Cause::DelaySpike => {
            format!("{often}: ACKs came later than the usual round-trip time, and nothing was lost")
        }
        Cause::LostAcks => format!("{often}: only ACKs were lost"),
        Cause::LateOrLostAcks => format!("{often}: no data was lost, but ACKs were late or lost"),
        Cause::PathMtu => format!("{often}: segments were too large for the path"),
        Cause::MtuBlackHole => format!(
            "{often}: segments of full size never arrived, smaller ones did, and no router said so (a path MTU black hole)"
        ),
        Cause::RefusedFastOpen => {
            format!(
                "{often}: the SYN carried data (TCP Fast Open), the SYN-ACK did not acknowledge it, and it was sent again"
            )
        }
        Cause::Unanswered => format!(
            "{often}: the peer or the path no longer answered, {} in vain",
            count(of.segments, "retransmission")
        ),
        Cause::NagleDelayedAck => {
            format!("{often}: small segments waited by Nagle's rule for the ACK of the one before, which came delayed")
        }
        Cause::ZeroWindow => {
            let why = protocol.choose("the receiver's window was closed", "flow control had no credit left");
            format!("{often}: {why} while data waited")
        }
        Cause::Unknown => format!("{often}: the {} does not show why", protocol.choose("capture", "trace")),
    })
}

/// The cost of an occurrence, if there are several: the mean, so that all of them together cost what is said above, and the
/// maximum where that is far from it.
fn each(of: &CauseFacts, lost: Duration, n: u64) -> String {
    if n == 1 {
        return String::new();
    }
    let mean = lost.div_f64(n as f64);
    match of.each.summary() {
        Some(each) if each.max > 2e3 * mean.as_secs_f64() => {
            format!(", {} on average and {} at most", duration(mean), millis(each.max))
        }
        _ => format!(", {} on average", duration(mean)),
    }
}

/// The time until the loss was found: of `n` losses the median.
fn found_after(detection: &Durations, n: u64) -> String {
    median(detection, n).map_or(String::new(), |median| format!(" after {median}"))
}

/// The median of the times of `n` occurrences, in words.
fn median(times: &Durations, n: u64) -> Option<String> {
    let median = millis(times.summary()?.p50);
    Some(if n > 1 { format!("{median} (median)") } else { median })
}

/// How many retransmission timeouts `n` episodes took, if that is more than one each.
fn several_timeouts(of: &CauseFacts, n: u64) -> String {
    if of.timeouts > n { format!(" ({} in all)", count(of.timeouts, "timeout")) } else { String::new() }
}

fn at_rtt(of: &CauseFacts, n: u64) -> String {
    median(&of.rtt, n).map_or(String::new(), |median| format!(", at a round-trip time of {median}"))
}

/// A sentence about a remedy.
fn remedy(cause: Cause) -> &'static str {
    match cause {
        Cause::LostSyn => {
            " A shorter timeout at the client, or a copy sent in advance, repairs a lost SYN sooner (`recoup profiles --levers syn-timeout-bpf`)."
        }
        Cause::LostSynAck => {
            " A shorter timeout, or a copy sent in advance, repairs a lost SYN-ACK sooner (`recoup profiles --levers syn-timeout-bpf`)."
        }
        Cause::NagleDelayedAck => " TCP_NODELAY, or one write in place of two, avoids it.",
        Cause::IgnoredAck => " A longer backlog (listen, net.core.somaxconn) or a faster accept avoids it.",
        Cause::MtuBlackHole => " A smaller MSS, or net.ipv4.tcp_mtu_probing=1 at the sender, avoids it.",
        _ => "",
    }
}

/// A number of occurrences in a list: `a lost SYN-ACK`, `2 bursts of losses`.
pub fn occurrences(cause: Cause, n: u64, protocol: Protocol) -> String {
    let (one, several) = names(cause, protocol);
    match (n, several) {
        (1, _) => one.into(),
        (n, "") => format!("{one} ({})", times(n)),
        (n, several) => format!("{} {several}", grouped(n)),
    }
}

/// One occurrence, and several; empty: the same.
const fn names(cause: Cause, protocol: Protocol) -> (&'static str, &'static str) {
    match (cause, protocol) {
        (Cause::LostSegment, Protocol::Quic) => return ("a lost packet", "lost packets"),
        (Cause::ZeroWindow, Protocol::Quic) => return ("a wait for credit", "waits for credit"),
        _ => {}
    }
    match cause {
        Cause::LostSyn => ("a lost SYN", "lost SYNs"),
        Cause::LostSynAck => ("a lost SYN-ACK", "lost SYN-ACKs"),
        Cause::LostSynOrSynAck => ("a lost SYN or SYN-ACK", "lost SYNs or SYN-ACKs"),
        Cause::LostHandshakePacket => ("a lost handshake packet", "lost handshake packets"),
        Cause::UnansweredSyn => ("an unanswered SYN", "unanswered SYNs"),
        Cause::IgnoredAck => ("a full accept queue", "full accept queues"),
        Cause::LostSegment => ("a lost segment", "lost segments"),
        Cause::Burst => ("a burst of losses", "bursts of losses"),
        Cause::TailByProbe => ("a lost tail, probed", "lost tails, probed"),
        Cause::TailByTimeout => ("a lost tail, timed out", "lost tails, timed out"),
        Cause::LossByTimeout => ("a timeout", "timeouts"),
        Cause::LostRetransmission => ("a lost retransmission", "lost retransmissions"),
        Cause::Reordering => ("reordering", ""),
        Cause::DelaySpike => ("a delay spike", "delay spikes"),
        Cause::LostAcks => ("lost ACKs", ""),
        Cause::LateOrLostAcks => ("late or lost ACKs", ""),
        Cause::PathMtu => ("a segment too large", "segments too large"),
        Cause::MtuBlackHole => ("a path MTU black hole", "path MTU black holes"),
        Cause::RefusedFastOpen => ("a refused Fast Open", "refused Fast Opens"),
        Cause::Unanswered => ("no answer", ""),
        Cause::NagleDelayedAck => ("a wait for a delayed ACK", "waits for delayed ACKs"),
        Cause::ZeroWindow => ("a zero window", "zero windows"),
        Cause::Unknown => ("an unexplained episode", "unexplained episodes"),
    }
}

/// An episode of a connection in a few words: its cause, and why its first retransmission was sent.
pub fn episode(row: &Retransmission, cause: Cause) -> String {
    let after = match row.detection {
        Some(detection) => format!(" after {}", duration(detection)),
        None => String::new(),
    };
    let (triggers, verdict) = (row.triggers, row.verdict.name());
    let (protocol, found) = match triggers.quic() {
        None => (Protocol::Tcp, "first retransmission"),
        Some(_) => (Protocol::Quic, "found by"),
    };
    let cause = names(cause, protocol).0;
    format!("{cause} ({found}: {triggers}{after}, {verdict})")
}
