//! The process against networks whose process is known.

use super::*;
use crate::transmission::{Arrival, Fate, Transmission};
use recoup_units::{Instant, Offset, Span, SplitMix};

/// A sender that sends a packet each millisecond, and retransmits each lost one 30 ms later.
struct Sender {
    random: SplitMix,
    seed: u64,
}

impl Sender {
    fn new(seed: u64) -> Self {
        Self { random: SplitMix(seed), seed }
    }

    /// A connection of `segments`, over a network that decides from the segment, its copy, whether the packet
    /// before was lost, and a number in 0..1.
    fn connection(&mut self, segments: u64, lose: impl Fn(u64, u16, bool, f64) -> bool) -> Vec<Transmission> {
        let mut waiting: Vec<_> = (1..=segments).map(|n| (n, n, 1)).collect();
        let mut sent = vec![];
        let mut previous = false;
        waiting.reverse();
        while let Some((at, segment, copy)) = waiting.pop() {
            let lost = lose(segment, copy, previous, self.random.unit());
            previous = lost;
            if lost && copy < 8 {
                waiting.push((at + 30, segment, copy + 1));
                waiting.sort_by_key(|&(at, segment, _)| std::cmp::Reverse((at, segment)));
            }
            sent.push(transmission(at + self.seed, segment, copy, lost));
        }
        sent
    }
}

fn transmission(at: u64, segment: u64, copy: u16, lost: bool) -> Transmission {
    let sent = Instant::from_millis(at);
    Transmission {
        span: Span::at(Offset(1 + segment * 1448), 1448),
        copy,
        sent,
        ip_len: 1500,
        fate: if lost { Fate::Lost } else { Fate::Arrived(arrival(sent)) },
    }
}

fn arrival(sent: Instant) -> Arrival {
    Arrival {
        echo: sent + Duration::from_millis(20),
        ack: None,
        ack_lost: false,
        in_order: true,
        held: Duration::ZERO,
        duplicates: 0,
    }
}

fn counts(connections: u64, segments: u64, lose: impl Fn(u64, u64, u16, bool, f64) -> bool) -> LossCounts {
    let mut all = LossCounts::default();
    for n in 0..connections {
        let sent =
            Sender::new(n).connection(segments, |segment, copy, previous, unit| lose(n, segment, copy, previous, unit));
        all.observe(&sent);
    }
    all
}

fn context(copy: u16, lost: bool, millis: u64) -> Context {
    let since = Duration::from_millis(millis);
    Context { copy, previous: Some(Previous { lost, since }) }
}

fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} instead of {expected} ± {tolerance}");
}

#[test]
fn independent_losses_have_one_probability_in_every_context() {
    // Few packets are sent a third time where few are lost.
    for (p, copies) in [(0.01, 1..=2), (0.03, 1..=2), (0.2, 1..=3)] {
        let process = LossProcess::of(&counts(8000, 60, |_, _, _, _, unit| unit < p));
        for copy in copies {
            for (lost, millis) in [(false, 1), (true, 1), (true, 30), (true, 400)] {
                let found = process.loss(context(copy, lost, millis));
                assert!((0.3..1.7).contains(&(found / p)), "{p}: {copy} {lost} {millis}: {found}");
            }
        }
    }
}

#[test]
fn bursts_show_in_what_follows_a_loss() {
    let (begin, go_on) = (0.01, 0.6);
    let channel = |_, _, _, previous, unit| unit < if previous { go_on } else { begin };
    let process = LossProcess::of(&counts(1000, 60, channel));
    near(process.loss(context(1, false, 1)), begin, 0.003);
    near(process.loss(context(1, true, 1)), go_on, 0.06);
    near(process.loss(context(2, false, 1)), begin, 0.008);
}

