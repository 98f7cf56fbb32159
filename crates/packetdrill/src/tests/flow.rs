//! Connections as scripts see them.

use super::*;
use recoup_wire::{IcmpMessage, encode_icmp};

#[test]
fn a_passive_open_answers_with_linuxs_options_in_linuxs_order() {
    let drill = Drill::new();
    drill.listener();
    drill.inject(&drill.syn(), &[]);
    let (_, synack, _) = drill.next().unwrap();
    assert_eq!(synack.flags, Flags::SYN | Flags::ACK);
    // The window scale of a receive buffer that may grow to 15 MiB.
    assert_eq!(synack.options.to_string(), "mss 1460,sackOK,wscale 8");
    assert_eq!(synack.ack, PEER + 1);
}

#[test]
fn a_socket_keeps_the_settings_of_its_creation() {
    let plain = Sysctls { sack: Some(0), window_scaling: Some(0), timestamps: Some(0), ..Drill::sysctls() };
    for (sysctls, options) in [(plain, "mss 1460"), (Drill::sysctls(), "mss 1460,sackOK,TS val 1 ecr 0,wscale 8")] {
        let mut drill = Drill::new();
        drill.path.src = "192.0.2.1:80".parse().unwrap();
        let fd = drill.socket_under(sysctls);
        drill.nonblocking(fd);
        let local = address(LOCAL);
        let peer = address("192.0.2.1:80");
        // SAFETY: the table's functions with what they take.
        unsafe {
            assert_eq!((drill.table.bind)(null_mut(), fd, as_sockaddr(&local), 16), 0);
            assert_eq!((drill.table.connect)(null_mut(), fd, as_sockaddr(&peer), 16), -1);
        }
        assert_eq!(errno(), libc::EINPROGRESS);
        let (_, syn, _) = drill.next().unwrap();
        assert_eq!(syn.options.to_string(), options);
    }
}

#[test]
fn data_goes_both_ways() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    assert_eq!(drill.write(fd, &[7; 2500]), 2500);
    let payloads: Vec<_> = (0..3).map(|_| drill.next().unwrap().2).collect();
    assert_eq!(payloads.concat(), [7; 2500]);
    let segment = Segment { payload_len: 5, ..drill.peer(Flags::ACK, 1, 2501) };
    drill.inject(&segment, b"hello");
    assert_eq!(drill.line(), ". 2501 ack 6");
    assert_eq!(drill.read(fd, 100).unwrap(), b"hello");
}

#[test]
fn data_out_of_order_is_put_in_order() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    for (seq, bytes) in [(4, b"def"), (7, b"ghi"), (1, b"abc")] {
        let segment = Segment { payload_len: 3, ..drill.peer(Flags::ACK, seq, 1) };
        drill.inject(&segment, bytes);
    }
    assert_eq!(drill.read(fd, 100).unwrap(), b"abcdefghi");
}

#[test]
fn waiting_for_a_packet_lets_time_pass_to_the_timer_that_sends_it() {
    let mut drill = Drill::with_profile("linux-6");
    let (_, fd) = drill.established();
    drill.write(fd, &[0; 1000]);
    let (sent, _, _) = drill.next().unwrap();
    let (probe, segment, _) = drill.next().unwrap();
    assert_eq!(segment.payload_len, 1000);
    // One segment out: the probe timeout is that of retransmission, RTT + 200 ms.
    assert!((299_000..302_000).contains(&(probe - sent)), "{sent} {probe}");
    assert!(drill.time() >= probe);
}

#[test]
fn sleep_runs_timers_when_they_are_due() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    drill.write(fd, &[0; 1000]);
    let (sent, _, _) = drill.next().unwrap();
    drill.sleep(5_000_000);
    let times: Vec<_> = (0..3).map(|_| drill.next().unwrap().0 - sent).collect();
    assert!(times.iter().all(|t| *t < 3_000_000), "{times:?}");
}

