use super::*;

/// Runs ACKs through one reduction, sends all it allows, and returns the segments sent on each ACK.
/// `acks`: (delivered, marked lost by this ACK). Only the first ACKs do not advance.
fn sends(bound: Bound, cwnd: u32, ssthresh: u32, mut pipe: u32, acks: &[(u32, u32)]) -> Vec<u32> {
    let mut prr = Prr::enter(bound, Segments(cwnd));
    acks.iter()
        .enumerate()
        .map(|(i, &(delivered, lost))| {
            pipe = pipe - delivered - lost;
            let window = prr.on_ack(&AckProgress {
                delivered: Segments(delivered),
                pipe: Segments(pipe),
                ssthresh: Segments(ssthresh),
                cwnd: Segments(cwnd),
                floor: Segments(ssthresh),
                clocks: true,
                safe: false,
                entering: i == 0,
                partial: false,
            });
            let sent = window.0.saturating_sub(pipe);
            (0..sent).for_each(|_| prr.on_sent());
            pipe += sent;
            sent
        })
        .collect()
}

//= test: RFC 9937 §6.2
#[test]
fn the_proportional_part_spreads_the_reduction() {
    // One segment of 20 is lost, and 19 ACKs arrive. The window halves: every second ACK releases a
    // segment (RFC 6937 §1). The first ACK releases the fast retransmit.
    let mut acks = vec![(1, 1)];
    acks.extend([(1, 0); 18]);
    for bound in [Bound::Conservative, Bound::SlowStart, Bound::SafeAck] {
        let sent = sends(bound, 20, 10, 20, &acks);
        assert_eq!(sent.iter().sum::<u32>(), 10, "{bound:?}");
        assert_eq!(sent[..8], [1, 0, 1, 0, 1, 0, 1, 0], "{bound:?}");
        // CUBIC sends seven segments per ten delivered.
        let sent = sends(bound, 20, 14, 20, &acks);
        assert_eq!(sent.iter().sum::<u32>(), 14, "{bound:?}");
    }
}

//= test: RFC 9937 §6.2
#[test]
fn the_bounds_differ_after_heavy_losses() {
    // 16 of 20 lost at once leaves a pipe of 3, far below ssthresh 10.
    let acks = [(1, 16), (1, 0), (1, 0), (1, 0), (1, 0)];
    let cases = [
        (Bound::Unlimited, [7, 1, 1, 1, 1]),
        (Bound::Conservative, [1, 1, 1, 1, 1]),
        (Bound::SlowStart, [2, 2, 2, 2, 2]),
        (Bound::SafeAck, [1, 1, 1, 1, 1]), // no ACK here advances
    ];
    for (bound, sent) in cases {
        assert_eq!(sends(bound, 20, 10, 20, &acks), sent, "{bound:?}");
    }
}

#[test]
fn entering_recovery_sends_one_segment_even_if_the_proportion_allows_none() {
    for bound in [Bound::Conservative, Bound::SlowStart, Bound::SafeAck] {
        assert_eq!(sends(bound, 100, 10, 100, &[(0, 0)]), [1], "{bound:?}");
    }
}

#[test]
fn deliveries_without_data_to_send_are_saved() {
    // No data was available on three ACKs: their deliveries may be sent later.
    let ack = |delivered, pipe| AckProgress {
        delivered: Segments(delivered),
        pipe: Segments(pipe),
        ssthresh: Segments(10),
        cwnd: Segments(20),
        floor: Segments(10),
        clocks: true,
        safe: true,
        entering: false,
        partial: false,
    };
    let mut prr = Prr::enter(Bound::SlowStart, Segments(20));
    for pipe in [15, 14, 13] {
        prr.on_ack(&ack(1, pipe));
    }
    assert_eq!(prr.on_ack(&ack(4, 9)), Segments(10));
    assert_eq!(prr.on_ack(&ack(4, 2)), Segments(10));
}

/// RFC 9937 §8, figure 1: 20 segments in flight, the first lost, Reno; the segments in flight on each
/// ACK from the third on. The comparison ends at ACK 19, where inflight equals ssthresh: the figure
/// sends a segment, but §6.2 makes SndCnt 0, so the segment is sent on ACK 20.
//= test: RFC 9937 §6.2
//= test: RFC 9937 §6.3
#[test]
fn the_example_of_rfc_9937_with_one_loss() {
    let expected_inflight = [18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10];
    let mut prr = Prr::enter(Bound::SafeAck, Segments(20));
    // Limited transmit sent two segments on the first two duplicate ACKs.
    let mut pipe = 20;
    for (i, inflight) in expected_inflight.into_iter().enumerate() {
        pipe -= 1 + u32::from(i == 0); // delivered; at entry, the lost segment as well
        assert_eq!(pipe, inflight, "ACK {}", i + 3);
        let window = prr.on_ack(&AckProgress {
            delivered: Segments::ONE,
            pipe: Segments(pipe),
            ssthresh: Segments(10),
            cwnd: Segments(20),
            floor: Segments(10),
            clocks: true,
            safe: false,
            entering: i == 0,
            partial: false,
        });
        (pipe..window.0).for_each(|_| prr.on_sent());
        pipe = pipe.max(window.0);
    }
}
