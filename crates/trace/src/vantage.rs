//! Where a capture was taken, for data going one way.
//!
//! ```text
//!        near                far
//! sender ─────── capture ─────── receiver
//! share = near / (near + far)
//! ```
//! `near` and `far` are the least times the sender and the receiver took to answer what passed the
//! place of capture towards them: in the handshake, by acknowledging data, by echoing timestamps
//! (RFC 7323 §4.1). Where the capture itself says which packets its host sent, that decides.

use crate::finding::Vantage;
use std::time::Duration;

/// At an end up to this share of the round trip, in percent: hosts take some time to answer.
const AT_AN_END: u128 = 10;

/// In round trips shorter than this hosts take as much time as the path: shares tell little.
const SHORT: Duration = Duration::from_micros(100);

/// The vantage of data whose sender takes `near` to answer, and whose receiver `far`. `outgoing`:
/// whether the capturing host sent it, where the capture says so. `one_host`: both ends are.
pub(crate) fn of(
    near: Option<Duration>,
    far: Option<Duration>,
    outgoing: Option<bool>,
    one_host: bool,
) -> Vantage {
    match outgoing {
        Some(true) => return Vantage::Sender,
        Some(false) => return Vantage::Receiver,
        None => {}
    }
    let (Some(near), Some(far)) = (near, far) else {
        return Vantage::Unknown;
    };
    let whole = near + far;
    let percent = near.as_nanos() * 100;
    let short = whole < SHORT;
    if (short && one_host) || percent <= whole.as_nanos() * AT_AN_END {
        Vantage::Sender
    } else if percent >= whole.as_nanos() * (100 - AT_AN_END) {
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
    fn the_share_of_the_round_trip_tells() {
        use Vantage::{Between, Receiver, Sender, Unknown};
        let us = Duration::from_micros;
        // (near, far in µs, said by the capture, one host, vantage)
        let cases = [
            (Some(40), Some(60_000), None, false, Sender),
            (Some(60_000), Some(40), None, false, Receiver),
            (Some(20_000), Some(40_000), None, false, Between),
            (Some(400), Some(4_000), None, false, Sender),
            (Some(20), Some(30), None, true, Sender),
            // Delayed within the host.
            (Some(20_000), Some(20_000), None, true, Between),
            // A datacentre's.
            (Some(20), Some(30), None, false, Unknown),
            (Some(3), Some(60), None, false, Sender),
            (Some(60), Some(3), None, false, Receiver),
            (None, Some(60_000), None, false, Unknown),
            (Some(40), None, None, false, Unknown),
            (None, None, Some(true), false, Sender),
            (Some(40), Some(60_000), Some(false), false, Receiver),
        ];
        for (near, far, said, one_host, vantage) in cases {
            let got = of(near.map(us), far.map(us), said, one_host);
            assert_eq!(got, vantage, "{near:?} {far:?} {said:?} {one_host}");
        }
    }
}
