//! Senders in memory of the host: how much they need, and that they use no other.

use recoup_recovery_c::abi::*;
use recoup_recovery_c::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::ptr::null_mut;

/// The system's allocator, which counts the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the same duty of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count();
        // SAFETY: the same duty of the caller.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the same duty of the caller.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MS: u64 = 1_000_000;

fn settings(profile: &'static CStr, numbering: Numbering, most_outstanding: u32) -> Settings {
    Settings {
        profile: profile.as_ptr(),
        now_ns: 0,
        window: 1 << 30,
        first_rtt_ns: 40 * MS,
        segment_size: 1, // so that positions of bytes count segments, too
        most_outstanding,
        numbering: numbering as i32,
        count_bytes: 0,
        paced: 1,
    }
}

/// Memory for a sender, with a guard behind it.
fn room(bytes: usize) -> Vec<u64> {
    assert!(recoup_sender_alignment() <= 8);
    vec![0x5555_5555_5555_5555; bytes.div_ceil(8) + 1]
}

/// A host with a sender, and a path to a receiver. Calls of the allocator are counted while the sender is called.
struct Host {
    sender: *mut Handle,
    calls: u64,
    now: u64,
    random: u64,
    /// Segments and ACKs on their way, by arrival and number.
    path: BTreeMap<(u64, u64), Event>,
    sent: u64,
    received: BTreeSet<u64>,
    lost: u64,
    late: u64,
    acked: u64,
    cumulative: u64,
    packets: bool,
}

enum Event {
    Segment(Transmission),
    Ack(u64, Vec<Range>),
}

unsafe extern "C" fn count_packet(context: *mut std::ffi::c_void, packet: *const Packet) {
    // SAFETY: the context is a `u64`, and the packet is the library's.
    unsafe { *context.cast::<u64>() += (*packet).end - (*packet).start };
}

impl Host {
    fn new(room: &mut [u64], settings: &Settings, seed: u64) -> Self {
        let mut host = Self {
            sender: null_mut(),
            calls: 0,
            now: 0,
            random: seed * 2 + 1,
            path: BTreeMap::new(),
            sent: 0,
            received: BTreeSet::new(),
            lost: 0,
            late: 0,
            acked: 0,
            cumulative: 0,
            packets: settings.numbering == Numbering::Packets as i32,
        };
        let length = recoup_sender_size(settings.most_outstanding);
        let before = CALLS.get();
        // SAFETY: all pointers are right.
        let code = unsafe { recoup_sender_init(room.as_mut_ptr().cast(), length, settings, &mut host.sender) };
        host.calls += CALLS.get() - before;
        assert_eq!(code, 0);
        host
    }

    /// Calls the sender.
    fn call(&mut self, call: impl FnOnce(*mut Handle) -> i32) -> i32 {
        let before = CALLS.get();
        let code = call(self.sender);
        self.calls += CALLS.get() - before;
        assert!(code >= 0, "{code}");
        code
    }

    fn draw(&mut self, most: u64) -> u64 {
        // xorshift64 (Marsaglia, 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % most
    }

    /// 20 ms each way; 3 % are lost, and 3 % arrive up to 30 ms later.
    fn put(&mut self, event: Event) {
        if self.draw(100) < 3 {
            return;
        }
        let extra = if self.draw(100) < 3 { self.draw(30 * MS) } else { 0 };
        self.sent += 1;
        self.path.insert((self.now + 20 * MS + extra, self.sent), event);
    }

    fn send(&mut self) {
        let (now, mut what) = (self.now, Transmission::default());
        // SAFETY: all pointers are right.
        while self.call(|sender| unsafe { recoup_next_send(sender, now, &mut what) }) == 1 {
            let token = what.start;
            // SAFETY: the pointers are right.
            self.call(|sender| unsafe { recoup_on_sent(sender, now, &what, 1200, token) });
            self.put(Event::Segment(what));
        }
    }

