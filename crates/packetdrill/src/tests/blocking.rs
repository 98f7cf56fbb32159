//! Calls that wait, in a thread of their own as packetdrill makes them, and in the script's.

use super::*;
use std::{thread, time::Duration};

/// Long enough, in real time, for another thread to have begun to wait.
fn let_the_other_thread_wait() {
    thread::sleep(Duration::from_millis(50));
}

/// The table's functions can be called from any thread.
#[derive(Clone, Copy)]
struct Calls {
    accept: unsafe extern "C" fn(*mut c_void, c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    read: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, usize) -> isize,
    poll: unsafe extern "C" fn(*mut c_void, *mut libc::pollfd, libc::nfds_t, c_int) -> c_int,
    time: unsafe extern "C" fn(*mut c_void, *mut libc::timeval, *mut libc::timezone) -> c_int,
}

impl Calls {
    fn of(drill: &Drill) -> Self {
        Self {
            accept: drill.table.accept,
            read: drill.table.read,
            poll: drill.table.poll,
            time: drill.table.gettimeofday,
        }
    }

    fn time(self) -> i64 {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: there is room for a time.
        unsafe { (self.time)(null_mut(), &raw mut time, null_mut()) };
        time.tv_sec * 1_000_000 + time.tv_usec - 1_000_000_000_000_000
    }
}

#[test]
fn accept_returns_when_the_handshake_is_done_and_not_when_the_script_has_moved_on() {
    let mut drill = Drill::new();
    let listener = drill.listener();
    let calls = Calls::of(&drill);
    let waiting = thread::spawn(move || {
        // SAFETY: no address is wanted.
        let fd = unsafe { (calls.accept)(null_mut(), listener, null_mut(), null_mut()) };
        (fd, calls.time())
    });
    let_the_other_thread_wait();
    drill.inject(&drill.syn(), &[]);
    assert_eq!(drill.line(), "S. 0:1 ack 1");
    drill.sleep(100_000);
    let before = drill.time();
    drill.ack(1, &[]);
    drill.sleep(10_000_000); // would be over at once if it did not wait for the other thread
    let (fd, returned) = waiting.join().unwrap();
    assert!(fd >= 0);
    assert!((before..before + 100).contains(&returned), "{before} {returned}");
}

#[test]
fn read_waits_for_data() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    let calls = Calls::of(&drill);
    let waiting = thread::spawn(move || {
        let mut bytes = [0u8; 10];
        // SAFETY: there is room for ten bytes.
        let got = unsafe { (calls.read)(null_mut(), fd, bytes.as_mut_ptr().cast(), 10) };
        (got, bytes[0], calls.time())
    });
    let_the_other_thread_wait();
    drill.sleep(30_000);
    let before = drill.time();
    let segment = Segment { payload_len: 1, ..drill.peer(Flags::ACK, 1, 1) };
    drill.inject(&segment, b"x");
    drill.sleep(1_000_000);
    let (got, byte, returned) = waiting.join().unwrap();
    assert_eq!((got, byte), (1, b'x'));
    assert!((before..before + 100).contains(&returned), "{before} {returned}");
}

#[test]
fn poll_times_out_in_virtual_time() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // In the script's own thread, where nobody else lets time pass.
    let before = drill.time();
    // SAFETY: there is one entry.
    let ready = unsafe { (drill.table.poll)(null_mut(), &raw mut entry, 1, 2000) };
    assert_eq!(ready, 0);
    let took = drill.time() - before;
    assert!((2_000_000..2_000_100).contains(&took), "{took}");
    // And in another, where the script's sleep does.
    let calls = Calls::of(&drill);
    let begun = drill.time();
    let waiting = thread::spawn(move || {
        let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: there is one entry.
        let ready = unsafe { (calls.poll)(null_mut(), &raw mut entry, 1, 300) };
        (ready, calls.time())
    });
    let_the_other_thread_wait();
    drill.sleep(5_000_000);
    let (ready, returned) = waiting.join().unwrap();
    assert_eq!(ready, 0);
    let took = returned - begun;
    assert!((300_000..300_100).contains(&took), "{took}");
}

#[test]
fn what_can_never_happen_is_not_waited_for() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    assert_eq!(drill.read(fd, 10), Err(libc::EAGAIN));
}

#[test]
fn a_long_write_takes_what_fits_and_waits_for_the_rest() {
    let mut drill = Drill::new();
    let (_, fd) = drill.established();
    drill.set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, 10_000);
    drill.nonblocking(fd);
    let taken = drill.write(fd, &[0; 60_000]);
    assert!((20_000..60_000).contains(&taken), "{taken}");
    assert_eq!(drill.write(fd, &[0; 10]), -1);
    assert_eq!(errno(), libc::EAGAIN);
}
