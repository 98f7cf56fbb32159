//! Compares an expected packet with a packet seen, in all parts.

use crate::packet::{Packet, TcpOption, flag_text, options_text};
use crate::wire::Clock;
use recoup_wire::Flags;

/// An expected segment: a script's packet, or a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub packet: Packet,
    /// Whether the segment may have PSH, as the end of a burst, although the script has none.
    pub may_push: bool,
}

/// The differences between the packets; empty if there are none. Learns the script's clock.
pub(crate) fn differences(expected: &Expected, actual: &Packet, clock: &mut Clock) -> Vec<String> {
    let mut found = Vec::new();
    let Expected { packet: expected, may_push } = expected;
    let allowed = match may_push {
        true => actual.flags.without(Flags::PSH),
        false => actual.flags,
    };
    if let (Some(expected), Some(actual)) = (expected.mark, actual.mark)
        && !expected.allows(actual)
    {
        found.push(format!("{} instead of {}", actual.name(), expected.name()));
    }
    if expected.flags != allowed {
        let (expected, actual) = (flag_text(expected.flags), flag_text(actual.flags));
        found.push(format!("flags {actual} instead of {expected}"));
    }
    if (expected.seq, expected.payload_len) != (actual.seq, actual.payload_len) {
        found.push(format!("sequence {} instead of {}", sequence(actual), sequence(expected)));
    }
    // Without the flag there is no number, and the difference is in the flags.
    if let (Some(expected), Some(actual)) = (expected.ack, actual.ack)
        && expected != actual
    {
        found.push(format!("ack {actual} instead of {expected}"));
    }
    if let (Some(expected), Some(actual)) = (expected.window, actual.window)
        && expected != actual
    {
        found.push(format!("win {actual} instead of {expected}"));
    }
    if let Some(options) = &expected.options {
        let actual = actual.options.as_deref().unwrap_or_default();
        if found.is_empty() {
            learn(options, actual, clock);
        }
        let actual = in_script_time(actual, clock);
        if !same(options, &actual, clock) {
            let or_none = |text: String| if text.is_empty() { "none".into() } else { text };
            let (expected, actual) = (options_text(options), options_text(&actual));
            found.push(format!("options {} instead of {}", or_none(actual), or_none(expected)));
        }
    }
    found
}

fn sequence(packet: &Packet) -> String {
    let Packet { seq, payload_len, .. } = packet;
    format!("{seq}:{}({payload_len})", seq.wrapping_add(*payload_len))
}

fn timestamp(options: &[TcpOption]) -> Option<u32> {
    options.iter().find_map(|option| match option {
        TcpOption::Timestamps(value, _) => Some(*value),
        _ => None,
    })
}

fn learn(expected: &[TcpOption], actual: &[TcpOption], clock: &mut Clock) {
    if let (Some(theirs), Some(ours)) = (timestamp(expected), timestamp(actual)) {
        clock.learn(theirs, ours);
    }
}

fn same(expected: &[TcpOption], actual: &[TcpOption], clock: &Clock) -> bool {
    expected.len() == actual.len()
        && expected.iter().zip(actual).all(|pair| match pair {
            (TcpOption::Timestamps(_, a), TcpOption::Timestamps(_, b)) if clock.has_names() => a == b,
            (expected, actual) => expected == actual,
        })
}

/// The options with the timestamp's value on the script's clock.
pub(crate) fn in_script_time(options: &[TcpOption], clock: &Clock) -> Vec<TcpOption> {
    let translated = options.iter().map(|option| match option {
        TcpOption::Timestamps(value, echo) => TcpOption::Timestamps(clock.to_script(*value), *echo),
        other => other.clone(),
    });
    translated.collect()
}

