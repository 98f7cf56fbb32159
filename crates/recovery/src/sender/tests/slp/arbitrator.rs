//! Which segments the arbitrator copies.

use super::*;

// The arbitrator.

#[test]
fn p_q_rto_size_and_bandwidth_decide_together() {
    // (p, q in %; RTT, RTO in ms; payload; the least bw in bit/s: (1 − p)·(payload + 40)·8 / p·q·RTO)
    for (p, q, rtt, rto, payload, least) in [
        (2, 10, 80, 280, 1000, 14_560_000),
        (2, 10, 200, 600, 1000, 6_794_667),
        (2, 10, 80, 280, 300, 4_760_000),
        (2, 100, 80, 280, 1000, 1_456_000),
        (50, 10, 80, 280, 1000, 297_143),
    ] {
        for (bandwidth, copied) in [(least, true), (least - 1, false)] {
            let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
                rules.loss = LossRate::Fixed(Ppm::percent(p));
                rules.likelihoods = Likelihoods::default().with(Kind::Psh, Ppm::percent(q));
                rules.bandwidth = bits(bandwidth);
            });
            flow.opens(rtt).rto(rto).unit(payload).writes(1).sent();
            let planned = flow.sender.deadline(Timer::Copy).is_some();
            assert_eq!(planned, copied, "{p} {q} {rto} {payload} {bandwidth}");
            let withheld = flow.sender.counters().copies_withheld;
            assert_eq!(withheld, 0, "what is not worth a copy is not withheld");
        }
    }
}

#[test]
fn a_syn_of_70_bytes_is_copied_from_27440_bits_a_second_on() {
    // linux-2.6 begins with an RTO of three seconds.
    for (profile, least) in [("linux-3.17", 27_440), ("linux-2.6", 9147)] {
        for (bandwidth, copied) in [(least, true), (least - 1, false)] {
            let slow = |rules: &mut SlpRules| rules.bandwidth = bits(bandwidth);
            let mut flow = Script::copying(profile, Trigger::Syn, slow);
            flow.headers(69).sends("SYN");
            let planned = flow.sender.deadline(Timer::Copy).is_some();
            assert_eq!(planned, copied, "{profile} {bandwidth}");
        }
    }
}

#[test]
fn the_rto_that_counts_is_the_one_backed_off() {
    // 0.02 · 0.1 · RTO against 340 bytes: 280 ms ask for 4.76 Mbit/s, 560 ms for 2.38.
    let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
        rules.likelihoods = push_only();
        rules.bandwidth = bits(2_380_000);
    });
    flow.opens(80).unit(300).writes(1).sends("1:300");
    flow.no_timer(Timer::Copy).at(160).ack(1).rto(280);
    flow.writes(1).sends("2:300").expires(Timer::Rto, 440);
    flow.sends("rto 2:300").at(520).ack(2).rto(560);
    flow.writes(1).sends("3:300").timer(Timer::Copy, 520 + 10);
}

#[test]
fn each_kind_is_known() {
    // Two writes at once, of two segments and of two; then the end of the stream.
    for (kind, copied) in
        [(Kind::First, "copy 1"), (Kind::Psh, "copy 2"), (Kind::Other, "copy 3"), (Kind::Tail, "copy 4")]
    {
        let mut flow = flow("linux-3.17", &[kind]);
        flow.writes(2).writes(2).sends("1-4");
        flow.expires(Timer::Copy, 90).sends(copied);
    }
    let mut flow = flow("linux-3.17", &[Kind::Fin]);
    flow.writes(1).sends("1").no_timer(Timer::Copy);
    flow.writes(1).closes().sends("2+FIN");
    flow.expires(Timer::Copy, 90).sends("copy 2+FIN");
}

#[test]
fn the_handshake_is_a_kind_of_each_side() {
    for (trigger, kind, copied) in [
        (Trigger::Syn, Kind::Syn, true),
        (Trigger::Syn, Kind::SynAck, false),
        (Trigger::SynAck, Kind::Syn, false),
        (Trigger::SynAck, Kind::SynAck, true),
        (Trigger::Syn, Kind::Tail, false),
        (Trigger::Syn, Kind::First, false),
    ] {
        let mut flow = Script::copying("linux-3.17", trigger, |rules| *rules = copying(&[kind]));
        flow.sends("SYN");
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        assert_eq!(planned, copied, "{trigger:?} {kind:?}");
    }
}

