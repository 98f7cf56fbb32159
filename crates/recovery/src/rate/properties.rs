//! The claims of the 2011 paper's §4.3 on proportional rate reduction, each with its exact bound in
//! segments. `n` is the number of ACKs processed, `D` the segments delivered (prr_delivered), `out` the
//! segments sent (prr_out), `F` is RecoverFS, and `s` is ssthresh.
//!
//! ```text
//! slow-start bound     out ≤ D + n, so ≤ 2·D if every ACK delivers
//! conservative bound   out ≤ D + 1, the 1 only for the first retransmission
//! safe ACK (RFC 9937)  out ≤ D + (ACKs that were safe) + 1
//! any bound            out = pipe = s when all that is not lost is delivered, if F segments were to be
//!                      delivered and F − s lost at most, however few ACKs report them
//! any but unlimited    one ACK releases at most max(D − out, what it delivers) + 1
//! ```
//! Where the paper claims more, a test shows the counterexample and is named for it.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const BOUNDS: [Bound; 4] = [Bound::Unlimited, Bound::Conservative, Bound::SlowStart, Bound::SafeAck];

/// A reduction is given its RecoverFS, so that its definition does not matter here.
fn control(bound: Bound) -> RateControl {
    RateControl::prr(bound, RecoverFs::FlightSize)
}

/// One ACK: the segments it delivers and reveals as lost, whether `snd_una` moves, and how much data the
/// application has to send afterwards.
#[derive(Clone, Copy, Debug)]
struct Step {
    delivered: u32,
    lost: u32,
    advances: bool,
    available: u32,
}

/// An ACK for one segment, with data to send.
const ONE: Step = Step { delivered: 1, lost: 0, advances: false, available: u32::MAX };

/// A reduction and its sender.
#[derive(Clone, Copy)]
struct Episode {
    reduction: Reduction,
    ssthresh: u32,
    cwnd: u32,
    pipe: u32,
    delivered: u64,
    out: u64,
    acks: u64,
    safe: u64,
}

impl Episode {
    fn new(control: RateControl, cwnd: u32, ssthresh: u32, pipe: u32) -> Self {
        Self {
            reduction: Reduction::enter(control, Segments(cwnd)),
            ssthresh,
            cwnd,
            pipe,
            delivered: 0,
            out: 0,
            acks: 0,
            safe: 0,
        }
    }

    fn prr(bound: Bound, cwnd: u32, ssthresh: u32) -> Self {
        Self::new(control(bound), cwnd, ssthresh, cwnd)
    }

    /// Limits `step`: no more is delivered or lost than is in flight.
    fn clamp(&self, step: Step) -> Step {
        let delivered = step.delivered.min(self.pipe);
        let lost = step.lost.min(self.pipe - delivered);
        Step { delivered, lost, ..step }
    }

    /// Processes an ACK and returns how many segments it permits.
    fn ack(&mut self, step: Step) -> u32 {
        let entering = self.acks == 0;
        let safe = step.advances && step.lost == 0;
        self.pipe -= step.delivered + step.lost;
        self.delivered += u64::from(step.delivered);
        self.acks += 1;
        self.safe += u64::from(safe);
        let progress = AckProgress {
            delivered: Segments(step.delivered),
            pipe: Segments(self.pipe),
            ssthresh: Segments(self.ssthresh),
            cwnd: Segments(self.cwnd),
            floor: Segments(self.ssthresh),
            clocks: true,
            safe,
            entering,
            partial: false,
        };
        self.cwnd = self.reduction.on_ack(&progress).0;
        let forced = self.reduction.forces(&progress);
        self.cwnd.saturating_sub(self.pipe).max(u32::from(forced))
    }

    /// Sends `count` segments.
    fn send(&mut self, count: u32) {
        (0..count).for_each(|_| self.reduction.on_sent());
        self.pipe += count;
        self.out += u64::from(count);
    }

    /// Processes an ACK, sends the segments it permits as far as there is data, and returns their number.
    fn take(&mut self, step: Step) -> u32 {
        let step = self.clamp(step);
        let sent = self.ack(step).min(step.available);
        self.send(sent);
        sent
    }

    fn run(&mut self, steps: &[Step]) -> Vec<u32> {
        steps.iter().map(|&step| self.take(step)).collect()
    }
}

/// A window, and the ssthresh of Reno or CUBIC for it.
fn windows() -> impl Strategy<Value = (u32, u32)> {
    (1..120u32, any::<bool>()).prop_map(|(cwnd, reno)| {
        let reduced = if reno { cwnd / 2 } else { cwnd * 717 / 1024 };
        (cwnd, reduced.max(2))
    })
}