    /// The receiver's ranges above `from`, the latest 40 of them.
    fn ranges(&self, from: u64) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for position in self.received.range(from..).rev() {
            let full = ranges.len() == 40;
            match ranges.last_mut() {
                Some(range) if range.start == position + 1 => range.start = *position,
                _ if full => break,
                _ => ranges.push(Range { start: *position, end: position + 1 }),
            }
        }
        ranges
    }

    fn wait(&mut self) {
        let (mut deadline, mut timer) = (0, 0);
        // SAFETY: all pointers are right.
        let runs = self.call(|sender| unsafe { recoup_next_timer(sender, &mut deadline, &mut timer) });
        let arrival = self.path.keys().next().map(|(at, _)| *at);
        match arrival {
            Some(at) if runs == 0 || at <= deadline => self.arrive(),
            _ => {
                assert_eq!(runs, 1, "nothing more happens");
                self.now = self.now.max(deadline);
                let now = self.now;
                // SAFETY: the pointer is right.
                self.call(|sender| unsafe { recoup_on_timer(sender, now, timer) });
            }
        }
    }

    fn arrive(&mut self) {
        let ((at, _), event) = self.path.pop_first().unwrap();
        self.now = at;
        match event {
            Event::Segment(what) => self.receive(what),
            Event::Ack(cumulative, mut ranges) => self.hear(cumulative, &mut ranges),
        }
    }

    /// A segment arrived at the receiver.
    fn receive(&mut self, what: Transmission) {
        self.received.extend(what.start..what.end);
        let mut cumulative = self.cumulative;
        while self.received.contains(&cumulative) {
            cumulative += 1;
        }
        self.cumulative = cumulative;
        let from = if self.packets { 0 } else { cumulative + 1 };
        let ranges = self.ranges(from);
        self.put(Event::Ack(cumulative, ranges));
    }

    /// An ACK arrived at the sender.
    fn hear(&mut self, cumulative: u64, ranges: &mut [Range]) {
        let (now, before, mut acked) = (self.now, ranges.to_vec(), Acked::default());
        let (at, count) = (ranges.as_mut_ptr(), ranges.len());
        if self.packets {
            let mut new = 0u64;
            let context = (&raw mut new).cast();
            // SAFETY: all pointers are right.
            self.call(|sender| unsafe {
                let each = Some(count_packet as _);
                recoup_on_packets_acked(sender, now, at, count, 0, each, context, &mut acked)
            });
            self.acked += new;
        } else {
            let ack = Ack {
                cumulative,
                window: 1 << 30,
                ranges: at,
                range_count: count,
                timestamp_rtt_ns: NONE,
                echo_sent_before_ns: NONE,
                delay_ns: 0,
                carries_data: 0,
            };
            // SAFETY: all pointers are right.
            self.call(|sender| unsafe { recoup_on_ack(sender, now, &ack, &mut acked) });
            self.acked += acked.advanced;
        }
        assert_eq!(ranges, before);
        self.late += u64::from(acked.late);
    }

    /// Where packets are numbered, what was in lost ones goes in new ones.
    fn take_lost(&mut self) {
        let (now, mut lost) = (self.now, Packet::default());
        // SAFETY: all pointers are right.
        while self.packets
            // SAFETY: the pointers are right.
            && self.call(|sender| unsafe { recoup_take_lost(sender, now, &mut lost) }) == 1
        {
            assert_eq!((lost.token, lost.size), (lost.start, 1200));
            // SAFETY: the pointers are right.
            self.call(|sender| unsafe { recoup_written(sender, now, 1) });
            self.lost += 1;
        }
    }

    fn status(&mut self) -> Status {
        let mut status = Status::default();
        // SAFETY: the pointers are right.
        self.call(|sender| unsafe { recoup_get_status(sender, &mut status) });
        status
    }

    /// Transfers `count` segments.
    fn transfer(&mut self, count: u64) {
        // SAFETY: the pointer is right.
        self.call(|sender| unsafe { recoup_written(sender, 0, count) });
        loop {
            self.send();
            let status = self.status();
            if status.next >= status.written && status.outstanding == 0 {
                return;
            }
            self.wait();
            self.take_lost();
        }
    }
}

#[test]
fn a_sender_in_lent_memory_never_uses_the_heap() {
    const COUNT: u64 = 2000;
    for profile in [c"linux-6", c"linux-3.17+tlp+rtor", c"rfc9002", c"reno", c"linux-6+adaptive", c"rfc9002+adaptive"] {
        let adapts = profile.to_bytes().ends_with(b"+adaptive");
        for numbering in [Numbering::Bytes, Numbering::Packets] {
            if adapts && numbering == Numbering::Bytes {
                continue; // needs the heap
            }
            let settings = settings(profile, numbering, 100);
            let mut room = room(recoup_sender_size(100));
            let guard = *room.last().unwrap();
            let mut host = Host::new(&mut room, &settings, 7);
            host.transfer(COUNT);
            let case = format!("{profile:?}, {numbering:?}");
            let mut counters = Counters::default();
            // SAFETY: the pointers are right.
            host.call(|sender| unsafe { recoup_get_counters(sender, &mut counters) });
            assert!(counters.recoveries > 10, "{case}: {counters:?}");
            match numbering {
                Numbering::Bytes => {
                    assert!(host.acked == COUNT && counters.retransmitted > 20, "{case}");
                }
                Numbering::Packets => {
                    assert_eq!(host.acked + host.lost, host.status().next, "{case}");
                    assert!(host.lost > 40 && (adapts || host.late > 0), "{case}");
                }
            }
            // SAFETY: it is not used afterwards.
            host.call(|sender| unsafe { recoup_sender_free(sender) });
            assert_eq!((host.calls, *room.last().unwrap()), (0, guard), "{case}");
        }
    }
}