#[test]
fn a_learned_loss_rate_falls_with_deliveries_and_rises_with_losses() {
    // 0.1 · 0.28 s · p against (1 − p) · 8320 bits at 20 Mbit/s: p has to be 1.464 %, 1/68 is.
    let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
        rules.loss = LossRate::Learned;
        rules.likelihoods = push_only();
        rules.bandwidth = bits(20_000_000);
    });
    flow.opens(80);
    let mut copied = Vec::new();
    for n in 1..=30 {
        let at = 80 * n;
        flow.writes(1).sends(&n.to_string());
        if flow.sender.deadline(Timer::Copy).is_some() {
            copied.push(n);
            flow.expires(Timer::Copy, at + 10).sends(&format!("copy {n}"));
        }
        if n == 25 {
            flow.expires(Timer::Rto, at + 280).sends("rto 25");
            break;
        }
        flow.at(at + 80).ack(n);
    }
    assert_eq!(copied, (1..=18).collect::<Vec<_>>());
    // A retransmission in 29 segments: 2/79. (The window after a timeout has no room before.)
    flow.at(2400).ack(25).writes(2).sends("26-27");
    flow.at(2480).ack(27).writes(1).sends("28");
    flow.timer(Timer::Copy, 2490);
}

#[test]
fn a_retransmission_reported_as_spurious_is_no_loss() {
    let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
        rules.loss = LossRate::Learned;
        rules.likelihoods = push_only();
        rules.bandwidth = bits(20_000_000);
    });
    flow.opens(80).writes(10).sends("1-10");
    assert_eq!(flow.sender.counters().copies_withheld, 1, "worth one");
    // 20 segments in all: 1/70 is too little, 2/70 would do.
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(240).sack(10, &[1..=1]).writes(9).sends("11-19");
    flow.no_timer(Timer::Copy);
    assert_eq!(flow.sender.counters().copies_withheld, 1);
}

#[test]
fn the_bandwidth_is_the_delivery_rate_once_more_than_the_application_limits_it() {
    // 1040 bytes for 0.02 · q · 280 ms: 2 Mbit/s take q = 0.728.
    for (bandwidth, q, before, after) in
        [(1_000_000, 80, false, true), (100_000_000, 80, true, true), (100_000_000, 70, true, false)]
    {
        let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
            rules.bandwidth = bits(bandwidth);
            rules.likelihoods = Likelihoods::default().with(Kind::Psh, Ppm::percent(q));
        });
        flow.opens(80);
        // The handshake tells nothing, nor does the first flight: it was written into an open window.
        for (n, at) in [(1, 80), (2, 160)] {
            flow.writes(1).sends(&n.to_string());
            if before {
                flow.expires(Timer::Copy, at + 10).sends(&format!("copy {n}"));
            } else {
                flow.no_timer(Timer::Copy);
            }
            flow.at(at + 80).ack(n);
        }
        // Ten go into an open window, twenty when they are acknowledged: 160,000 bits in 80 ms.
        flow.writes(40).sends("3-12").at(320).ack(12).sends("13-32");
        flow.at(400).ack(32).sends("33-42");
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        assert_eq!(planned, after, "{bandwidth} {q}");
    }
}

#[test]
fn who_writes_while_the_window_is_full_does_not_limit_the_rate() {
    for (full, copied) in [(true, true), (false, false)] {
        let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
            rules.bandwidth = bits(1_000_000);
            rules.likelihoods = Likelihoods::default().with(Kind::Psh, Ppm::percent(80));
        });
        flow.opens(80).writes(10).sends("1-10").at(160).ack(10);
        // The next twenty are written while twenty are in flight, or once they have arrived.
        flow.writes(20).sends("11-30");
        if full {
            flow.writes(20).at(240).ack(30);
        } else {
            flow.at(240).ack(30).writes(20);
        }
        flow.sends("31-50").at(320).ack(50).writes(1).sends("51");
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        assert_eq!(planned, copied, "{full}");
    }
}