#[test]
fn a_burst_ends_with_time_where_the_capture_shows_it() {
    // Packets 1 ms apart in pairs, the pairs 50 ms apart. Only the second of a pair follows its first.
    let mut all = LossCounts::default();
    let mut random = SplitMix(3);
    for _ in 0..100 {
        let mut sent = vec![];
        for pair in 0..20 {
            let first = random.unit() < 0.1;
            let second = random.unit() < if first { 0.7 } else { 0.1 };
            sent.push(transmission(50 * pair, 2 * pair, 1, first));
            sent.push(transmission(50 * pair + 1, 2 * pair + 1, 1, second));
        }
        all.observe(&sent);
    }
    let process = LossProcess::of(&all);
    near(process.loss(context(1, true, 1)), 0.7, 0.1);
    near(process.loss(context(1, true, 49)), 0.1, 0.04);
}

#[test]
fn losses_by_position_do_not_hit_copies() {
    for positions in [&[3][..], &[9, 10], &[20]] {
        let counts = counts(100, 20, |_, segment, copy, _, _| copy == 1 && positions.contains(&segment));
        let process = LossProcess::of(&counts);
        for copy in [2, 3] {
            for lost in [false, true] {
                let found = process.loss(context(copy, lost, 30));
                assert!(found < 0.02, "{positions:?}, copy {copy}: {found}");
            }
        }
        assert!(process.loss(context(1, false, 1)) > 0.04);
    }
}

#[test]
fn a_lost_first_retransmission_says_nothing_about_the_second() {
    let process = LossProcess::of(&counts(100, 20, |_, segment, copy, _, _| segment == 7 && copy < 3));
    let [second, third] = [2, 3].map(|copy| process.loss(context(copy, false, 30)));
    assert!(second > 0.9 && third < 0.1, "{second} {third}");
}

#[test]
fn connections_keep_their_own_level_only_where_they_differ() {
    // Half of the connections lose 20 %, the others nothing.
    let rule = |n: u64, unit: f64| n.is_multiple_of(2) && unit < 0.2;
    let all = counts(200, 50, |n, _, _, _, unit| rule(n, unit));
    let path = LossProcess::of(&all);
    let level = |n: u64| {
        let mut own = LossCounts::default();
        own.observe(&Sender::new(n).connection(50, |_, _, _, unit| rule(n, unit)));
        path.of_connection(&all, &own)
    };
    assert!(level(1).loss(context(1, false, 1)) < 0.02);
    let lossy: Vec<_> = (0..40).map(|n| level(2 * n)).collect();
    let mean = |context| lossy.iter().map(|process| process.loss(context)).sum::<f64>() / 40.0;
    near(mean(context(1, false, 1)), 0.2, 0.03);
    // Retransmissions are of the lossy connections, all of them, and as likely lost as their originals.
    near(mean(context(2, false, 30)), 0.2, 0.06);
    near(mean(context(1, true, 1)), 0.2, 0.06);

    // All connections lose 5 %: two that lost none and many are thought of as alike.
    let all = counts(200, 50, |_, _, _, _, unit| unit < 0.05);
    let path = LossProcess::of(&all);
    for losses in [0, 8] {
        let mut own = LossCounts::default();
        own.observe(
            &Sender::new(1).connection(50, |segment, copy, _, _| copy == 1 && segment % 6 == 0 && segment < 6 * losses),
        );
        near(path.of_connection(&all, &own).loss(context(1, false, 1)), 0.05, 0.03);
    }
}

#[test]
fn a_path_with_losses_of_its_own_keeps_them() {
    let quiet = counts(100, 50, |_, _, _, _, unit| unit < 0.005);
    let positions = counts(50, 50, |_, segment, copy, _, _| copy == 1 && segment == 5);
    let mut all = quiet.clone();
    all.merge(&positions);
    let capture = LossProcess::of(&all);
    let path = capture.of_path(&all, &positions);
    near(path.loss(context(1, false, 1)), 0.02, 0.01);
    assert!(path.loss(context(2, false, 30)) < 0.01);
    near(capture.of_path(&all, &quiet).loss(context(1, false, 1)), 0.005, 0.004);
}

