//! A congestion control that models the path.

use crate::format::File;
use crate::script::{About, Script, start};
use recoup_recovery::Timer;

pub fn files() -> Vec<File> {
    let about = About {
        mechanism: "bbr1",
        about: "BBR, version 1: pacing rate, window, and what recovery makes of them. Bursts leave when pacing lets them",
        source: "Linux 6.12 tcp_bbr.c, tcp_rate.c, tcp_update_skb_after_send",
        settings: &["congestion_control", "initial_window"],
        given: &["state", "newly_acked", "delivered", "marked_lost", "pipe", "srtt_ns"],
        expect: &["cwnd", "pacing_bits_per_s", "departure_at_ns", "next"],
    };
    let bbr = start("linux-6+bbr1+notlp", 80);
    vec![about.file(|cases| {
        cases.add(
            "startup: the window in a round trip with a gain of 2.89, and bursts of two after ten segments",
            "bbr_init_pacing_rate_from_rtt, tcp_pacing_check",
            bbr,
            |s| {
                s.write(400);
                bottleneck(s, 2, 6);
            },
        );
        cases.add(
            "startup ends after three round trips without growth, and drain begins",
            "bbr_check_full_bw_reached",
            bbr,
            |s| {
                s.write(200);
                bottleneck(s, 20, 68);
            },
        );
        cases.add(
            "recovery: what is in flight and what was delivered, for a round trip",
            "bbr_set_cwnd_to_recover_or_restore",
            bbr,
            |s| {
                s.write(60);
                bottleneck(s, 2, 11);
                for n in 14..=18 {
                    s.paced_until(120 + 2 * n).sack(12, &[14..=n]);
                }
                for _ in 0..2 {
                    let (sent, _) = s.sent_and_acked();
                    s.paced_until(s.now_ms() + 82).ack(sent);
                }
            },
        );
        cases.add("a timeout's retransmission does not wait for its departure", "tcp_retransmit_timer", bbr, |s| {
            s.write(10).fires(Timer::Rto).after(80).ack(10);
        });
    })]
}

/// A path that delivers a segment every `interval` ms from 80 ms on: `acks` ACKs.
fn bottleneck(s: &mut Script, interval: u64, acks: u64) {
    for n in 1..=acks {
        s.paced_until(80 + interval * (n - 1)).ack(n);
    }
}
