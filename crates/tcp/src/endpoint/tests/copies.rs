//! Selective loss prevention between two endpoints: copies of the handshake and of data. SRTT is 20 ms,
//! so that a copy of data follows its original by 2.5 ms.

use super::*;
use crate::Push;
use recoup_recovery::Profile;
use recoup_recovery::slp::{Kind, Likelihoods, LossRate, SlpRules};
use recoup_units::{BitRate, Ppm, Segments};
use recoup_wire::IpVersion;

/// Segments of these kinds are worth a copy.
fn copying(profile: &str, kinds: &[Kind]) -> Config {
    let profile: Profile = profile.parse().unwrap();
    let none = Likelihoods::default();
    let mut rules = SlpRules::PAPER;
    rules.loss = LossRate::Fixed(Ppm::ONE);
    rules.likelihoods = kinds.iter().fold(none, |q, &k| q.with(k, Ppm::ONE));
    let mechanisms = profile.mechanisms().with(|m| m.slp = Some(rules));
    Config { mechanisms, sack: mechanisms.sack, ..config() }
}

/// One connection, nothing taken for lost, spurious or reordered.
fn assert_sane(pair: &Pair, what: &str) {
    for end in &pair.ends {
        let counters = end.sender().counters();
        assert_eq!(end.state(), State::Established, "{what}");
        assert_eq!(counters.retransmissions.total(), 0, "{what}");
        assert_eq!(counters.timeouts.iter().sum::<u64>(), 0, "{what}");
        assert_eq!(counters.undone.iter().sum::<u64>(), 0, "{what}");
        assert_eq!(counters.reordering_seen, 0, "{what}");
        assert!(end.sender().ssthresh() == Segments::MAX, "{what}");
    }
}

#[test]
fn a_syn_that_comes_twice_is_answered_twice() {
    let mut server = Lone::listening(&config());
    assert_eq!(server.answer("S 0:1 mss 1000 sackOK"), ["S. 0:1 ack 1"]);
    server.pass(ms(5));
    let again = "S 0:1 mss 1000 sackOK";
    assert_eq!(server.answer(again), ["S. 0:1 ack 1"]);
    // Another's SYN, or a blind one, is not.
    assert_eq!(server.answer("S 7:8 mss 1000 sackOK"), [""; 0]);
    assert_eq!(server.answer("S. 0:1 ack 1"), [""; 0]);
    let timer = server.endpoint.next_timer().map(|(at, _)| at);
    assert_eq!(timer, Some(Instant::from_millis(1000)), "its own timer stands");
    server.pass(ms(15));
    assert_eq!(server.answer(". 1 ack 1"), [""; 0]);
    assert_eq!(server.state(), State::Established);
    assert_eq!(server.endpoint.sender().cwnd(), Segments(10));
    let counters = server.endpoint.sender().counters();
    assert_eq!(counters.retransmissions.total(), 0);
    // Once it is open, an ACK tells where it stands (RFC 5961 §4).
    assert_eq!(server.answer(again), [". 1 ack 1"]);
}

#[test]
fn a_retransmitted_syn_leaves_the_syn_ack_to_its_timer() {
    // The peer's first RTO is at least a second.
    for (profile, rto) in [("linux-3.17", 1000), ("linux-2.6", 3000)] {
        let mut server = Lone::listening(&copying(profile, &[]));
        let syn = "S 0:1 mss 1000 sackOK";
        server.answer(syn);
        for (at, answers) in [(499, 1), (500, 0), (rto - 1, 0)] {
            server.pass(Instant::from_millis(at).since(server.now));
            assert_eq!(server.answer(syn).len(), answers, "at {at} ms");
        }
        assert_eq!(server.pass(ms(1)), [format!("{rto} S. 0:1 ack 1")]);
    }
}

#[test]
fn both_answers_say_the_same() {
    let mut server = Lone::listening(&with_timestamps());
    let syn = "S 0:1 mss 1000 wscale 3 sackOK ts 7/0";
    server.recv(syn);
    let [first] = server.transmits()[..] else {
        panic!("one answer");
    };
    server.recv(syn);
    assert_eq!(server.transmits(), [first]);
}

