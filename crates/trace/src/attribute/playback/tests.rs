use super::*;
use crate::attribute::tape::Retransmitted;
use recoup_units::{Offset, Span};

/// A tape of these steps, each given by its time in ms and what happens: 's' new data, 'r' a
/// retransmission, 'a' an ACK that advances, 'd' a duplicate ACK, 'b' an ACK that advances with a
/// SACK block, 'm' a path MTU message.
fn tape(steps: &[(u64, char)]) -> Tape {
    let mut tape = Tape::default();
    let (mut sent, mut acked) = (Offset(1000), Offset(1));
    tape.beginning.una = acked;
    for &(ms, what) in steps {
        let at = Instant::from_millis(ms);
        match what {
            's' => {
                tape.on_sent(at, Span::at(sent, 10), None);
                sent = sent + 10;
            }
            'r' => tape.on_sent(at, Span::at(acked, 10), Some(Retransmitted { row: 0, sack_bytes: 0 })),
            'm' => tape.on_path_mtu(at, 500),
            _ => {
                acked = acked + if what == 'd' { 0 } else { 10 };
                let blocks = (what == 'b').then(|| Span::at(acked + 10, 10));
                let ack = Ack::new(acked, 5000).with_blocks(blocks);
                tape.on_ack(at, &ack, None, None);
            }
        }
    }
    tape
}

#[test]
fn the_end_begins_after_the_last_event_or_pause() {
    // (steps, the first step of the uneventful end, and the first one after all pauses)
    type Case = (&'static [(u64, char)], Option<(usize, usize)>);
    let cases: [Case; 9] = [
        (&[(0, 'r'), (1, 'a'), (2, 's'), (3, 'a')], Some((1, 1))),
        (&[(0, 's'), (1, 'r'), (2, 'd'), (3, 'a')], Some((4, 3))),
        (&[(0, 'r'), (1, 'b'), (2, 'a')], Some((2, 2))),
        (&[(0, 'r'), (1, 'm'), (2, 's')], Some((2, 2))),
        // A pause may hide a timer that was due; LATE itself does not.
        (&[(0, 'r'), (1, 'a'), (21, 's'), (42, 'a'), (43, 'a')], Some((1, 4))),
        (&[(0, 'r'), (1, 'a'), (21, 's'), (41, 'a')], Some((1, 1))),
        // The tape ends with the retransmission.
        (&[(0, 'r'), (1, 'a'), (2, 'r')], None),
        (&[(0, 's'), (1, 'a')], None),
        (&[], None),
    ];
    for (steps, expected) in cases {
        let tape = tape(steps);
        let found = UneventfulEnd::of(&tape);
        assert_eq!(found.map(|end| (end.from, end.prompt_from)), expected, "{steps:?}");
        let retransmitted = steps.iter().rfind(|(_, what)| *what == 'r');
        let expected = found.and(retransmitted.map(|&(ms, _)| Instant::from_millis(ms)));
        assert_eq!(found.map(|end| end.last_retransmission), expected, "{steps:?}");
        assert!(Playback::new(&tape, false).uneventful.is_none());
        assert_eq!(Playback::new(&tape, true).uneventful, found);
    }
}

#[test]
fn heads_are_as_old_as_their_acks_show() {
    let mut tape = Tape::default();
    let (at, ms) = (Instant::from_millis, |ms: u64| ms * 1_000_000);
    let segment = |n: u64| Span::at(Offset(1) + n * 10, 10);
    tape.beginning.una = Offset(1);
    tape.on_sent(at(0), segment(0), None);
    tape.on_sent(at(30), segment(0), Some(Retransmitted { row: 0, sack_bytes: 0 }));
    for (sent, acked, n) in [(40, 90, 1), (100, 130, 2), (200, 270, 3)] {
        tape.on_sent(at(sent), segment(n), None);
        tape.on_ack(at(acked), &Ack::new(segment(n).end, 5000), None, None);
    }
    let end = UneventfulEnd::of(&tape).unwrap();
    // The first head after the retransmission is the segment sent at 100 ms.
    assert_eq!(end.from, 4);
    assert_eq!(end.heads, Heads { longest: ms(70), least_rtt: ms(30) });
}
