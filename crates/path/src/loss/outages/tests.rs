use super::*;
use recoup_units::Direction;

fn outages(gap_ms: u64, length_ms: u64, sigma: f64) -> Outages {
    Outages { sigma, ..Outages::new(Duration::from_millis(gap_ms), Duration::from_millis(length_ms)) }
}

/// Which of the packets of `flow` that arrive each ms for a while are lost.
fn lost(spec: Outages, seed: u64, flow: u64, millis: u64) -> Vec<bool> {
    let rng = PacketRng::new(seed, Direction::Down, 0);
    let mut clock = OutageClock::new(spec);
    let id = |ordinal| PacketId { flow: FlowId(flow), ordinal, copy: 0 };
    (0..millis).map(|ms| clock.lose(Instant::from_millis(ms), &rng, id(ms))).collect()
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

#[test]
fn outages_take_their_share_of_the_time() {
    let spec = outages(900, 100, 0.0);
    assert!((spec.share() - 0.1).abs() < 1e-12);
    let lost = lost(spec, 1, 0, 1_000_000);
    assert!((share(&lost) - 0.1).abs() < 0.01, "{}", share(&lost));
    // Each lasts its length, but for one that had begun before.
    let lengths: Vec<usize> = lost.split(|lost| !lost).map(<[bool]>::len).filter(|len| *len > 0).skip(1).collect();
    let whole = lengths.iter().filter(|len| (99..=101).contains(*len)).count();
    assert!(lengths.len() > 900 && whole + 5 >= lengths.len(), "{whole} of {}", lengths.len());
}

#[test]
fn lengths_are_lognormal() {
    let spec = outages(900, 100, 1.0);
    let lost = lost(spec, 1, 0, 4_000_000);
    let lengths: Vec<usize> = lost.split(|lost| !lost).map(<[bool]>::len).filter(|len| *len > 0).collect();
    let above = |ms: f64| lengths.iter().filter(|len| **len as f64 > ms).count() as f64 / lengths.len() as f64;
    assert!((above(100.0) - 0.5).abs() < 0.03, "{}", above(100.0));
    // One standard deviation above the median.
    assert!((above(271.8) - 0.1587).abs() < 0.03, "{}", above(271.8));
    assert!((share(&lost) - spec.share()).abs() < 0.02, "{} {}", share(&lost), spec.share());
}

#[test]
fn only_time_seed_and_first_flow_matter() {
    let spec = outages(300, 100, 0.5);
    let every = lost(spec, 1, 0, 20_000);
    assert_ne!(every, lost(spec, 2, 0, 20_000));
    assert_ne!(every, lost(spec, 1, 1, 20_000));
    // Fewer packets, and packets of other flows, meet the same outages.
    let rng = PacketRng::new(1, Direction::Down, 0);
    let mut clock = OutageClock::new(spec);
    for round in 0..2 {
        for ms in (0..20_000).step_by(7) {
            let id = PacketId { flow: FlowId(ms % 3), ordinal: ms / 5, copy: 0 };
            let found = clock.lose(Instant::from_millis(ms), &rng, id);
            assert_eq!(found, every[ms as usize], "round {round}, {ms} ms");
        }
        clock.reset();
    }
}

#[test]
fn a_share_is_lost_and_time_zero_is_as_any_other() {
    let bad = Outages { loss: Probability::new(0.25).unwrap(), ..outages(1, 60_000, 0.0) };
    assert!((share(&lost(bad, 1, 0, 50_000)) - 0.25).abs() < 0.01);
    let spec = outages(100, 100, 0.0);
    let at_begin = (0..4000).filter(|flow| lost(spec, 1, *flow, 1)[0]).count() as f64 / 4000.0;
    assert!((at_begin - 0.5).abs() < 0.03, "{at_begin}");
}

#[test]
fn the_longest_outages_do_not_overflow() {
    let day = Duration::from_secs(86_400);
    let rng = PacketRng::new(1, Direction::Up, 3);
    for flow in 0..2000 {
        let mut clock = OutageClock::new(Outages { sigma: Outages::LARGEST_SIGMA, ..Outages::new(day, day) });
        let id = PacketId { flow: FlowId(flow), ordinal: 0, copy: 0 };
        for at in [Instant::ZERO, Instant::from_millis(u64::MAX / 2_000_000)] {
            clock.lose(at, &rng, id);
        }
    }
}
