//! Compares an expected packet with a packet seen, in all parts.

use crate::{
    packet::{Packet, TcpOption, flag_text, options_text},
    wire::Clock,
};
use recoup_wire::Flags;
use std::mem::discriminant;

/// An expected segment: a script's packet, or a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub packet: Packet,
    /// Whether the segment may have PSH, as the end of a burst, although the script has none.
    pub may_push: bool,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Everything, as our endpoint must have it.
    Exact,
    /// What a script may ask of any stack. PSH, the order of options and their padding are not compared. In a SYN, the script
    /// lists the options that are allowed, whatever their values.
    Guest,
}

/// The differences between the packets; empty if there are none. Learns the script's clock.
pub(crate) fn differences(
    expected: &Expected,
    actual: &Packet,
    clock: &mut Clock,
    strictness: Strictness,
) -> Vec<String> {
    match strictness {
        Strictness::Exact => exact_differences(expected, actual, clock),
        Strictness::Guest => {
            let seen = loosely(actual);
            let mut wanted = loosely(&expected.packet);
            if let (true, Some(allowed), Some(options)) =
                (seen.flags.contains(Flags::SYN), &wanted.options, &seen.options)
            {
                let listed = |option: &TcpOption| allowed.iter().any(|a| discriminant(a) == discriminant(option));
                let all = options.iter().all(listed);
                wanted.options = if all { None } else { wanted.options };
            }
            exact_differences(&Expected { packet: wanted, may_push: false }, &seen, clock)
        }
    }
}

/// A packet without PSH and padding, its options in an order of their own.
fn loosely(packet: &Packet) -> Packet {
    let options = packet.options.as_ref().map(|options| {
        let padding = |option: &&TcpOption| !matches!(option, TcpOption::Nop | TcpOption::EndOfList);
        let mut options: Vec<TcpOption> = options.iter().filter(padding).cloned().collect();
        options.sort_by_key(|option| match option {
            TcpOption::Mss(_) => 2,
            TcpOption::WindowScale(_) => 3,
            TcpOption::SackPermitted => 4,
            TcpOption::Sack(_) => 5,
            TcpOption::Timestamps(..) => 8,
            TcpOption::Nop | TcpOption::EndOfList | TcpOption::Other(_) => 9,
        });
        options
    });
    Packet { flags: packet.flags.without(Flags::PSH), options, mark: None, ..packet.clone() }
}

fn exact_differences(expected: &Expected, actual: &Packet, clock: &mut Clock) -> Vec<String> {
    let mut found = Vec::new();
    let Expected { packet: expected, may_push } = expected;
    let allowed = if *may_push { actual.flags.without(Flags::PSH) } else { actual.flags };
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

/// What is allowed by `packet` in the place of `seen`. A packet longer than a segment allows all segments within it.
pub(crate) fn allowed(packet: &Packet, seen: &Packet, mss: u32) -> Expected {
    let mut allowed = packet.clone();
    let end = seen.seq.wrapping_sub(packet.seq).checked_add(seen.payload_len);
    if packet.payload_len > mss && seen.payload_len > 0 && end.is_some_and(|end| end <= packet.payload_len) {
        (allowed.seq, allowed.payload_len) = (seen.seq, seen.payload_len);
    }
    Expected { packet: allowed, may_push: false }
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
mod tests;
