//! Common mistakes of implementations of packetdrill's interface.

use super::*;

/// Where struct tcp_info has some of its fields.
const UNACKED: usize = 24;
const SND_CWND: usize = 80;

#[test]
fn nothing_to_receive_is_no_error_and_zero_bytes() {
    let drill = Drill::new();
    assert_eq!(drill.next(), None);
    drill.listener();
    assert_eq!(drill.next(), None);
}

#[test]
fn the_clock_moves_at_every_look() {
    let drill = Drill::new();
    let times = [drill.time(), drill.time(), drill.time()];
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    drill.sleep(5000);
    assert_eq!(drill.time() - times[2], 5001);
}

#[test]
fn tcp_info_is_read_past_the_table() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    drill.write(fd, &[0; 3000]);
    let info = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, 1024).unwrap();
    assert!(info.len() >= 232, "the kernel's structure of 5.x is longer");
    assert_eq!((word(&info, UNACKED), word(&info, SND_CWND)), (3, 10));
    // Who knows less of the structure gets its front.
    let front = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, 104).unwrap();
    assert_eq!(front, info[..104]);
}

#[test]
fn options_of_other_descriptors_are_left_to_the_c_library() {
    use std::os::fd::AsRawFd;
    let _drill = Drill::new();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let kind = option(udp.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TYPE, 4).unwrap();
    assert_eq!(number(&kind), libc::SOCK_DGRAM);
    assert_eq!(option(-1, libc::SOL_SOCKET, libc::SO_TYPE, 4), Err(libc::EBADF));
}

#[test]
fn a_connection_survives_a_real_close_of_its_descriptor() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    // SAFETY: `Sockets` made the descriptor to be closed by whoever knows no better.
    assert_eq!(unsafe { libc::close(fd) }, 0);
    assert_eq!(drill.write(fd, b"still here"), 10);
    assert_eq!(drill.line(), "P. 1:11 ack 1");
    assert_eq!(drill.close(fd), 0);
    assert_eq!(drill.close(fd), -1);
    assert_eq!(errno(), libc::EBADF);
}

#[test]
fn descriptors_are_unique() {
    use std::os::fd::AsRawFd;
    let drill = Drill::new();
    let fd = drill.socket();
    let file = std::fs::File::open("/dev/null").unwrap();
    assert_ne!(file.as_raw_fd(), fd);
}

#[test]
fn garbage_is_ignored() {
    let mut drill = Drill::new();
    drill.listener();
    let mut bytes = Vec::new();
    encode(&drill.syn(), &drill.path, 1, Payload::Fill(0), &mut bytes).unwrap();
    for cut in 0..bytes.len() {
        assert_eq!(drill.inject_bytes(&bytes[..cut]), 0);
    }
    let checksum = bytes.len() - drill.syn().header_len() as usize + 16;
    bytes[checksum] ^= 1;
    assert_eq!(drill.inject_bytes(&bytes), 0);
    assert_eq!(drill.line(), "nothing");
}

#[test]
fn null_pointers_are_faults() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    let table = &drill.table;
    // SAFETY: what these tests are about; null is what the functions look for.
    let results = unsafe {
        [
            (table.write)(null_mut(), fd, NOWHERE, 10),
            (table.writev)(null_mut(), fd, null(), 1),
            (table.sendmsg)(null_mut(), fd, null(), 0),
            (table.recvmsg)(null_mut(), fd, null_mut(), 0),
        ]
    };
    assert_eq!(results, [-1; 4]);
    assert_eq!(errno(), libc::EFAULT);
    // SAFETY: as above.
    unsafe {
        assert_eq!((table.pipe)(null_mut(), null_mut()), -1);
        assert_eq!((table.bind)(null_mut(), fd, null(), 0), -1);
    }
}

#[test]
fn what_cannot_be_put_anywhere_stays_to_be_read() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    let segment = Segment { payload_len: 3, ..drill.peer(Flags::ACK, 1, 1) };
    drill.inject(&segment, b"abc");
    let nowhere = libc::iovec { iov_base: null_mut(), iov_len: 3 };
    // SAFETY: the table's functions, with null for a buffer.
    let results = unsafe {
        [(drill.table.read)(null_mut(), fd, null_mut(), 3), (drill.table.readv)(null_mut(), fd, &raw const nowhere, 1)]
    };
    assert_eq!((results, errno()), ([-1, -1], libc::EFAULT));
    assert_eq!(drill.read(fd, 100).unwrap(), b"abc");
}

#[test]
fn unknown_descriptors_are_bad_ones() {
    let drill = Drill::new();
    assert_eq!(drill.write(12_345, b"x"), -1);
    assert_eq!(errno(), libc::EBADF);
    assert_eq!(drill.accept(12_345), -1);
    assert_eq!(errno(), libc::EBADF);
}

#[test]
fn other_protocols_are_refused() {
    let drill = Drill::new();
    for (domain, kind, protocol, error) in [
        (libc::AF_INET, libc::SOCK_DGRAM, 0, libc::EPROTONOSUPPORT),
        (libc::AF_INET, libc::SOCK_STREAM, 132, libc::EPROTONOSUPPORT),
        (libc::AF_UNIX, libc::SOCK_STREAM, 0, libc::EAFNOSUPPORT),
    ] {
        // SAFETY: takes no pointers that are looked at.
        let fd = unsafe { (drill.table.socket)(null_mut(), domain, kind, protocol) };
        assert_eq!((fd, errno()), (-1, error));
    }
}
