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
    // (steps, the first step of the uneventful end)
    type Case = (&'static [(u64, char)], Option<usize>);
    let cases: [Case; 9] = [
        (&[(0, 'r'), (1, 'a'), (2, 's'), (3, 'a')], Some(1)),
        (&[(0, 's'), (1, 'r'), (2, 'd'), (3, 'a')], Some(3)),
        (&[(0, 'r'), (1, 'b'), (2, 'a')], Some(2)),
        (&[(0, 'r'), (1, 'm'), (2, 's')], Some(2)),
        // A pause may hide a timer that was due; LATE itself does not.
        (&[(0, 'r'), (1, 'a'), (21, 's'), (42, 'a'), (43, 'a')], Some(4)),
        (&[(0, 'r'), (1, 'a'), (21, 's'), (41, 'a')], Some(1)),
        // The tape ends with the retransmission.
        (&[(0, 'r'), (1, 'a'), (2, 'r')], None),
        (&[(0, 's'), (1, 'a')], None),
        (&[], None),
    ];
    for (steps, expected) in cases {
        let tape = tape(steps);
        let found = UneventfulEnd::of(&tape);
        assert_eq!(found.map(|end| end.from), expected, "{steps:?}");
        let retransmitted = steps.iter().rfind(|(_, what)| *what == 'r');
        let expected = found.and(retransmitted.map(|&(ms, _)| Instant::from_millis(ms)));
        assert_eq!(found.map(|end| end.last_retransmission), expected, "{steps:?}");
        assert!(Playback::new(&tape, false).uneventful.is_none());
        assert_eq!(Playback::new(&tape, true).uneventful, found);
    }
}