#[test]
fn copies_of_the_handshake_leave_one_connection() {
    let off = config();
    let client = copying("linux-3.17", &[Kind::Syn]);
    let server = copying("linux-3.17", &[Kind::SynAck]);
    let three = ["0 > S 0:1", "10 < S. 0:1 ack 1", "20 > . 1 ack 1"];
    // (client, server, what is sent besides)
    for (client, server, besides) in [
        (&client, &off, &["5 > S 0:1", "15 < S. 0:1 ack 1", "25 > . 1 ack 1"]),
        (&off, &server, &["15 < S. 0:1 ack 1", "25 > . 1 ack 1", ""]),
    ] {
        let mut pair = Pair::new(client, server);
        pair.run();
        let trace = pair.trace();
        let (known, rest): (Vec<_>, Vec<_>) = trace.iter().partition(|line| three.contains(&line.as_str()));
        assert_eq!(known, three);
        assert_eq!(rest, besides.iter().filter(|l| !l.is_empty()).collect::<Vec<_>>());
        assert_sane(&pair, "copied handshake");
        for end in &pair.ends {
            assert_eq!(end.sender().cwnd(), Segments(10));
            // The RTO of an SRTT of 20 ms.
            assert_eq!(end.sender().rto(), ms(220));
        }
    }
}

#[test]
fn a_copy_replaces_a_lost_handshake_segment() {
    let client = copying("linux-3.17", &[Kind::Syn]);
    let server = copying("linux-3.17", &[Kind::SynAck]);
    for (lost, open) in [(vec![(Client, 1)], 25), (vec![(Server, 1)], 25), (vec![(Client, 1), (Server, 1)], 30)] {
        let mut pair = Pair::new(&client, &server);
        pair.lost = lost.clone();
        pair.run_until(open + 10);
        let opened = pair.sent.iter().find(|(_, side, s)| *side == Client && !s.flags.contains(Flags::SYN));
        assert_eq!(opened.map(|(at, ..)| *at), Some(Instant::from_millis(open)));
        pair.run();
        assert_sane(&pair, &format!("{lost:?}"));
    }
}

/// The answers to a duplicated handshake are not taken for duplicate ACKs of the data that follows.
#[test]
fn data_right_after_a_duplicated_handshake_is_not_retransmitted() {
    for profile in ["linux-3.17", "linux-2.6", "linux-6", "rfc6675", "reno"] {
        for sack in [true, false] {
            for (side, bytes) in [(Client, 300), (Client, 3000), (Server, 300), (Server, 3000)] {
                let mut host = copying(profile, &[Kind::Syn, Kind::SynAck, Kind::Psh]);
                host.sack &= sack;
                let mut pair = Pair::new(&host, &host);
                pair.write(side, bytes);
                pair.run();
                let what = format!("{profile} {sack} {side:?} {bytes}");
                assert_sane(&pair, &what);
                assert_eq!(pair.read.iter().sum::<u64>(), bytes, "{what}");
            }
        }
    }
}

#[test]
fn a_copy_has_the_flags_of_its_original() {
    for push in [Push::WriteEnd, Push::Burst { least: 2 }] {
        for kind in &Kind::ALL[2..] {
            let client = Config { push, ..copying("linux-6", &[*kind]) };
            let mut pair = Pair::open(&client, &config());
            pair.write(Client, 3500);
            pair.flush();
            // A write in the gap does not change the segments sent before.
            pair.write(Client, 1200);
            if *kind == Kind::Fin {
                pair.close(Client);
            }
            pair.run_until(35);
            let sent: Vec<_> = pair.from(Client).filter(|s| s.sequence_len() > 0).collect();
            let mut copies = 0;
            for (i, copy) in sent.iter().enumerate() {
                let original = sent[..i].iter().find(|s| s.seq == copy.seq);
                if let Some(original) = original {
                    copies += 1;
                    assert_eq!(copy.flags, original.flags, "{push:?} {kind:?}");
                    assert_eq!(copy.payload_len, original.payload_len);
                    let fin = copy.flags.contains(Flags::FIN);
                    let psh = copy.flags.contains(Flags::PSH);
                    assert!(*kind != Kind::Fin || fin, "{push:?}");
                    assert!(*kind != Kind::Psh || psh, "{push:?}");
                }
            }
            assert_eq!(copies, 1, "{push:?} {kind:?}");
        }
    }
}

