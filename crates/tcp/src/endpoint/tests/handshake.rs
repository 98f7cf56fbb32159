//! Opening, and what is agreed on.

use super::*;
use recoup_recovery::slp::SlpRules;

#[test]
fn three_segments_open_a_connection() {
    let mut pair = Pair::new(&config(), &config());
    pair.run();
    assert_eq!(pair.trace(), ["0 > S 0:1", "10 < S. 0:1 ack 1", "20 > . 1 ack 1"]);
    assert_eq!(pair.states(), [State::Established; 2]);
    assert!(pair.ends.iter().all(|end| end.sender().una() == Offset(1)));
}

#[test]
fn options_of_the_handshake() {
    // A buffer of 1 MiB takes a shift of 5; the window of a SYN is not scaled (RFC 7323 §2.2).
    let config = Config { receive_buffer: 1 << 20, ..with_timestamps() };
    let mut pair = Pair::new(&config, &config);
    pair.run();
    let options: Vec<_> = pair.sent.iter().map(|(_, _, s)| format!("win {} [{}]", s.window, s.options)).collect();
    assert_eq!(
        options,
        [
            // RFC 6691 §2: the MSS option does not count the options.
            "win 65535 [mss 1012,sackOK,TS val 1 ecr 0,wscale 5]",
            "win 65535 [mss 1012,sackOK,TS val 11 ecr 1,wscale 5]",
            "win 32768 [TS val 21 ecr 11]",
        ]
    );
}

#[test]
fn an_option_is_used_only_if_both_sides_offer_it() {
    for bits in 0..16u32 {
        let has = |bit: u32| bits >> bit & 1 == 1;
        let side = |timestamps, sack| Config { timestamps, sack, ..config() };
        let mut pair = Pair::new(&side(has(0), has(1)), &side(has(2), has(3)));
        pair.lost.push((Client, 3)); // of five segments of data the first
        pair.run_until(25);
        pair.write(Client, 5000);
        pair.run();
        let (timestamps, sack) = (has(0) && has(2), has(1) && has(3));
        let [syn, syn_ack] = [&pair.sent[0].2.options, &pair.sent[1].2.options];
        // The options that the SYN offers, and those that the SYN-ACK accepts.
        assert_eq!(syn.timestamps.is_some(), has(0));
        assert_eq!(syn.sack_permitted, has(1));
        assert_eq!(syn_ack.timestamps.is_some(), timestamps, "{bits:04b}");
        assert_eq!(syn_ack.sack_permitted, sack, "{bits:04b}");
        // RFC 6691 §2: the option tells what the side could take, timestamps or not.
        assert_eq!(syn_ack.mss, Some(if has(2) { 1012 } else { 1000 }));
        let later = pair.sent[2..].iter().map(|(_, _, s)| &s.options);
        assert!(later.clone().all(|o| o.timestamps.is_some() == timestamps));
        assert!(later.clone().all(|o| o.mss.is_none() && !o.sack_permitted));
        assert_eq!(later.clone().any(|o| !o.sack.is_empty()), sack);
        assert_eq!(pair.read[1], 5000, "{bits:04b}");
    }
}

#[test]
fn a_window_is_scaled_only_if_both_sides_offer_it() {
    let config = Config { receive_buffer: 1 << 20, ..config() };
    // (peer's option, our window field of 1 MiB, bytes the peer's window of 100 lets us send)
    let cases = [
        ("", 65535, 100),
        ("wscale 0", 32768, 100),
        ("wscale 3", 32768, 800),
        ("wscale 14", 32768, 2000),  // all there is
        ("wscale 200", 32768, 2000), // RFC 7323 §2.3: taken as 14
    ];
    for (option, window, bytes) in cases {
        let mut client = Lone::connecting(&config);
        client.sent();
        client.recv(&format!("S. 0:1 ack 1 mss 2000 {option} win 100"));
        assert_eq!(client.transmits()[0].window, window, "client, {option}");
        client.endpoint.write(client.now, 2000);
        // The window of a SYN-ACK is never scaled.
        assert_eq!(client.sent(), [". 1:101 ack 1"]);
        client.recv(". 1 ack 101 win 100");
        let sent: u32 = client.transmits().iter().map(|s| s.payload_len).sum();
        assert_eq!(sent, bytes.min(1900), "client, {option}");

        let mut server = Lone::listening(&config);
        server.recv(&format!("S 0:1 mss 1000 {option} win 0"));
        let syn_ack = server.transmits()[0];
        assert_eq!(syn_ack.options.window_scale.is_some(), !option.is_empty());
        assert_eq!(syn_ack.window, 65535);
        server.recv(". 1 ack 1 win 100");
        server.endpoint.write(server.now, 2000);
        let sent: u32 = server.transmits().iter().map(|s| s.payload_len).sum();
        assert_eq!(sent, bytes, "server, {option}");
        server.recv(". 0 ack 1"); // old: draws an ACK
        assert_eq!(server.transmits()[0].window, window, "server, {option}");
    }
}

