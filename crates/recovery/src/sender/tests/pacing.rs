//! When the next packet may leave. The RTT is 100 ms, the window ten full packets of 1,000 bytes: in slow start the
//! pacing rate is 200 bytes a millisecond, and nine full packets leave at once before it applies.

use super::super::*;
use crate::profile::Profile;

/// Sends packets of 100 bytes until the window is full. Returns the sender and how many it sent.
fn small_packets(by_bytes: bool) -> (Sender, u64) {
    let profile: Profile = "rfc9002".parse().unwrap();
    let mut sender = Sender::of_packets(Instant::ZERO, profile.mechanisms(), 1000);
    sender.seed_rtt(Duration::from_millis(100));
    sender.set_paced(true);
    sender.count_bytes(by_bytes);
    sender.on_written(Instant::ZERO, 1000);
    let mut sent = 0;
    while let Some(what) = sender.next_send(Instant::ZERO) {
        sender.on_packet_sent(Instant::ZERO, what, 100, 0).unwrap();
        sent += 1;
    }
    (sender, sent)
}

#[test]
fn small_packets_are_paced_as_they_fill_the_window() {
    // 10 · 1,000 bytes take 50 ms, and 91 · 100 bytes 45.5 ms; 45 ms of it leave at once.
    for (by_bytes, packets, micros) in [(false, 10, 5_000), (true, 91, 500)] {
        let (sender, sent) = small_packets(by_bytes);
        assert_eq!(sent, packets);
        let rate = sender.pacing_rate().map(BitRate::bits_per_second);
        assert_eq!(rate, Some(1_600_000), "counts bytes: {by_bytes}");
        let departure = Instant::ZERO + Duration::from_micros(micros);
        assert_eq!(sender.next_departure(Instant::ZERO), departure);
    }
}