#[test]
fn how_often_psh_is_set_decides_what_is_copied() {
    // Of a write of four segments the end, or the end of the first burst of two.
    for (push, copied) in
        [(Push::WriteEnd, "32.5 > P. 3001:4001 ack 1"), (Push::Burst { least: 2 }, "32.5 > P. 1001:2001 ack 1")]
    {
        let client = Config { push, ..copying("linux-6", &[Kind::Psh]) };
        let mut pair = Pair::open(&client, &config());
        pair.write(Client, 4000);
        pair.run_until(39);
        assert_eq!(pair.trace()[4..], [copied]);
    }
}

#[test]
fn the_size_that_counts_is_the_ip_packets() {
    // 0.02 · 0.1 · 220 ms for 0.98 · 8 · (1000 bytes, 20 of TCP, 20 or 40 of IP).
    for (ip_version, least) in [(IpVersion::V4, 18_530_910), (IpVersion::V6, 18_887_273)] {
        for (bandwidth, copies) in [(least, 1), (least - 1, 0)] {
            let mut rules = SlpRules::PAPER;
            rules.bandwidth = BitRate::from_bits_per_second(bandwidth).unwrap();
            rules.likelihoods = Likelihoods::default().with(Kind::Psh, Ppm::percent(10));
            let client =
                Config { ip_version, mechanisms: Mechanisms::LINUX_3_17.with(|m| m.slp = Some(rules)), ..config() };
            let mut pair = Pair::open(&client, &config());
            pair.write(Client, 1000);
            pair.run();
            let sent = pair.ends[0].sender().counters().copies;
            assert_eq!(sent, copies, "{ip_version:?} {bandwidth}");
        }
    }
}

#[test]
fn a_copy_may_reach_the_receiver_before_after_or_instead_of_its_original() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Copy {
        After,
        Before,
        Instead,
    }
    let policies = [AckPolicy::Quick, AckPolicy::Delayed(ms(200)), AckPolicy::Linux { quick: 1 }];
    for profile in ["linux-3.17", "linux-3.17+tlpr", "linux-6", "reno"] {
        for acks in policies {
            for copy in [Copy::After, Copy::Before, Copy::Instead] {
                for timestamps in [false, true] {
                    let client = Config { timestamps, ..copying(profile, &[Kind::Psh]) };
                    let server = Config { acks, timestamps, ..config() };
                    let mut pair = Pair::open(&client, &server);
                    let cwnd = pair.ends[0].sender().cwnd();
                    if copy == Copy::Instead {
                        pair.lost = vec![(Client, 2)];
                    }
                    pair.write(Client, 2000);
                    pair.flush();
                    if copy == Copy::Before {
                        pair.in_flight[1].0 += ms(4);
                    }
                    pair.run_until(39);
                    let what = format!("{profile} {acks:?} {copy:?} {timestamps}");
                    assert_eq!(pair.from(Client).count(), 3, "{what}");
                    pair.run();
                    assert_sane(&pair, &what);
                    assert_eq!(pair.read, [0, 2000], "{what}");
                    assert!(pair.rest < Instant::from_millis(300), "{what}");
                    let sender = pair.ends[0].sender();
                    assert_eq!(sender.una(), sender.limit(), "{what}");
                    assert!(sender.cwnd() >= cwnd, "{what}");
                    let counters = sender.counters();
                    assert_eq!((counters.copies, counters.dsacks), (1, 0), "{what}");
                    let reported = counters.copies_reported;
                    assert!(!sender.uses_sack() || (reported == 1) == (copy != Copy::Instead), "{what}");
                }
            }
        }
    }
}