fn step() -> impl Strategy<Value = Step> {
    let delivered = prop_oneof![4 => Just(1), 1 => Just(0), 2 => 2..8u32];
    let lost = prop_oneof![4 => Just(0), 1 => 1..30u32];
    let available = prop_oneof![3 => Just(u32::MAX), 1 => Just(0), 1 => 1..4u32];
    (delivered, lost, any::<bool>(), available).prop_map(|(delivered, lost, advances, available)| Step {
        delivered,
        lost,
        advances,
        available,
    })
}

/// Splits `total` and `lost` by `cuts` over ACKs that each deliver at least one segment.
fn partition(total: u32, lost: u32, cuts: &[(u32, u32)]) -> Vec<Step> {
    let (mut total, mut lost) = (total, lost);
    let mut steps = Vec::new();
    for &(delivered, marked) in cuts {
        let delivered = delivered.min(total);
        let marked = marked.min(lost);
        if delivered == 0 {
            break;
        }
        (total, lost) = (total - delivered, lost - marked);
        steps.push(Step { delivered, lost: marked, ..ONE });
    }
    let rest = Step { delivered: total, lost, ..ONE };
    match steps.last_mut() {
        Some(last) if total == 0 => last.lost += lost,
        _ => steps.push(rest),
    }
    steps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]

    #[test]
    fn deliveries_bound_the_segments_sent(
        (cwnd, ssthresh) in windows(),
        missing in 0..20u32,
        steps in vec(step(), 1..80),
    ) {
        let pipe = cwnd.saturating_sub(missing).max(1);
        for bound in BOUNDS {
            let mut episode = Episode::new(control(bound), cwnd, ssthresh, pipe);
            let mut each_delivers = true;
            for &step in &steps {
                let step = episode.clamp(step);
                // SafeACK replaces losses at once if their ACK delivers nothing. That has its own test.
                let lost = if step.delivered == 0 { 0 } else { step.lost };
                episode.take(Step { lost, ..step });
                each_delivers &= step.delivered > 0;
                let Episode { out, delivered, acks, safe, .. } = episode;
                match bound {
                    Bound::Unlimited => {}
                    Bound::Conservative => prop_assert!(out <= delivered.max(1), "{out} > {delivered}"),
                    Bound::SlowStart => prop_assert!(out <= delivered + acks, "{out} > {delivered} + {acks}"),
                    Bound::SafeAck => {
                        prop_assert!(out <= delivered + safe + 1, "{out} > {delivered} + {safe} + 1");
                    }
                }
                if bound != Bound::Unlimited && each_delivers {
                    prop_assert!(out <= 2 * delivered, "{bound:?}: {out} > 2·{delivered}");
                }
            }
        }
    }

    #[test]
    fn the_bounds_are_ordered(
        (cwnd, ssthresh) in windows(),
        steps in vec(step(), 0..60),
        mut last in step(),
        history in prop::sample::select(&BOUNDS[..]),
    ) {
        last.delivered = last.delivered.max(1);
        let mut episode = Episode::prr(history, cwnd, ssthresh);
        for &step in &steps {
            let step = episode.clamp(step);
            episode.take(Step { lost: step.lost.min(step.delivered), ..step });
        }
        let last = episode.clamp(last);
        // (Until anything is sent, RFC 9937 forces a segment.)
        prop_assume!(last.delivered > 0 && episode.out > 0);
        // One history under each bound.
        let allowed = [Bound::Conservative, Bound::SafeAck, Bound::SlowStart, Bound::Unlimited]
            .map(|bound| {
                let mut episode = episode;
                if let Reduction::Prr(prr) = &mut episode.reduction {
                    prr.set_bound(bound);
                }
                episode.ack(last)
            });
        prop_assert!(allowed.is_sorted(), "{allowed:?}");
    }

    #[test]
    fn the_window_converges_to_ssthresh_however_the_deliveries_are_reported(
        (cwnd, ssthresh) in windows(),
        share in 0..=100u32,
        cuts in vec((1..12u32, 0..20u32), 0..120),
    ) {
        prop_assume!(cwnd > ssthresh);
        let lost = (cwnd - ssthresh) * share / 100;
        let steps = partition(cwnd - lost, lost, &cuts);
        for bound in BOUNDS {
            let mut episode = Episode::prr(bound, cwnd, ssthresh);
            episode.run(&steps);
            let Episode { out, pipe, .. } = episode;
            prop_assert_eq!((out, pipe), (u64::from(ssthresh), ssthresh), "{:?}", bound);
            // From here on, one segment is sent per segment delivered, and the window stays.
            for delivered in [1, 1, 3, 2] {
                let delivered = delivered.min(episode.pipe);
                let sent = episode.take(Step { delivered, ..ONE });
                prop_assert_eq!((sent, episode.cwnd), (delivered, ssthresh), "{:?}", bound);
            }
        }
    }

    #[test]
    fn no_ack_releases_more_than_saved_or_delivered_plus_one(
        (cwnd, ssthresh) in windows(),
        steps in vec(step(), 1..80),
    ) {
        for bound in [Bound::Conservative, Bound::SlowStart, Bound::SafeAck] {
            let mut episode = Episode::prr(bound, cwnd, ssthresh);
            for &step in &steps {
                let step = episode.clamp(step);
                let before = episode;
                let released = u64::from(episode.ack(Step { lost: step.lost.min(step.delivered), ..step }));
                let sent = released.min(u64::from(step.available)) as u32;
                let behind = episode.delivered.saturating_sub(episode.out);
                let delivered = u64::from(step.delivered);
                let unused = u64::from(before.cwnd.saturating_sub(before.pipe));
                match step.delivered {
                    // RFC 9937 §6.2: the window stays unchanged.
                    0 if bound == Bound::SafeAck && before.acks > 0 => prop_assert_eq!(released, unused),
                    _ => prop_assert!(released <= behind.max(delivered) + 1, "{released}"),
                }
                // The paper's form of the bound holds for a sender that has fallen behind.
                if before.acks > 0 && before.delivered >= before.out && delivered > 0 {
                    prop_assert!(released <= behind + 1, "{released} > {behind} + 1");
                }
                // In the proportional part, at most the ratio's share of it (figure 4).
                if episode.pipe > ssthresh && before.acks > 0 && delivered > 0 {
                    let share = (behind * u64::from(ssthresh)).div_ceil(u64::from(cwnd));
                    prop_assert!(released <= share.max(u64::from(episode.out == 0)), "{released} > {share}");
                }
                episode.send(sent);
            }
        }
    }

    #[test]
    fn acks_keep_the_clock(
        (cwnd, ssthresh) in windows(),
        steps in vec(step(), 1..200),
    ) {
        for bound in [Bound::Conservative, Bound::SlowStart, Bound::SafeAck] {
            let mut episode = Episode::prr(bound, cwnd, ssthresh);
            let mut silence = 0;
            for step in &steps {
                let step = episode.clamp(Step { lost: step.lost, ..ONE });
                if step.delivered == 0 {
                    break;
                }
                let sent = episode.take(step);
                // Above ssthresh: at least one segment per ⌈F/s⌉ delivered, so no half RTT of silence.
                // One ACK later if the pipe equals ssthresh, where neither part sends.
                silence = if sent == 0 { silence + 1 } else { 0 };
                prop_assert!(silence <= cwnd.div_ceil(ssthresh), "{bound:?}: silent for {silence}");
                // Below: at least one segment per ACK, unless the forced first one was ahead of the
                // deliveries.
                if sent == 0 && episode.pipe < ssthresh {
                    prop_assert_eq!(bound, Bound::Conservative);
                    prop_assert!(episode.out >= episode.delivered);
                }
            }
        }
    }
}

