//! Mistakes of a host. Calls that do not belong to the numbering of the sender, or report what cannot have happened,
//! change nothing, and are counted or answered with an error. A congestion control cannot close the window.

use super::super::*;
use crate::profile::Profile;

const NOW: Instant = Instant::from_millis(1000);

fn mechanisms() -> Mechanisms {
    *"linux-6".parse::<Profile>().unwrap().mechanisms()
}

/// Five segments of 1,000 bytes are in flight, as many as the peer's window allows.
fn bytes() -> Sender {
    let mut sender = Sender::established(NOW, &mechanisms(), 1000, 5000);
    sender.on_written(NOW, 20_000);
    send_all(&mut sender);
    sender
}

fn send_all(sender: &mut Sender) {
    while let Some(what) = sender.next_send(NOW) {
        sender.on_sent(NOW, what);
    }
}

#[test]
fn packets_are_not_acknowledged_where_positions_count_bytes() {
    let mut sender = bytes();
    let window = sender.peer_window();
    let ranges = [packet_numbers(0..=999)];
    let summary = sender.on_packets_acked(NOW, &ranges, Duration::ZERO, |_| unreachable!());
    assert_eq!(summary, Default::default());
    assert_eq!((sender.peer_window(), sender.pipe()), (window, Segments(5)));
    assert_eq!(sender.counters().impossible_acks, 1);
}

#[test]
fn an_abandoned_range_of_packet_numbers_hides_no_lost_packet() {
    let mut sender = Sender::of_packets(NOW, &mechanisms(), 1000);
    sender.on_written(NOW, 10);
    send_all(&mut sender);
    sender.abandon(NOW, packet_numbers(0..=1));
    let later = NOW + Duration::from_millis(20);
    sender.on_packets_acked(later, &[packet_numbers(2..=9)], Duration::ZERO, |_| ());
    let lost = core::iter::from_fn(|| sender.take_lost(later)).map(|packet| packet.number());
    assert_eq!(lost.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_retransmission_of_data_never_sent_is_refused() {
    let mut sender = bytes();
    let beyond = Transmission::Again(Span::at(sender.nxt(), 1000), Trigger::Fast);
    assert_eq!(sender.on_packet_sent(NOW, beyond, 1000, 0), Err(Refused::NotOutstanding));
    sender.on_sent(NOW, beyond);
    let counters = sender.counters();
    assert_eq!((counters.impossible_sends, counters.retransmissions.total()), (1, 0));
    sender.check().unwrap();
}

/// A congestion control that computes a window of zero.
#[derive(Clone, Debug)]
struct Nothing;

impl CongestionControl for Nothing {
    fn ssthresh_after_loss(&mut self, _cwnd: Segments) -> Segments {
        Segments::ZERO
    }

    fn grow(&mut self, _growth: &congestion::Growth) -> Segments {
        Segments::ZERO
    }
}

#[test]
fn a_congestion_control_that_returns_zero_does_not_stop_the_sender() {
    let mut sender = Sender::with_control(Nothing, &mechanisms(), 1000, Trigger::Syn, false);
    let mut now = NOW;
    sender.establish(now, 1 << 20);
    sender.on_written(now, 40_000);
    for round in 0..200 {
        while let Some(what) = sender.next_send(now) {
            sender.on_sent(now, what);
        }
        now += Duration::from_millis(20);
        // Now and then nothing but the timer follows, or only the first segment is missing.
        let (una, nxt) = (sender.una(), sender.nxt());
        let ranges = [Span::new(una + 1000, nxt)];
        match round % 4 {
            1 => drop(sender.on_ack(now, &Ack::new(una, 1 << 20).with_ranges(&ranges))),
            2 => {
                let (at, timer) = sender.next_timer().unwrap_or((now, Timer::Rto));
                now = now.max(at);
                sender.on_timer(now, timer);
            }
            _ => drop(sender.on_ack(now, &Ack::new(nxt, 1 << 20))),
        }
        sender.check().unwrap();
    }
    assert_eq!(sender.una(), sender.limit());
}