#[test]
fn a_lost_syn_is_retransmitted_after_1_3_and_7_seconds() {
    let mut pair = Pair::new(&config(), &config());
    pair.lost = vec![(Client, 1), (Client, 2), (Client, 3)];
    pair.run();
    assert_eq!(
        pair.trace(),
        ["0 > S 0:1", "1000 > S 0:1", "3000 > S 0:1", "7000 > S 0:1", "7010 < S. 0:1 ack 1", "7020 > . 1 ack 1",]
    );
}

#[test]
fn a_lost_syn_ack_is_retransmitted_by_its_own_timer() {
    let mut pair = Pair::new(&config(), &config());
    pair.lost = vec![(Server, 1)];
    pair.run();
    assert_eq!(
        pair.trace(),
        ["0 > S 0:1", "10 < S. 0:1 ack 1", "1000 > S 0:1", "1010 < S. 0:1 ack 1", "1020 > . 1 ack 1",]
    );
    assert_eq!(pair.states(), [State::Established; 2]);
}

#[test]
fn a_retransmitted_syn_ack_or_data_replaces_a_lost_ack_of_the_syn_ack() {
    let mut pair = Pair::new(&config(), &config());
    pair.lost = vec![(Client, 2)];
    pair.run();
    assert_eq!(pair.trace()[2..], ["20 > . 1 ack 1", "1010 < S. 0:1 ack 1", "1020 > . 1 ack 1"]);
    assert_eq!(pair.states(), [State::Established; 2]);

    let mut pair = Pair::new(&config(), &config());
    pair.lost = vec![(Client, 2)];
    pair.run_until(25);
    assert_eq!(pair.states(), [State::Established, State::SynReceived]);
    pair.write(Client, 100);
    pair.run();
    assert_eq!(pair.trace()[2..], ["20 > . 1 ack 1", "25 > P. 1:101 ack 1", "35 < . 1 ack 101"]);
    assert_eq!(pair.states(), [State::Established; 2]);
}

#[test]
fn data_written_early_waits_for_the_handshake() {
    let mut pair = Pair::new(&config(), &config());
    pair.write(Client, 100);
    pair.write(Server, 200);
    pair.close(Client);
    pair.run_until(45);
    assert_eq!(
        pair.trace(),
        ["0 > S 0:1", "10 < S. 0:1 ack 1", "20 > FP. 1:102 ack 1", "30 < P. 1:201 ack 102", "40 > . 102 ack 201",]
    );
    assert_eq!(pair.states(), [State::FinWait2, State::CloseWait]);
}

#[test]
fn the_smaller_mss_rules_each_way() {
    // (client's payload, its timestamps, server's payload, its timestamps, what each sends)
    let cases = [
        (1448, true, 1448, true, [1448, 1448]),
        (1448, true, 536, true, [536, 536]),
        (536, true, 1448, true, [536, 536]),
        (1448, false, 1000, false, [1000, 1000]),
        // The server means 1448 beside timestamps, which there will not be.
        (1460, false, 1448, true, [1460, 1460]),
        (65535, true, 1448, true, [1448, 1448]),
        // An MSS option below 48 counts as 48.
        (1, false, 1000, false, [1, 48]),
    ];
    for (client, client_ts, server, server_ts, payloads) in cases {
        let side = |mss, timestamps| Config { mss, timestamps, ..config() };
        let mut pair = Pair::open(&side(client, client_ts), &side(server, server_ts));
        pair.write(Client, 5 * u64::from(payloads[0]));
        pair.write(Server, 5 * u64::from(payloads[1]));
        pair.run();
        for side in [Client, Server] {
            let payload = payloads[side as usize];
            let lens: Vec<_> = pair.from(side).map(|s| s.payload_len).collect();
            assert_eq!(lens.iter().max(), Some(&payload), "{client} {server}");
            assert_eq!(lens.iter().sum::<u32>(), 5 * payload, "{client} {server}");
        }
    }
}