/// The segments that a packet stands for. A packet longer than a segment means several, as in captures
/// above a device with segmentation offload; PSH and FIN are on the last. With `bursts`, earlier
/// segments may have PSH too, at the ends of bursts.
pub(crate) fn segments(packet: &Packet, mss: u32, bursts: bool) -> Vec<Expected> {
    let mss = mss.max(1);
    let ends = Flags::PSH | Flags::FIN;
    let mut segments = Vec::new();
    let mut done = 0;
    loop {
        let payload_len = mss.min(packet.payload_len - done);
        let last = done + payload_len == packet.payload_len;
        segments.push(Expected {
            packet: Packet {
                seq: packet.seq.wrapping_add(done),
                payload_len,
                flags: if last { packet.flags } else { packet.flags.without(ends) },
                ..packet.clone()
            },
            may_push: bursts && !last,
        });
        if last {
            return segments;
        }
        done += payload_len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flags: Flags, seq: u32, payload_len: u32, options: Vec<TcpOption>) -> Packet {
        Packet { mark: None, flags, seq, payload_len, ack: Some(1), window: Some(100), options: Some(options) }
    }

    fn exactly(packet: Packet) -> Expected {
        Expected { packet, may_push: false }
    }

    #[test]
    fn every_part_is_compared() {
        let data = packet(Flags::ACK, 1, 1000, vec![TcpOption::Nop]);
        let cases: [(Packet, &[&str]); 7] = [
            (data.clone(), &[]),
            (Packet { flags: Flags::ACK | Flags::PSH, ..data.clone() }, &["flags . instead of P."]),
            (Packet { payload_len: 999, ..data.clone() }, &["sequence 1:1001(1000) instead of 1:1000(999)"]),
            (Packet { ack: Some(2), window: Some(7), ..data.clone() }, &["ack 1 instead of 2", "win 100 instead of 7"]),
            (Packet { window: None, options: None, ..data.clone() }, &[]),
            (Packet { options: Some(vec![]), ..data.clone() }, &["options <nop> instead of none"]),
            (
                Packet { options: Some(vec![TcpOption::Nop, TcpOption::Nop]), ..data.clone() },
                &["options <nop> instead of <nop,nop>"],
            ),
        ];
        for (expected, found) in cases {
            let text = expected.to_string();
            let seen = differences(&exactly(expected), &data, &mut Clock::default());
            assert_eq!(seen, found, "{text}");
        }
    }

    #[test]
    fn the_first_timestamp_sets_the_clock_for_all_others() {
        let stamped = |value| packet(Flags::ACK, 1, 0, vec![TcpOption::Timestamps(value, 5)]);
        let mut clock = Clock::default();
        let mut found = |expected, actual| differences(&exactly(stamped(expected)), &stamped(actual), &mut clock);
        assert!(found(1000, 1).is_empty());
        assert!(found(1100, 101).is_empty());
        let found = found(1100, 102);
        assert_eq!(found, ["options <TS val 1101 ecr 5> instead of <TS val 1100 ecr 5>"]);
    }

    #[test]
    fn a_long_packet_stands_for_its_segments() {
        let long = packet(Flags::ACK | Flags::PSH, 1, 2500, vec![]);
        let parts = segments(&long, 1000, false);
        let parts: Vec<String> = parts.iter().map(|part| part.packet.to_string()).collect();
        let expected =
            [". 1:1001(1000) ack 1 win 100", ". 1001:2001(1000) ack 1 win 100", "P. 2001:2501(500) ack 1 win 100"];
        assert_eq!(parts, expected);
        let empty = packet(Flags::ACK, 1, 0, vec![]);
        assert_eq!(segments(&empty, 1000, true).len(), 1);
    }

    #[test]
    fn bursts_may_end_with_psh_within_a_packet_but_not_at_its_end() {
        let line = packet(Flags::ACK, 1, 2000, vec![]);
        // (bursts, [whether the first segment may have PSH, whether the second may])
        for (bursts, allowed) in [(false, [false, false]), (true, [true, false])] {
            let parts = segments(&line, 1000, bursts);
            let passes = |part: &Expected| {
                let pushed = Packet { flags: part.packet.flags | Flags::PSH, ..part.packet.clone() };
                let clock = &mut Clock::default();
                assert!(differences(part, &part.packet, clock).is_empty());
                differences(part, &pushed, clock).is_empty()
            };
            assert_eq!([passes(&parts[0]), passes(&parts[1])], allowed, "{bursts}");
        }
    }
}
