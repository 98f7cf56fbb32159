//! Compares an expected packet with a packet seen, in all parts.

use crate::{
    packet::{Packet, TcpOption, flag_text, options_text},
    wire::Clock,
};
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