/// The test above would not see the heap used if nothing were counted.
#[test]
fn a_sender_on_the_heap_uses_it() {
    for most in [0, 100] {
        let (mut sender, before) = (null_mut(), CALLS.get());
        let settings = settings(c"linux-6", Numbering::Packets, most);
        // SAFETY: all pointers are right.
        unsafe {
            assert_eq!(recoup_sender_new(&settings, &mut sender), 0);
            assert!(CALLS.get() > before);
            assert_eq!(recoup_sender_free(sender), 0);
        }
    }
}

#[test]
fn a_full_sender_offers_and_takes_no_new_data() {
    let mut room = room(recoup_sender_size(5));
    let mut host = Host::new(&mut room, &settings(c"linux-6", Numbering::Bytes, 5), 1);
    // The initial window is 10; the memory holds 8, a power of two.
    // SAFETY: the pointer is right.
    host.call(|sender| unsafe { recoup_written(sender, 0, 100) });
    host.send();
    let status = host.status();
    assert_eq!((status.outstanding, status.cwnd), (8, 10));
    let more = Transmission { start: 8, end: 9, ..Transmission::default() };
    // SAFETY: both pointers are right.
    let code = unsafe { recoup_on_sent(host.sender, 0, &more, 1200, 0) };
    assert_eq!((code, host.status()), (Error::Full as i32, status));
    // Unsent data can be taken back. Data that was sent cannot.
    for (count, written) in [(90, 10), (90, 8)] {
        // SAFETY: the pointer is right.
        host.call(|sender| unsafe { recoup_withdrawn(sender, 0, count) });
        assert_eq!(host.status().written, written);
    }
}

#[test]
fn unsuitable_memory_is_refused() {
    let size = recoup_sender_size(100);
    let mut room = room(size + 64);
    let at = room.as_mut_ptr();
    let mut sender = null_mut();
    let good = settings(c"linux-6", Numbering::Bytes, 100);
    let none = Settings { most_outstanding: 0, ..good };
    let copies = settings(c"linux-6+slp", Numbering::Bytes, 100);
    let adapts = settings(c"linux-6+adaptive", Numbering::Bytes, 100);
    let cases = [
        (Error::NeedsHeap, at, size, adapts),
        (Error::Null, null_mut(), size, good),
        (Error::Misaligned, at.wrapping_byte_add(4), size, good),
        (Error::TooSmall, at, size - 1, good),
        (Error::TooSmall, at, 0, good),
        (Error::Settings, at, size, none),
        (Error::NeedsHeap, at, size, copies),
    ];
    for (error, memory, length, settings) in cases {
        // SAFETY: all pointers are right, or null or misaligned, and the length is no larger than it is.
        let code = unsafe { recoup_sender_init(memory.cast(), length, &settings, &mut sender) };
        assert_eq!(code, error as i32, "{error:?}");
    }
    assert!(sender.is_null() && room.iter().all(|word| *word == room[0]));
    for most in [0, MOST_OUTSTANDING + 1, u32::MAX] {
        assert_eq!(recoup_sender_size(most), 0, "{most}");
    }
}

#[test]
fn a_freed_sender_is_none_and_its_memory_can_be_used_again() {
    let settings = settings(c"linux-6", Numbering::Bytes, 16);
    let mut room = room(recoup_sender_size(16));
    for seed in 0..3 {
        let mut host = Host::new(&mut room, &settings, seed);
        host.transfer(100);
        // SAFETY: the pointer is right, and leads to memory that is still there.
        unsafe {
            assert_eq!(recoup_sender_free(host.sender), 0);
            assert_eq!(recoup_sender_free(host.sender), Error::NotASender as i32);
            assert_eq!(recoup_written(host.sender, 0, 1), Error::NotASender as i32);
        }
    }
}

/// The table in README.md.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_sender_needs_as_much_memory_as_documented() {
    let readme = include_str!("../README.md");
    for (most, text) in [(16, "16"), (128, "128"), (1024, "1,024")] {
        let kilobytes = recoup_sender_size(most).div_ceil(1000);
        let row = format!("| {text} | {kilobytes} |");
        assert!(readme.contains(&row), "{row}");
    }
}
