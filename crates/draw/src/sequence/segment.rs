//! Facts of TCP segments that a time–sequence diagram shows.

use super::Control;
use recoup_units::Offset;
use recoup_wire::{Flags, Segment};

/// The flags of a segment that begins at `start`, and the offset of each (RFC 9293 §3.4: a SYN comes
/// before the data, a FIN after it).
pub fn control_flags(segment: &Segment, start: Offset) -> impl Iterator<Item = (Control, Offset)> + use<> {
    let syn = u64::from(segment.flags.contains(Flags::SYN));
    let has = |flag| segment.flags.contains(flag);
    [
        (has(Flags::SYN), Control::Syn, start),
        (has(Flags::FIN), Control::Fin, start + syn + u64::from(segment.payload_len)),
        (has(Flags::RST), Control::Reset, start),
    ]
    .into_iter()
    .filter_map(|(has, flag, offset)| has.then_some((flag, offset)))
}

/// The end of the receive window that an ACK of `una` offers. `scales` are those of the two SYNs. They
/// apply only when both SYNs offered one, and never to a SYN itself (RFC 7323 §2.2). The result is
/// `None` unless both SYNs were seen.
pub fn window_edge(una: Offset, field: u16, flags: Flags, scales: [Option<Option<u8>>; 2]) -> Option<Offset> {
    let [own, peer] = scales;
    let scale = match (flags.contains(Flags::SYN), own?, peer?) {
        (false, Some(_), Some(scale)) => scale.min(14),
        _ => 0,
    };
    Some(una + (u64::from(field) << scale))
}
