use super::*;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

#[test]
fn granularity_rounds_up() {
    let g = TimerModel::Granularity(Duration::from_millis(10));
    for (deadline, fires) in [(0, 0), (1, 10), (10, 10), (11, 20)] {
        assert_eq!(g.fires_at(Duration::ZERO, ms(0), ms(deadline)), ms(fires));
    }
}

#[test]
fn the_wheel_is_late_by_up_to_one_tick_of_its_level() {
    let wheel = TimerModel::LinuxWheel { hz: 250 };
    // (phase, armed at, deadline, fires at) in ms, with ticks of 4 ms
    let cases = [
        (0, 0, 4, 8),       // level 0: one tick late
        (0, 0, 224, 228),   // 56 ticks
        (0, 0, 248, 252),   // 62 ticks: the last of level 0
        (0, 0, 252, 256),   // 63 ticks: level 1, next multiple of 8
        (0, 0, 284, 288),   // 71 ticks → 72
        (0, 0, 288, 320),   // 72 ticks → 80, a whole 8 late
        (28, 0, 284, 292),  // clock 28 at zero: expiry at tick 78 → 80 = 320 on the clock
        (3, 2, 6, 9),       // inside a tick: armed at clock 5 (tick 1), 1 tick → tick 3 = 12
        (0, 0, 2016, 2048), // 504 ticks: level 2, multiples of 64
    ];
    for (phase, armed, deadline, fires) in cases {
        let got = wheel.fires_at(Duration::from_millis(phase), ms(armed), ms(deadline));
        assert_eq!(got, ms(fires), "phase {phase}, armed {armed}, deadline {deadline}");
    }
}

#[test]
fn jiffies_end_at_the_next_tick_and_delayed_acks_leave_at_the_last_tick_in_time() {
    let jiffies = TimerModel::LinuxJiffies { hz: 250 };
    // (phase, deadline, fires at) in ms, with ticks of 4 ms
    for (phase, deadline, fires) in [
        (0, 4, 4),
        (0, 210, 212),
        (1, 213, 215),   // the clock is at 1 when the flow begins
        (0, 2016, 2016), // a long timeout is as exact as a short one
    ] {
        let got = jiffies.fires_at(Duration::from_millis(phase), ms(0), ms(deadline));
        assert_eq!(got, ms(fires), "phase {phase}, deadline {deadline}");
    }
    for (phase, now, deadline, leaves) in [(0, 0, 200, 200), (0, 3, 203, 200), (1, 3, 203, 203), (0, 201, 203, 201)] {
        let got = jiffies.acknowledges_at(Duration::from_millis(phase), ms(now), ms(deadline));
        assert_eq!(got, ms(leaves), "phase {phase}, deadline {deadline}");
    }
    let exact = TimerModel::LinuxWheel { hz: 250 }.acknowledges_at(Duration::from_millis(1), ms(3), ms(203));
    assert_eq!(exact, ms(203));
}

#[test]
fn the_wheel_is_never_early_and_its_lateness_is_bounded() {
    let wheel = TimerModel::LinuxWheel { hz: 250 };
    for phase in (0..16_384).step_by(7) {
        for timeout in [1u64, 10, 100, 248, 252, 284, 500, 2012] {
            let (now, deadline) = (ms(1000), ms(1000 + timeout));
            let fires = wheel.fires_at(Duration::from_millis(phase), now, deadline);
            let late = fires.since(deadline).as_millis() as u64;
            assert!(fires >= deadline, "phase {phase}, timeout {timeout}");
            // One tick of the level, and up to one tick from rounding the timeout up.
            assert!(late <= if timeout < 252 { 7 } else { 35 }, "{late} at {timeout}");
        }
    }
}