#[test]
fn a_refused_connection_reports_the_error_once() {
    let mut drill = Drill::new();
    drill.path.src = "192.0.2.1:80".parse().unwrap();
    let fd = drill.socket();
    drill.nonblocking(fd);
    let (local, peer) = (address(LOCAL), address("192.0.2.1:80"));
    // SAFETY: the table's functions with what they take.
    unsafe {
        (drill.table.bind)(null_mut(), fd, as_sockaddr(&local), 16);
        (drill.table.connect)(null_mut(), fd, as_sockaddr(&peer), 16);
    }
    assert_eq!(drill.line(), "S 0:1");
    drill.inject(&drill.peer(Flags::RST | Flags::ACK, 0, 1), &[]);
    let error = |fd| number(&option(fd, libc::SOL_SOCKET, libc::SO_ERROR, 4).unwrap());
    assert_eq!([error(fd), error(fd)], [libc::ECONNREFUSED, 0]);
}

#[test]
fn closing_sends_a_fin_or_a_reset() {
    // (unread data, lingering not at all, what goes)
    for (unread, linger, line) in
        [(false, false, "F. 1:2 ack 1"), (true, false, "R. 1 ack 4"), (false, true, "R. 1 ack 1")]
    {
        let mut drill = Drill::new();
        let (_, fd) = drill.established();
        if unread {
            let segment = Segment { payload_len: 3, ..drill.peer(Flags::ACK, 1, 1) };
            drill.inject(&segment, b"abc");
            assert_eq!(drill.line(), ". 1 ack 4");
        }
        if linger {
            let on_for_0 = [1u8, 0, 0, 0, 0, 0, 0, 0];
            // SAFETY: the value is eight bytes long.
            let set = unsafe {
                let (level, name) = (libc::SOL_SOCKET, libc::SO_LINGER);
                let value = on_for_0.as_ptr().cast();
                (drill.table.setsockopt)(null_mut(), fd, level, name, value, 8)
            };
            assert_eq!(set, 0);
        }
        assert_eq!(drill.close(fd), 0);
        assert_eq!(drill.line(), line);
    }
}

#[test]
fn a_closed_port_resets() {
    let mut drill = Drill::new();
    drill.inject(&drill.syn(), &[]);
    let (_, reset, _) = drill.next().unwrap();
    assert_eq!(reset.flags, Flags::RST | Flags::ACK);
    // A listener ignores what neither opens nor acknowledges.
    drill.listener();
    drill.inject(&drill.peer(Flags::NONE, 0, 0), &[]);
    assert_eq!(drill.line(), "nothing");
}

