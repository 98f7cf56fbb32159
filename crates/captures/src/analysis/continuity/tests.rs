use super::*;

const SECOND: u64 = 1_000_000_000;

/// A capture from `begin` to `end`, in s, with connections of these ports.
fn capture(begin: u64, end: u64, begun_before: &[u16], open_at_end: &[u16]) -> CaptureEnds {
    let digest = |port: &u16| u64::from(*port) * 7919 % 10_007;
    let at = |second: u64| Instant::from_nanos(second * SECOND);
    let mut ends = CaptureEnds { span: Some((at(begin), at(end))), ..CaptureEnds::default() };
    begun_before.iter().for_each(|port| ends.begun_before.add(digest(port)));
    open_at_end.iter().for_each(|port| ends.open_at_end.add(digest(port)));
    ends
}

#[test]
fn captures_continue_each_other_if_connections_go_on_in_the_next_one() {
    let first = capture(100, 200, &[], &[1, 2, 3]);
    for (next, expected) in [
        (capture(201, 300, &[2, 3, 4], &[]), 2),
        (capture(200, 300, &[1], &[]), 1),
        (capture(199, 300, &[1], &[]), 1),
        // No common connection, too late, too early, and before it.
        (capture(201, 300, &[4], &[1]), 0),
        (capture(210, 300, &[1], &[]), 0),
        (capture(198, 300, &[1], &[]), 0),
        (capture(10, 99, &[1], &[]), 0),
        (CaptureEnds::default(), 0),
    ] {
        assert_eq!(first.going_on_in(&next), expected, "{next:?}");
    }
}

#[test]
fn samples_of_many_connections_have_some_in_common() {
    let many: Vec<u16> = (0..9000).collect();
    let first = capture(100, 200, &[], &many);
    let next = capture(200, 300, &many[4000..], &[]);
    assert_eq!(first.open_at_end.0.len(), MOST_SAMPLED);
    assert!(first.going_on_in(&next) > 300);
}

#[test]
fn the_note_names_the_first_two_captures() {
    let a = capture(100, 200, &[], &[1]);
    let b = capture(200, 300, &[1], &[1, 2]);
    let c = capture(300, 400, &[1, 2], &[]);
    let note = rotation_note(&[("c", &c), ("a", &a), ("b", &b)]);
    assert_eq!(
        note.as_deref(),
        Some(
            "b continues a: 1 connection goes on from one to the other; so does another capture; --join analyzes the files of one capture as one"
        )
    );
    assert_eq!(rotation_note(&[("c", &c), ("a", &a)]), None);
}
