//! poll, epoll, pipes.

use super::*;
use libc::{EPOLLET, EPOLLIN, EPOLLOUT, epoll_event};

impl Drill {
    fn epoll(&self) -> c_int {
        // SAFETY: takes no pointers that are looked at.
        unsafe { (self.table.epoll_create)(null_mut(), 1) }
    }

    fn control(&self, epoll: c_int, operation: c_int, fd: c_int, events: c_int) -> c_int {
        let mut event = epoll_event { events: events.cast_unsigned(), u64: 42 };
        // SAFETY: the event is there.
        unsafe { (self.table.epoll_ctl)(null_mut(), epoll, operation, fd, &raw mut event) }
    }

    /// The number of ready descriptors, without waiting, and the events of the first.
    fn happened(&self, epoll: c_int) -> (c_int, c_int) {
        let mut events = [epoll_event { events: 0, u64: 0 }; 4];
        // SAFETY: there is room for four.
        let count = unsafe { (self.table.epoll_wait)(null_mut(), epoll, events.as_mut_ptr(), 4, 0) };
        let first = events[0];
        if count > 0 {
            assert_eq!({ first.u64 }, 42);
        }
        (count, { first.events }.cast_signed())
    }

    fn data(&self, seq: u32) {
        let segment = Segment { payload_len: 1, ..self.peer(Flags::ACK, seq, 1) };
        self.inject(&segment, b"x");
    }
}

#[test]
fn events_are_level_or_edge_triggered() {
    for (edge, again) in [(0, 1), (EPOLLET, 0)] {
        let mut drill = Drill::new();
        let (_, fd) = drill.established();
        let epoll = drill.epoll();
        assert_eq!(drill.control(epoll, libc::EPOLL_CTL_ADD, fd, EPOLLIN | edge), 0);
        assert_eq!(drill.happened(epoll).0, 0);
        drill.data(1);
        assert_eq!(drill.happened(epoll), (1, EPOLLIN));
        assert_eq!(drill.happened(epoll).0, again);
        drill.data(2);
        assert_eq!(drill.happened(epoll), (1, EPOLLIN));
    }
}

#[test]
fn once_means_once_until_asked_again() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    let epoll = drill.epoll();
    let events = EPOLLOUT | libc::EPOLLONESHOT;
    drill.control(epoll, libc::EPOLL_CTL_ADD, fd, events);
    assert_eq!(drill.happened(epoll), (1, EPOLLOUT));
    assert_eq!(drill.happened(epoll).0, 0);
    drill.control(epoll, libc::EPOLL_CTL_MOD, fd, events);
    assert_eq!(drill.happened(epoll), (1, EPOLLOUT));
}

#[test]
fn watching_twice_or_not_at_all_is_an_error() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    let epoll = drill.epoll();
    assert_eq!(drill.control(epoll, libc::EPOLL_CTL_MOD, fd, EPOLLIN), -1);
    assert_eq!(errno(), libc::ENOENT);
    assert_eq!(drill.control(epoll, libc::EPOLL_CTL_ADD, fd, EPOLLIN), 0);
    assert_eq!(drill.control(epoll, libc::EPOLL_CTL_ADD, fd, EPOLLIN), -1);
    assert_eq!(errno(), libc::EEXIST);
    assert_eq!(drill.close(fd), 0);
    assert_eq!(drill.happened(epoll).0, 0);
}

#[test]
fn a_listener_is_readable_once_a_connection_can_be_accepted() {
    let mut drill = Drill::new();
    let listener = drill.listener();
    let epoll = drill.epoll();
    drill.control(epoll, libc::EPOLL_CTL_ADD, listener, EPOLLIN);
    drill.inject(&drill.syn(), &[]);
    drill.line();
    assert_eq!(drill.happened(epoll).0, 0);
    drill.ack(1, &[]);
    assert_eq!(drill.happened(epoll), (1, EPOLLIN));
}

#[test]
fn the_end_and_a_reset_are_told() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    let poll = |drill: &Drill| {
        let mut entry = libc::pollfd { fd, events: libc::POLLIN | libc::POLLRDHUP, revents: 0 };
        // SAFETY: there is one entry.
        unsafe { (drill.table.poll)(null_mut(), &raw mut entry, 1, 0) };
        entry.revents
    };
    assert_eq!(poll(&drill), 0);
    drill.inject(&drill.peer(Flags::FIN | Flags::ACK, 1, 1), &[]);
    assert_eq!(poll(&drill), libc::POLLIN | libc::POLLRDHUP);
    assert_eq!(drill.read(fd, 10), Ok(vec![]));
    drill.inject(&drill.peer(Flags::RST, 2, 1), &[]);
    let all = libc::POLLIN | libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;
    assert_eq!(poll(&drill), all);
    assert_eq!(drill.write(fd, b"x"), -1);
    assert_eq!(errno(), libc::EPIPE);
}

#[test]
fn bytes_move_through_a_pipe() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    drill.data(1);
    drill.data(2);
    while drill.next().is_some_and(|(_, s, _)| s.ack.since(PEER) < 3) {}
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors; offsets are not looked at.
    let moved = unsafe {
        assert_eq!((drill.table.pipe)(null_mut(), ends.as_mut_ptr()), 0);
        [
            (drill.table.splice)(null_mut(), fd, null_mut(), ends[1], null_mut(), 10, 0),
            (drill.table.splice)(null_mut(), ends[0], null_mut(), fd, null_mut(), 10, 0),
        ]
    };
    assert_eq!(moved, [2, 2]);
    let (_, segment, payload) = drill.next().unwrap();
    assert_eq!((segment.payload_len, payload), (2, b"xx".to_vec()));
}
