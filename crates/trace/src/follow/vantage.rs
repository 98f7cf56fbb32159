//! Where a direction was captured.
//!
//! ```text
//!        near                far
//! sender ─────── capture ─────── receiver
//! share = near / (near + far)
//! ```
//! `near` and `far` are the shortest times in which sender and receiver answered what passed the
//! capture point: a SYN, data, or a timestamp (RFC 7323 §4.1). If the capture says which packets
//! its host sent, that decides.

use crate::finding::Vantage;

/// Where one end answers this many times sooner than the other, the capture was taken at that end: hosts take some
/// time to answer. That is a tenth of the round trip.
const AT_AN_END: u64 = 9;

/// In shorter round trips, hosts take as long as the path, so the share says little. In ns.
const SHORT: u64 = 100_000;

/// The capture point of data whose sender answers in `near` ns and whose receiver answers in `far` ns.
/// `outgoing`: whether the capturing host sent it, if the capture says so. `one_host`: both ends
/// are on the same host.
pub(crate) fn of(
    near: Option<u64>,
    far: Option<u64>,
    outgoing: Option<bool>,
    one_host: impl FnOnce() -> bool,
) -> Vantage {
    match outgoing {
        Some(true) => return Vantage::Sender,
        Some(false) => return Vantage::Receiver,
        None => {}
    }
    let (Some(near), Some(far)) = (near, far) else {
        return Vantage::Unknown;
    };
    let short = near.saturating_add(far) < SHORT;
    if (short && one_host()) || near <= far / AT_AN_END {
        Vantage::Sender
    } else if far <= near / AT_AN_END {
        Vantage::Receiver
    } else if short {
        Vantage::Unknown
    } else {
        Vantage::Between
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_round_trip_gives_the_capture_point() {
        use Vantage::{Between, Receiver, Sender, Unknown};
        let us = |us: u64| us * 1000;
        // (near and far in µs, outgoing, one host, capture point)
        let cases = [
            (Some(40), Some(60_000), None, false, Sender),
            (Some(60_000), Some(40), None, false, Receiver),
            (Some(20_000), Some(40_000), None, false, Between),
            (Some(400), Some(4_000), None, false, Sender),
            (Some(400), Some(3_600), None, false, Sender),
            (Some(400), Some(3_599), None, false, Between),
            (Some(3_600), Some(400), None, false, Receiver),
            (Some(3_599), Some(400), None, false, Between),
            (Some(20), Some(30), None, true, Sender),
            // Delayed within the host.
            (Some(20_000), Some(20_000), None, true, Between),
            // Within a data centre.
            (Some(20), Some(30), None, false, Unknown),
            (Some(3), Some(60), None, false, Sender),
            (Some(60), Some(3), None, false, Receiver),
            (None, Some(60_000), None, false, Unknown),
            (Some(40), None, None, false, Unknown),
            (None, None, Some(true), false, Sender),
            (Some(40), Some(60_000), Some(false), false, Receiver),
        ];
        for (near, far, outgoing, one_host, vantage) in cases {
            let got = of(near.map(us), far.map(us), outgoing, || one_host);
            assert_eq!(got, vantage, "{near:?} {far:?} {outgoing:?} {one_host}");
        }
    }
}