#[test]
fn without_an_mss_option_536_is_assumed() {
    // (peer's options, first segment): RFC 9293 §3.7.1; timestamps take 12 bytes of it.
    let cases = [
        ("", 536),
        ("ts 5/1", 524),
        ("mss 1000 ts 5/1", 988),
        ("mss 1012 ts 5/1", 1000),
        // Less than 48 counts as 48.
        ("mss 49", 49),
        ("mss 47", 48),
        ("mss 5 ts 5/1", 36),
        ("mss 0", 48),
    ];
    for (options, payload) in cases {
        let config = with_timestamps();
        let mut lone = Lone::connected(&config, &format!("S. 0:1 ack 1 {options}"));
        lone.endpoint.write(lone.now, 3000);
        assert_eq!(lone.transmits()[0].payload_len, payload, "{options}");
    }
}

#[test]
fn data_on_a_syn_is_not_lost() {
    // RFC 9293 §3.4 allows it; not taken, it is not acknowledged and comes again.
    let mut lone = Lone::listening(&config());
    assert_eq!(lone.answer("S 0:101 mss 1000"), ["S. 0:1 ack 1"]);
    assert_eq!(lone.answer("P. 1:101 ack 1"), [". 1 ack 101"]);
    assert_eq!(lone.endpoint.readable(), 100);
}

#[test]
fn listen() {
    // (segment, answer, state): RFC 9293 §3.10.7.2
    let cases: [(&str, &[&str], State); 7] = [
        ("R 5", &[], State::Listen),
        ("R. 5 ack 7", &[], State::Listen),
        (". 5 ack 7", &["R 7"], State::Listen),
        ("S. 0:1 ack 7", &["R 7"], State::Listen),
        ("F 5:6", &[], State::Listen),
        ("SF 0:2", &[], State::Listen),
        ("S 0:1", &["S. 0:1 ack 1"], State::SynReceived),
    ];
    for (segment, answer, state) in cases {
        let mut lone = Lone::listening(&config());
        assert_eq!(lone.answer(segment), answer, "{segment}");
        assert_eq!(lone.state(), state, "{segment}");
    }
}

#[test]
fn syn_sent() {
    // (segment, answer, state): RFC 9293 §3.10.7.3. Our SYN is 0, so only an ACK of 1 is ours.
    let refused = State::Closed(Closed::ByReset);
    let cases: [(&str, &[&str], State); 9] = [
        ("S. 0:1 ack 1", &[". 1 ack 1"], State::Established),
        ("S. 0:1 ack 2", &["R 2"], State::SynSent),
        ("S. 0:1 ack 0", &["R 0"], State::SynSent),
        (". 0 ack 9", &["R 9"], State::SynSent),
        (". 0 ack 1", &[], State::SynSent),
        ("R. 0 ack 1", &[], refused),
        ("R. 0 ack 2", &[], State::SynSent),
        ("R 0", &[], State::SynSent),
        ("S 0:1", &[], State::SynSent), // no simultaneous open
    ];
    for (segment, answer, state) in cases {
        let mut lone = Lone::connecting(&config());
        assert_eq!(lone.sent(), ["S 0:1"]);
        assert_eq!(lone.answer(segment), answer, "{segment}");
        assert_eq!(lone.state(), state, "{segment}");
    }
}

#[test]
fn a_syn_goes_again_at_once_after_an_answer_for_a_connection_of_the_past() {
    // Linux tcp_rcv_synsent_state_process: the reset ends that connection.
    let mut lone = Lone::connecting(&config());
    assert_eq!(lone.sent(), ["S 0:1"]);
    assert_eq!(lone.answer(". 0 ack 9"), ["R 9"]);
    let again = lone.pass(ms(2));
    assert!(again.len() == 1 && again[0].ends_with("S 0:1"), "{again:?}");
    // But once: then its timer decides.
    assert_eq!(lone.answer(". 0 ack 9"), ["R 9"]);
    assert_eq!(lone.pass(ms(1900)), [""; 0]);
    assert_eq!(lone.pass(ms(200)).len(), 1);
}