#[test]
fn the_bounds_are_reached() {
    // 16 of 20 are lost at once; then each ACK delivers one.
    let heavy = [
        Step { lost: 16, ..ONE },
        Step { advances: true, ..ONE },
        Step { advances: true, ..ONE },
        Step { advances: true, ..ONE },
    ];
    // (bound, sent on each ACK): D + n, D, D + safe + 1 less the first ACK's, ssthresh at once
    let cases = [
        (Bound::SlowStart, [2, 2, 2, 2]),
        (Bound::Conservative, [1, 1, 1, 1]),
        (Bound::SafeAck, [1, 2, 2, 2]),
        (Bound::Unlimited, [7, 1, 1, 1]),
    ];
    for (bound, sent) in cases {
        assert_eq!(Episode::prr(bound, 20, 10).run(&heavy), sent, "{bound:?}");
    }
}

#[test]
fn cubics_threshold_sends_seven_segments_per_ten_delivered() {
    for bound in [Bound::Conservative, Bound::SlowStart, Bound::SafeAck] {
        let mut episode = Episode::prr(bound, 100, 70);
        episode.take(Step { lost: 1, ..ONE });
        for tens in 1..=9 {
            let already = if tens == 1 { 9 } else { 10 };
            episode.run(&vec![ONE; already]);
            assert_eq!(episode.out, 7 * tens, "{bound:?} after {tens}0");
        }
    }
}