#[test]
fn little_data_gives_careful_estimates() {
    assert_eq!(LossProcess::of(&LossCounts::default()), LossProcess::default());
    let none = LossProcess::of(&counts(1, 30, |_, _, _, _, _| false));
    assert_eq!(none.loss(context(2, true, 1)), 0.0);
    // One loss of 50, and its retransmission arrived: copies are lost about as often as originals.
    let one = LossProcess::of(&counts(1, 50, |_, segment, copy, _, _| copy == 1 && segment == 7));
    near(one.loss(context(2, false, 30)), 0.015, 0.008);
    // A lost copy alone, as of a spurious retransmission.
    let sent = [transmission(0, 1, 1, false), transmission(30, 1, 2, true), transmission(60, 1, 3, false)];
    let mut copies = LossCounts::default();
    copies.observe(&sent);
    let found = LossProcess::of(&copies).loss(context(2, false, 30));
    assert!(found > 0.2 && found < 1.0, "{found}");
}

#[test]
fn unknown_fates_count_nowhere() {
    let mut sent = Sender::new(1).connection(50, |_, _, _, unit| unit < 0.2);
    for transmission in &mut sent {
        transmission.fate = Fate::Unknown;
    }
    let mut unknown = LossCounts::default();
    unknown.observe(&sent);
    assert_eq!(LossProcess::of(&unknown), LossProcess::default());
}

#[test]
fn holds_and_duplicates_are_drawn_as_seen() {
    let mut all = LossCounts::default();
    let mut random = SplitMix(9);
    for n in 0..100 {
        let mut sent = Sender::new(n).connection(50, |_, _, _, _| false);
        for transmission in &mut sent {
            let Fate::Arrived(arrival) = &mut transmission.fate else {
                continue;
            };
            if random.unit() < 0.1 {
                let millis = 5 + random.below(10);
                arrival.held = Duration::from_millis(millis);
            }
            arrival.duplicates = u16::from(random.unit() < 0.03);
        }
        all.observe(&sent);
    }
    let process = LossProcess::of(&all);
    near(process.held(), 0.1, 0.02);
    near(process.duplicated(), 0.03, 0.01);
    assert_eq!(process.holds().len(), 256);
    let fates: Vec<_> = (0..20_000).map(|bits| process.draw(bits, context(2, false, 30))).collect();
    let held: Vec<_> = fates.iter().filter(|fate| !fate.held.is_zero()).collect();
    near(held.len() as f64 / 20_000.0, process.held(), 0.01);
    let mean = held.iter().map(|fate| fate.held.as_secs_f64()).sum::<f64>() / held.len() as f64;
    near(mean, 0.0095, 0.0005);
    let duplicated = fates.iter().filter(|fate| fate.duplicated).count();
    near(duplicated as f64 / 20_000.0, process.duplicated(), 0.005);
    assert!(fates.iter().all(|fate| !fate.lost));
}

#[test]
fn draws_follow_the_probability_and_depend_on_the_bits_alone() {
    let process = LossProcess::of(&counts(100, 50, |_, _, _, _, unit| unit < 0.1));
    let context = context(2, false, 30);
    let lost = (0..50_000).filter(|&bits| process.draw(bits, context).lost).count();
    near(lost as f64 / 50_000.0, process.loss(context), 0.005);
    assert_eq!(process.draw(77, context), process.draw(77, context));
}

#[test]
fn merging_in_any_order_gives_the_same_process() {
    let parts: Vec<_> = (1..4).map(|n| counts(n * 10, 40, move |_, _, _, _, unit| unit < 0.02 * n as f64)).collect();
    let merged = |order: [usize; 3]| {
        let mut all = LossCounts::default();
        order.iter().for_each(|&n| all.merge(&parts[n]));
        LossProcess::of(&all)
    };
    let (one, other) = (merged([0, 1, 2]), merged([2, 0, 1]));
    near(one.loss(context(2, true, 1)), other.loss(context(2, true, 1)), 1e-9);
    assert_eq!(one.holds(), other.holds());
}
