use super::*;
use crate::transmission::{Arrival, Fate};
use recoup_units::{Offset, Span};

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// When transmissions were sent and acknowledged, in ms.
type Points<'a> = &'a [(u64, u64)];

/// Transmissions that were sent and acknowledged at these times (ms).
fn delays(points: &[(u64, u64)]) -> Delays {
    let sent = |&(sent, echo): &(u64, u64)| Transmission {
        span: Span::at(Offset::DATA, 1),
        copy: 1,
        sent: ms(sent),
        ip_len: 53,
        fate: Fate::Arrived(Arrival {
            echo: ms(echo),
            ack: Some(Duration::ZERO),
            ack_lost: false,
            in_order: true,
            held: Duration::ZERO,
            duplicates: 0,
        }),
    };
    let all: Vec<_> = points.iter().map(sent).collect();
    Delays::new(&all, Duration::from_millis(80))
}

#[test]
fn a_packet_keeps_its_place_between_its_neighbours() {
    let spike = [(0, 40), (100, 700), (400, 701), (800, 840)];
    // (points, sent, echo) in ms
    let cases: [(Points, u64, u64); 9] = [
        (&[], 5, 85),
        (&[(0, 40), (100, 140)], 50, 90),
        (&[(0, 40), (100, 160)], 50, 90),
        (&[(0, 40), (100, 140)], 300, 340),
        (&[(100, 140)], 20, 60),
        // While the link stands still, everything waits for the same moment.
        (&spike, 150, 700),
        (&spike, 401, 701),
        (&spike, 750, 790),
        (&spike, 100, 700),
    ];
    for (points, sent, echo) in cases {
        assert_eq!(delays(points).echo(ms(sent)), ms(echo), "{points:?} {sent}");
    }
}
