use super::*;

const US: Duration = Duration::from_micros(1);

#[test]
fn the_last_moments_are_spent_awake() {
    let mut vigil = Vigil::new(Instant::ZERO, true).unwrap();
    let mut now = Instant::ZERO;
    // (time that passes, until something is due, sleep) in µs
    for (passed, wait, sleep) in [
        // Nothing is saved up yet.
        (0, 6000, 6000),
        (6000, 500, 470),
        (6000, 100, 40),
        (40, 60, 0),
        (30, 30, 0),
        // Due already: there is nothing to wait for.
        (30, 0, 0),
        (0, 300, 240),
    ] {
        now += passed * US;
        let time = vigil.sleep(now, wait * US);
        assert_eq!(time.as_micros(), sleep, "{now:?}");
    }
    assert!(Vigil::new(now, false).is_none());
}

#[test]
fn no_more_than_a_quarter_of_the_time_is_spent_awake() {
    let mut vigil = Vigil::new(Instant::ZERO, true).unwrap();
    let (mut now, mut awake) = (Instant::ZERO, Duration::ZERO);
    // Something is due every 20 µs, and sleep is 40 µs late.
    while now < Instant::from_nanos(1_000_000_000) {
        let due = Duration::from_nanos(20_000 - now.as_nanos() % 20_000);
        let sleep = vigil.sleep(now, due);
        let passed = if sleep.is_zero() { US } else { sleep + 40 * US };
        awake += if sleep.is_zero() { passed } else { Duration::ZERO };
        now += passed;
    }
    let share = awake.as_secs_f64();
    assert!((0.2..0.26).contains(&share), "{share}");
}
