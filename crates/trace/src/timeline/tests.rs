use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(1_700_000_000_000_000_000 + ms * 1_000_000)
}

fn totals(timeline: &Timeline) -> (u64, u64) {
    let bins = timeline.bins().map(|(_, bin)| bin);
    bins.fold((0, 0), |(segments, bytes), bin| (segments + bin.segments, bytes + bin.acknowledged))
}

#[test]
fn events_fall_into_the_bin_of_their_time() {
    let mut timeline = Timeline::default();
    for ms in [10, 0, 3, 500] {
        timeline.on_segment(at(ms));
    }
    timeline.on_ack(at(3), 1, 1000, Some(5_000_000));
    timeline.on_ack(at(3), 1, 500, Some(7_000_000));
    timeline.on_ack(at(3), 0, 0, Some(300_000));
    timeline.on_ack(at(4), 1, 500, None);
    timeline.on_retransmission(at(500));
    assert_eq!(totals(&timeline), (4, 2000));
    let of = |ms: u64| {
        let mut bins = timeline.bins();
        let end = |begin: Instant| begin + timeline.width();
        let (_, bin) = bins.find(|(begin, _)| end(*begin) > at(ms)).unwrap();
        *bin
    };
    assert_eq!(of(3).mean_rtt_of(1), Some(Duration::from_millis(6)));
    assert_eq!(of(3).mean_rtt_of(0), Some(Duration::from_micros(300)));
    assert_eq!(of(3).mean_rtt(), Some(Duration::from_micros(4100)));
    assert_eq!((of(500).segments, of(500).retransmissions), (1, 1));
    assert_eq!(of(250), Bin::default());
}

#[test]
fn bins_widen_so_that_their_number_is_bounded() {
    let mut timeline = Timeline::default();
    for ms in (0..10_000_000).step_by(7001) {
        timeline.on_segment(at(ms));
    }
    timeline.on_segment(Instant::ZERO);
    timeline.on_segment(Instant::from_nanos(u64::MAX));
    assert!(timeline.bins().count() as u64 <= MOST_BINS);
    assert_eq!(totals(&timeline).0, 10_000_000_u64.div_ceil(7001) + 2);
    for most in [100, 2, 0] {
        let wider = timeline.in_bins(most);
        assert!(wider.bins().count() <= most.max(2));
        assert_eq!(totals(&wider), totals(&timeline));
    }
}

#[test]
fn merging_equals_counting_together() {
    let times = |seed: u64| (0..2000_u64).map(move |i| (i * 7919 + seed) % 3_000_000);
    let mut together = Timeline::default();
    let mut parts = [Timeline::default(), Timeline::default()];
    for (seed, part) in parts.iter_mut().enumerate() {
        for ms in times(seed as u64).take(2000 >> (4 * seed)) {
            part.on_segment(at(ms));
            together.on_segment(at(ms));
        }
    }
    let [mut first, second] = parts;
    first.merge(Timeline::default());
    first.merge(second);
    assert_eq!(first, together);
}
