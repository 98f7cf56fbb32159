//! Proportional rate reduction with the slow-start reduction bound (PRR-SSRB).
//!
//! ```text
//! on each ACK:  prr_delivered += delivered
//!   pipe > ssthresh:  sndcnt = ⌈prr_delivered · ssthresh / RecoverFS⌉ − prr_out
//!   otherwise:        sndcnt = min(ssthresh − pipe, max(prr_delivered − prr_out, delivered) + 1)
//! on entering recovery at least one segment goes
//! cwnd = pipe + sndcnt
//! ```
//! Source: RFC 6937 §3; the 2011 paper's algorithm 2.
//!
//! Deviations, as in Linux 3.17 (`tcp_cwnd_reduction`): counted in segments; RecoverFS is the
//! congestion window on entry rather than the flight size.

use recoup_units::Segments;

/// The state of one reduction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    recover_flight: Segments,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// Begins a reduction from `cwnd`.
    pub fn enter(cwnd: Segments) -> Self {
        Self {
            recover_flight: cwnd,
            delivered: 0,
            out: 0,
        }
    }

    /// A segment was sent.
    pub fn on_sent(&mut self) {
        self.out += 1;
    }

    /// The congestion window after an ACK that delivered `delivered`. `entering`: this ACK begins
    /// the recovery.
    pub fn on_ack(
        &mut self,
        delivered: Segments,
        pipe: Segments,
        ssthresh: Segments,
        entering: bool,
    ) -> Segments {
        self.delivered += u64::from(delivered.0);
        let allowed = if pipe > ssthresh {
            let share = self.delivered * u64::from(ssthresh.0);
            share
                .div_ceil(u64::from(self.recover_flight.0.max(1)))
                .saturating_sub(self.out)
        } else {
            let slow_start = self
                .delivered
                .saturating_sub(self.out)
                .max(u64::from(delivered.0))
                + 1;
            slow_start.min(u64::from((ssthresh - pipe).0))
        };
        pipe + Segments(allowed.max(u64::from(entering)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs ACKs through one reduction, sending all it allows, and returns what was sent on each.
    /// `acks`: (delivered, marked lost by this ACK).
    fn sends(cwnd: u32, ssthresh: u32, mut pipe: u32, acks: &[(u32, u32)]) -> Vec<u32> {
        let mut prr = Prr::enter(Segments(cwnd));
        acks.iter()
            .enumerate()
            .map(|(i, &(delivered, lost))| {
                pipe = pipe - delivered - lost;
                let window = prr.on_ack(
                    Segments(delivered),
                    Segments(pipe),
                    Segments(ssthresh),
                    i == 0,
                );
                let sent = window.0.saturating_sub(pipe);
                (0..sent).for_each(|_| prr.on_sent());
                pipe += sent;
                sent
            })
            .collect()
    }

    #[test]
    fn proportional_part_spreads_the_reduction() {
        // One segment of 20 lost: 19 ACKs, the window halves, every second ACK sends
        // (RFC 6937 §1; the first ACK's send is the fast retransmit).
        let mut acks = vec![(1, 1)];
        acks.extend([(1, 0); 18]);
        let sent = sends(20, 10, 20, &acks);
        assert_eq!(sent.iter().sum::<u32>(), 10);
        assert_eq!(sent[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
        // CUBIC's seven for ten.
        let sent = sends(20, 14, 20, &acks);
        assert_eq!(sent.iter().sum::<u32>(), 14);
    }

    #[test]
    fn slow_start_bound_sends_one_more_than_delivered() {
        // Heavy loss: 16 of 20 lost at once leaves pipe 3 far below ssthresh 10.
        assert_eq!(
            sends(20, 10, 20, &[(1, 16), (1, 0), (1, 0), (1, 0), (1, 0)]),
            [2, 2, 2, 2, 2]
        );
    }

    #[test]
    fn entering_sends_one_even_when_the_proportion_says_none() {
        assert_eq!(sends(100, 10, 100, &[(0, 0)]), [1]);
    }

    #[test]
    fn a_stretch_ack_releases_what_was_banked() {
        // Nothing was available to send for three ACKs: the bank holds their deliveries.
        let mut prr = Prr::enter(Segments(20));
        for pipe in [15, 14, 13] {
            prr.on_ack(Segments(1), Segments(pipe), Segments(10), false);
        }
        let window = prr.on_ack(Segments(4), Segments(9), Segments(10), false);
        assert_eq!(window, Segments(10));
        let window = prr.on_ack(Segments(4), Segments(2), Segments(10), false);
        assert_eq!(window, Segments(10));
    }
}
