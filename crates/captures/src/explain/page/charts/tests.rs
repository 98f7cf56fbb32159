use super::*;

/// Bins of a second with so many segments, of which so many are retransmissions.
fn seconds(counts: &[(u64, u64)]) -> Vec<Interval> {
    let bin = |(i, (segments, retransmissions)): (usize, &(u64, u64))| {
        let mut counts = Bin::default();
        (counts.segments, counts.retransmissions) = (*segments, *retransmissions);
        Interval { from: i as f64, until: i as f64 + 1.0, counts }
    };
    counts.iter().enumerate().map(bin).collect()
}

/// From when until when, with how many segments.
fn by_segments(counts: &[(u64, u64)]) -> Vec<(f64, f64, u64)> {
    let bins = seconds(counts);
    let merged = merged(&bins, |of| of.counts.segments == 0, |of| of.counts.segments >= 30);
    merged.iter().map(|of| (of.from, of.until, of.counts.segments)).collect()
}

#[test]
fn intervals_with_few_segments_join_their_neighbours() {
    // The end, with one retransmission among two segments, is no interval of its own.
    assert_eq!(by_segments(&[(100, 1), (100, 2), (2, 1)]), [(0.0, 1.0, 100), (1.0, 3.0, 102)]);
    assert_eq!(by_segments(&[(10, 0), (10, 0), (10, 1), (40, 0)]), [(0.0, 3.0, 30), (3.0, 4.0, 40)]);
    // A gap stays one. What is left before it joins what is right before.
    assert_eq!(by_segments(&[(40, 0), (5, 0), (0, 0), (40, 0)]), [(0.0, 2.0, 45), (3.0, 4.0, 40)]);
    // Without a neighbour right before, it reaches over the gap.
    assert_eq!(by_segments(&[(5, 0), (0, 0), (40, 0)]), [(0.0, 3.0, 45)]);
    // Where all are few, they are one.
    assert_eq!(by_segments(&[(5, 1), (5, 0)]), [(0.0, 2.0, 10)]);
    assert_eq!(by_segments(&[(0, 0)]), []);
    assert_eq!(by_segments(&[]), []);
}

#[test]
fn no_segment_is_lost_by_merging() {
    let counts: Vec<(u64, u64)> = (0..500_u64).map(|i| (i * i % 61 % 37, 0)).collect();
    let all: u64 = counts.iter().map(|(segments, _)| segments).sum();
    let merged = by_segments(&counts);
    assert_eq!(merged.iter().map(|(.., segments)| segments).sum::<u64>(), all);
    assert!(merged.iter().all(|(from, until, segments)| from < until && *segments >= 30));
    assert!(merged.windows(2).all(|two| two[0].1 <= two[1].0), "no two overlap");
}