#[test]
fn an_ipv6_listener_of_every_address_takes_ipv4() {
    let drill = Drill::new();
    let fd = RUNTIME.call(|sockets| sockets.socket(true, false, Drill::sysctls())).unwrap();
    let mut any = [0u8; 28];
    any[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
    any[2..4].copy_from_slice(&8080u16.to_be_bytes());
    // SAFETY: the table's functions with what they take.
    unsafe {
        assert_eq!((drill.table.bind)(null_mut(), fd, any.as_ptr().cast(), 28), 0);
        assert_eq!((drill.table.listen)(null_mut(), fd, 1), 0);
    }
    assert_eq!(drill.inject(&drill.syn(), &[]), 0);
    let (_, synack, _) = drill.next().unwrap();
    assert_eq!(synack.flags, Flags::SYN | Flags::ACK);
}

#[test]
fn one_listener_has_an_address() {
    let drill = Drill::new();
    let first = drill.listener();
    let second = drill.socket();
    let local = address(LOCAL);
    // SAFETY: the table's functions with what they take.
    let listen = || unsafe { (drill.table.listen)(null_mut(), second, 1) };
    // SAFETY: as above.
    assert_eq!(unsafe { (drill.table.bind)(null_mut(), second, as_sockaddr(&local), 16) }, 0);
    assert_eq!((listen(), errno()), (-1, libc::EADDRINUSE));
    assert_eq!(drill.close(first), 0);
    assert_eq!(listen(), 0);
}

#[test]
fn a_full_queue_of_a_listener_takes_no_more() {
    let mut drill = Drill::new();
    let listener = drill.listener(); // with a backlog of one, so that two may wait
    for port in 1..=3 {
        drill.path.src.set_port(port);
        drill.inject(&drill.syn(), &[]);
        match port {
            ..3 => assert_eq!(drill.line(), "S. 0:1 ack 1"),
            _ => break,
        }
        drill.ack(1, &[]);
    }
    assert!(drill.accept(listener) >= 0);
    drill.inject(&drill.syn(), &[]);
    assert_eq!(drill.line(), "S. 0:1 ack 1");
}

#[test]
fn what_icmp_says_is_the_error_of_the_handshake() {
    let mut drill = Drill::new();
    drill.path.src = "192.0.2.1:80".parse().unwrap();
    let fd = drill.socket();
    drill.nonblocking(fd);
    let (local, peer) = (address(LOCAL), address("192.0.2.1:80"));
    // SAFETY: the table's functions with what they take.
    unsafe {
        (drill.table.bind)(null_mut(), fd, as_sockaddr(&local), 16);
        (drill.table.connect)(null_mut(), fd, as_sockaddr(&peer), 16);
    }
    let (_, syn, _) = drill.next().unwrap();
    let mut quoted = Vec::new();
    encode(&syn, &drill.path.reverse(), 1, Payload::Fill(0), &mut quoted).unwrap();
    let (from, to) = (drill.path.src.ip(), drill.path.dst.ip());
    let mut refusal = Vec::new();
    encode_icmp(from, to, 0, IcmpMessage::Unreachable { code: 3 }, &quoted, &mut refusal).unwrap();
    drill.inject_bytes(&refusal);
    let error = number(&option(fd, libc::SOL_SOCKET, libc::SO_ERROR, 4).unwrap());
    assert_eq!(error, libc::ECONNREFUSED);
}

#[test]
fn the_user_timeout_ends_a_connection_nobody_answers() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    assert_eq!(drill.set(fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 3000), 0);
    drill.write(fd, &[0; 10]);
    drill.sleep(2_900_000);
    assert_eq!(drill.write(fd, &[0; 10]), 10);
    drill.sleep(200_000);
    assert_eq!(drill.write(fd, &[0; 10]), -1);
    assert_eq!(errno(), libc::ETIMEDOUT);
}

#[test]
fn corked_data_waits_for_a_full_segment_or_the_cork() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    drill.set(fd, libc::IPPROTO_TCP, libc::TCP_CORK, 1);
    drill.write(fd, &[0; 600]);
    drill.write(fd, &[0; 600]);
    assert_eq!(drill.line(), ". 1:1001 ack 1");
    drill.set(fd, libc::IPPROTO_TCP, libc::TCP_CORK, 0);
    drill.set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    assert_eq!(drill.line(), "P. 1001:1201 ack 1");
}

#[test]
fn ecn_is_agreed_and_marks_are_echoed() {
    let mut drill = Drill::new();
    let fd = drill.socket_under(Sysctls { ecn: Some(2), ..Drill::sysctls() });
    let local = address(LOCAL);
    // SAFETY: the table's functions with what they take.
    unsafe {
        (drill.table.bind)(null_mut(), fd, as_sockaddr(&local), 16);
        (drill.table.listen)(null_mut(), fd, 1);
    }
    let mut syn = drill.syn();
    syn.flags |= Flags::ECE | Flags::CWR;
    drill.inject(&syn, &[]);
    assert_eq!(drill.line(), "S.E 0:1 ack 1");
    drill.ack(1, &[]);
    let segment = Segment { payload_len: 1, ..drill.peer(Flags::ACK, 1, 1) };
    let mut bytes = Vec::new();
    encode(&segment, &drill.path, 1, Payload::Fill(0), &mut bytes).unwrap();
    // Congestion experienced; the header's checksum falls by what its first word grew.
    bytes[1] |= 0b11;
    let checksum = u16::from_be_bytes([bytes[10], bytes[11]]);
    assert!(checksum > 3);
    bytes[10..12].copy_from_slice(&(checksum - 3).to_be_bytes());
    drill.inject_bytes(&bytes);
    assert_eq!(drill.line(), ".E 1 ack 2");
}
