//! The host's budget of challenge ACKs (RFC 5961 §7).
//!
//! An endpoint answers a segment that may be a blind attack with a challenge ACK. So that nobody can make
//! a host send such ACKs at will, the host sends at most about [`PER_SECOND`] over all its connections. The
//! exact number is drawn anew each second, because an attacker who knows the limit can learn from it what
//! other connections caused (CVE-2016-5696). A challenge ACK beyond the budget is not sent.

use recoup_units::Instant;

use super::Secret;

/// The mean budget, in challenge ACKs per second: each second's is at least half of it and less than one
/// and a half times.
const PER_SECOND: u32 = 1000;

/// Challenge ACKs left to send in this second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChallengeBudget {
    second: Option<u64>,
    left: u32,
}

impl ChallengeBudget {
    /// Whether one more challenge ACK may be sent now. If so it is counted.
    pub fn spend(&mut self, now: Instant, secret: &Secret) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if self.second != Some(second) {
            self.second = Some(second);
            self.left = PER_SECOND / 2 + secret.below(PER_SECOND, second);
        }
        let allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_drawn_anew_each_second() {
        let secret = Secret::from_key([3; 16]);
        let mut budget = ChallengeBudget::default();
        let mut allowed = |second: u64| {
            let now = Instant::from_millis(second * 1000);
            (0..10_000).filter(|_| budget.spend(now, &secret)).count()
        };
        let counts: Vec<usize> = (0..50).map(&mut allowed).collect();
        assert!(counts.iter().all(|n| (500..1500).contains(n)), "{counts:?}");
        assert!(counts.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