#[test]
fn syn_received() {
    // (segment, answer, state): RFC 9293 §3.10.7.4, the fifth step for this state
    let refused = State::Closed(Closed::ByReset);
    let cases: [(&str, &[&str], State); 12] = [
        (". 1 ack 1", &[], State::Established),
        ("P. 1:11 ack 1", &[". 1 ack 11"], State::Established),
        ("F. 1:2 ack 1", &[". 1 ack 2"], State::CloseWait),
        (". 1 ack 0", &["R 0"], State::SynReceived),
        (". 1 ack 2", &["R 2"], State::SynReceived),
        (". 1 ack 70000", &["R 70000"], State::SynReceived),
        ("P 1:11", &[], State::SynReceived),
        ("S 0:1", &["S. 0:1 ack 1"], State::SynReceived), // a copy: its own came too soon
        ("S 1:2", &[], State::SynReceived),
        ("R 1", &[], refused),
        ("R 0", &[], State::SynReceived),
        ("R 2", &[". 1 ack 1"], State::SynReceived),
    ];
    for (segment, answer, state) in cases {
        let mut lone = Lone::in_state(State::SynReceived);
        assert_eq!(lone.answer(segment), answer, "{segment}");
        assert_eq!(lone.state(), state, "{segment}");
    }
}

#[test]
fn a_reset_endpoint_equals_a_new_one() {
    let begin = |pair: &mut Pair| {
        pair.write(Client, 3500);
        pair.write(Server, 1500);
        pair.close(Client);
        pair.close(Server);
    };
    let tiny = Config { mss: 77, receive_buffer: 200, sack: false, ..config() };
    let copying =
        Config { mechanisms: Mechanisms::LINUX_3_17.with(|m| m.slp = Some(SlpRules::PAPER)), ..with_timestamps() };
    let configs = [copying, tiny, config()];
    for (first, second) in [(0, 1), (1, 0), (0, 2), (2, 0), (0, 0)] {
        let (first, second) = (configs[first], configs[second]);
        let mut fresh = Pair::new(&second, &second);
        begin(&mut fresh);
        fresh.run();
        // Broken off with everything in the air, in TIME-WAIT, or over.
        for cut in [5, 15, 25, 35, 1000, 100_000] {
            let mut pair = Pair::new(&first, &first);
            begin(&mut pair);
            pair.run_until(cut);
            let mut again = Pair::new(&second, &second);
            let isn = PEER_ISN;
            pair.ends[0].reset(&second, true);
            pair.ends[1].reset(&Config { isn, ..second }, false);
            again.ends = pair.ends;
            begin(&mut again);
            again.run();
            assert_eq!(again.sent, fresh.sent, "cut at {cut} ms");
            assert_eq!(again.rest, fresh.rest, "cut at {cut} ms");
        }
    }
}

#[test]
fn what_was_agreed_before_a_reset_is_forgotten() {
    let config = Config { receive_buffer: 1 << 20, ..with_timestamps() };
    let all = "S. 0:1 ack 1 mss 1000 sackOK wscale 7 ts 9/1";
    let mut lone = Lone::connected(&config, all);
    lone.endpoint.reset(&config, true);
    lone.sent();
    lone.recv("S. 0:1 ack 1 mss 1000 win 100");
    let ack = lone.transmits()[0];
    assert_eq!((ack.window, ack.options), (65535, Options::NONE));
    lone.endpoint.write(lone.now, 1000);
    assert_eq!(lone.sent(), [". 1:101 ack 1"]);
    lone.recv(". 1 ack 101 win 100");
    assert_eq!(lone.sent(), [". 101:201 ack 1"]);
}

#[test]
fn a_reset_ends_time_wait() {
    let mut lone = Lone::in_state(State::TimeWait);
    lone.endpoint.reset(&config(), false);
    assert_eq!(lone.endpoint.next_timer(), None);
    assert_eq!(lone.answer("S 0:1 mss 1000"), ["S. 0:1 ack 1"]);
}
