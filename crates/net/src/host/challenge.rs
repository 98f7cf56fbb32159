//! How many challenge ACKs go out, whatever the connection (RFC 5961 §7).
//!
//! An endpoint answers a segment that may be a blind attack by saying where it is. So that nobody can
//! have a host send such answers at will, there are at most about [`MOST`] a second; how many exactly is
//! drawn anew each second, since a limit that is known tells an attacker what others caused
//! (CVE-2016-5696). What would draw one too many is dropped unread, as if lost.

use recoup_tcp::{Endpoint, State};
use recoup_units::Instant;
use recoup_wire::{Flags, Segment, SeqNumber};

use super::Secret;

/// Challenge ACKs a second: at least half of it, and less than one and a half.
const MOST: u32 = 1000;

/// Counts challenge ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChallengeLimit {
    second: Option<u64>,
    left: u32,
}

impl ChallengeLimit {
    /// Whether one more may go now; if so it is counted.
    pub fn allows(&mut self, now: Instant, secret: &Secret) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if self.second != Some(second) {
            self.second = Some(second);
            self.left = MOST / 2 + secret.below(MOST, second);
        }
        let allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        allowed
    }
}

/// Whether all that `segment` can do to `endpoint` is to draw a challenge ACK (RFC 5961 §3.2, §4.2,
/// §5.2). `isn` is the endpoint's, `peer_isn` the peer's.
pub(crate) fn is_challenged(
    endpoint: &Endpoint,
    isn: SeqNumber,
    peer_isn: SeqNumber,
    segment: &Segment,
) -> bool {
    let synchronized = !matches!(
        endpoint.state(),
        State::Listen | State::SynSent | State::SynReceived | State::Closed(_)
    );
    if !synchronized {
        return false;
    }
    if segment.flags.contains(Flags::RST) {
        return segment.seq != peer_isn.at(endpoint.receiver().next());
    }
    if segment.flags.contains(Flags::SYN) {
        return true;
    }
    // An ACK of what was never sent.
    let sender = endpoint.sender();
    let acked = segment.ack.unwrap(isn, sender.una());
    segment.flags.contains(Flags::ACK) && acked.is_none_or(|acked| acked > sender.nxt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_drawn_anew_each_second() {
        let secret = Secret::from_key([3; 16]);
        let mut limit = ChallengeLimit::default();
        let mut allowed = |second: u64| {
            let now = Instant::from_millis(second * 1000);
            (0..10_000).filter(|_| limit.allows(now, &secret)).count()
        };
        let counts: Vec<usize> = (0..50).map(&mut allowed).collect();
        assert!(counts.iter().all(|n| (500..1500).contains(n)), "{counts:?}");
        assert!(counts.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