#[test]
fn the_standard_pauses_for_half_a_flight_and_prr_does_not() {
    let mut acks = vec![Step { lost: 1, ..ONE }];
    acks.extend([ONE; 18]);
    let standard = Episode::new(RateControl::Standard, 20, 10, 20).run(&acks);
    assert_eq!(standard[..10], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(standard[10..], [1; 9]);
    let prr = Episode::prr(Bound::SlowStart, 20, 10).run(&acks);
    assert_eq!(prr[..10], [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
}

/// §4.3: "prr_out ≤ 2 × prr_delivered". This fails if the ACK that begins recovery delivers nothing,
/// because the first retransmission is sent anyway.
#[test]
fn sent_is_twice_delivered_and_more_when_the_entering_ack_delivers_nothing() {
    for bound in [Bound::Conservative, Bound::SlowStart, Bound::SafeAck] {
        let mut episode = Episode::prr(bound, 20, 10);
        episode.take(Step { delivered: 0, lost: 1, ..ONE });
        assert_eq!((episode.out, episode.delivered), (1, 0), "{bound:?}");
    }
}

/// The bound fails with the slow-start bound if later ACKs deliver nothing (DSACKs, window updates):
/// each permits one more segment until the pipe reaches ssthresh. The bound that holds is `out ≤ D + n`.
#[test]
fn sent_outruns_twice_delivered_when_acks_deliver_nothing() {
    let nothing = Step { delivered: 0, ..ONE };
    let acks = [Step { lost: 16, ..ONE }, nothing, nothing, nothing];
    let mut episode = Episode::prr(Bound::SlowStart, 20, 10);
    assert_eq!(episode.run(&acks), [2, 1, 1, 1]);
    assert_eq!((episode.out, episode.delivered, episode.acks), (5, 1, 4));
    for bound in [Bound::Conservative, Bound::SafeAck] {
        let sent = Episode::prr(bound, 20, 10).run(&acks);
        assert_eq!(sent, [1, 0, 0, 0], "{bound:?}");
    }
}

/// §4.3: "losses ≤ RecoverFS − ssthresh: PRR converges to exactly ssthresh". This requires that RecoverFS
/// segments are to be delivered. A part of the flight that arrived before, or an unused part of the window where
/// RecoverFS is the window, counts like losses.
#[test]
fn convergence_fails_when_less_than_recover_fs_is_to_be_delivered() {
    // A window of 20 with 12 in flight, 4 of them lost: 4 ≤ 20 − 10.
    let mut episode = Episode::new(control(Bound::Conservative), 20, 10, 12);
    let mut acks = vec![Step { lost: 4, ..ONE }];
    acks.extend([ONE; 7]);
    episode.run(&acks);
    assert_eq!((episode.out, episode.pipe), (8, 8), "all survivors delivered");
    // The slow-start bound makes up one segment per ACK, if there are enough ACKs.
    let mut episode = Episode::new(control(Bound::SlowStart), 20, 10, 12);
    episode.run(&acks);
    assert_eq!(episode.pipe, 10);
    let mut episode = Episode::new(control(Bound::SlowStart), 20, 10, 12);
    let delivered = 8;
    episode.take(Step { delivered, lost: 4, ..ONE });
    assert_eq!(episode.pipe, 9, "one stretch ACK");
    // The flight less ssthresh is 2: every bound replaces 2 losses, with any ACKs.
    for bound in BOUNDS {
        let mut episode = Episode::new(control(bound), 20, 10, 12);
        let delivered = 10;
        episode.take(Step { delivered, lost: 2, ..ONE });
        assert_eq!(episode.pipe, 10, "{bound:?}");
    }
}

/// Algorithm 2 does not count in RecoverFS what the ACK that begins recovery acknowledges cumulatively, although
/// prr_delivered counts it. RFC 9937 §6.1 does.
#[test]
fn the_window_ends_above_ssthresh_when_the_entering_ack_moves_snd_una() {
    // Twenty in flight; the first ACK delivers four of them cumulatively and reveals one loss.
    let delivered = 4;
    let mut acks = vec![Step { delivered, lost: 1, ..ONE }];
    acks.extend([ONE; 15]);
    for (recover_fs, pipe) in [(16, 12), (20, 10)] {
        for bound in BOUNDS {
            let mut episode = Episode::new(control(bound), recover_fs, 10, 20);
            episode.run(&acks);
            assert_eq!(episode.pipe, pipe, "{bound:?}");
        }
    }
}

/// The condition is tight: with one loss more than F − s, packet conservation falls one segment short.
#[test]
fn one_loss_more_than_the_reduction_leaves_the_window_one_short() {
    for (lost, pipe) in [(10, 10), (11, 9), (15, 5)] {
        let mut episode = Episode::prr(Bound::Conservative, 20, 10);
        let mut acks = vec![Step { lost, ..ONE }];
        acks.extend(vec![ONE; 19 - lost as usize]);
        episode.run(&acks);
        assert_eq!(episode.pipe, pipe, "{lost} lost");
    }
}

/// §4.3: "PRR retains its precision in the number of transmitted segments even in the presence of ACK
/// loss … and stretch ACKs". This holds at the end of the round trip. Before that, a stretch ACK that takes
/// the pipe below ssthresh releases fewer segments than single ACKs for the same deliveries.
#[test]
fn a_stretch_ack_in_mid_recovery_releases_less_than_single_acks() {
    for bound in [Bound::Conservative, Bound::SlowStart, Bound::SafeAck] {
        let mut single = Episode::prr(bound, 20, 10);
        single.take(Step { lost: 1, ..ONE });
        single.run(&[ONE; 9]);
        let mut stretched = Episode::prr(bound, 20, 10);
        let delivered = 10;
        stretched.take(Step { delivered, lost: 1, ..ONE });
        assert_eq!((single.out, single.pipe), (5, 14), "{bound:?}");
        assert_eq!((stretched.out, stretched.pipe), (1, 10), "{bound:?}");
        single.run(&[ONE; 9]);
        stretched.run(&[ONE; 9]);
        assert_eq!((single.out, single.pipe), (10, 10), "{bound:?}");
        assert_eq!((stretched.out, stretched.pipe), (10, 10), "{bound:?}");
    }
}

/// §4.3: after a stall "a burst that is bounded by prr_delivered − prr_out + 1". This fails if slow start
/// was ahead of the deliveries before the stall: then the delivery of the last ACK bounds the burst.
#[test]
fn a_stall_after_slow_start_can_end_in_a_larger_burst() {
    let mut episode = Episode::prr(Bound::SlowStart, 40, 20);
    episode.run(&[Step { lost: 36, ..ONE }, ONE, ONE]);
    assert_eq!((episode.out, episode.delivered), (6, 3));
    // Two ACKs while the application is stalled; then it writes.
    let stalled = Step { available: 0, ..ONE };
    episode.take(stalled);
    let burst = episode.ack(ONE);
    assert_eq!((episode.delivered, burst), (5, 2), "5 − 6 + 1 = 0 < 2");
}

/// §4.3: "maintains ACK clocking even for large burst segment losses". Without any stall, losses that take
/// the pipe below ssthresh release at once all segments that the proportional part held back.
#[test]
fn a_late_burst_of_losses_releases_the_segments_held_back() {
    for (bound, burst) in
        [(Bound::SlowStart, 22), (Bound::Conservative, 21), (Bound::SafeAck, 21), (Bound::Unlimited, 32)]
    {
        let mut episode = Episode::prr(bound, 100, 50);
        episode.take(Step { lost: 1, ..ONE });
        episode.run(&[ONE; 39]);
        assert_eq!((episode.delivered, episode.out), (40, 20), "{bound:?}");
        assert_eq!(episode.take(Step { lost: 60, ..ONE }), burst, "{bound:?}");
    }
}

/// RFC 9937 §6.2 leaves the window unchanged on an ACK that delivers nothing. If such an ACK or RACK's
/// timer reveals losses, the sender replaces them at once, limited only by the window.
#[test]
fn safe_ack_replaces_losses_at_once_if_their_ack_delivers_nothing() {
    let mut episode = Episode::prr(Bound::SafeAck, 40, 20);
    episode.run(&[Step { lost: 1, ..ONE }, ONE, ONE, ONE]);
    assert_eq!((episode.out, episode.delivered), (2, 4));
    let delivered = 0;
    let sent = episode.take(Step { delivered, lost: 15, ..ONE });
    assert_eq!(sent, 15);
    assert_eq!((episode.out, episode.delivered, episode.safe), (17, 4, 0));
}
