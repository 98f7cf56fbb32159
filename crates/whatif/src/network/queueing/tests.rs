use super::*;
use crate::{bottleneck::Backlog, transmission::Arrival};
use recoup_units::{BitRate, Offset, Span};
use std::time::Duration;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Packets of 1500 bytes, which take 12 ms each, at a queue of one. Of four that were sent at once, the first
/// was served, the second waited, and the third was lost; the fourth's fate is unknown.
fn capture() -> (Vec<Transmission>, Queueing) {
    let arrived = |echo| {
        Fate::Arrived(Arrival {
            echo: ms(echo),
            ack: Some(Duration::ZERO),
            ack_lost: false,
            in_order: true,
            held: Duration::ZERO,
            duplicates: 0,
        })
    };
    let fates = [arrived(52), arrived(64), Fate::Lost, Fate::Unknown];
    let all = (1..).zip(fates).map(|(number, fate)| Transmission {
        span: Span::at(Offset(number), 1),
        copy: 1,
        sent: Instant::ZERO,
        ip_len: 1500,
        fate,
    });
    let all: Vec<_> = all.collect();
    let bottleneck = Bottleneck {
        rate: BitRate::from_bits_per_second(1_000_000).unwrap(),
        queue: Queue::Packets(1),
        largest_backlog: Backlog::default(),
        explained: 1.0,
    };
    let queueing = Queueing::new(&bottleneck, &all);
    (all, queueing)
}

#[test]
fn the_queue_of_a_rerun_holds_what_the_rerun_sends() {
    let (all, queueing) = capture();
    assert!(queueing.dropped(2) && !queueing.dropped(1) && !queueing.dropped(3));
    // (packets: when (ms), its counterpart, departure (ms))
    type Packets<'a> = &'a [(u64, Option<usize>, Option<u64>)];
    let cases: [Packets<'_>; 5] = [
        &[(0, Some(0), Some(12)), (0, Some(1), Some(24)), (0, Some(2), None), (0, Some(3), None)],
        // Without the packet before it, the third finds room.
        &[(0, Some(0), Some(12)), (0, Some(2), Some(24))],
        // With another one before it, the second finds none.
        &[(0, Some(0), Some(12)), (0, None, Some(24)), (0, Some(1), None)],
        // Later, there is room for all.
        &[(0, Some(0), Some(12)), (0, Some(1), Some(24)), (13, Some(2), Some(36))],
        &[(0, None, Some(12)), (0, None, Some(24)), (0, None, None), (30, None, Some(42))],
    ];
    for packets in cases {
        let mut transmitter = Transmitter::default();
        transmitter.begin(Some(&queueing));
        for &(at, counterpart, departure) in packets {
            let counterpart =
                counterpart.map(|index| Counterpart { index, transmission: &all[index], is_same_time: at == 0 });
            let leaves = transmitter.pass(ms(at), 1500, &queueing, counterpart);
            assert_eq!(leaves, departure.map(ms), "{packets:?}");
        }
    }
    // The constant delay is what the packets took from their departure.
    assert_eq!(queueing.delays.echo(ms(24)), ms(64));
}
