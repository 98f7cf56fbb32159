//! Random calls with random numbers: a sender answers each with a code, and its memory stays within bounds.

use recoup_recovery_c::abi::*;
use recoup_recovery_c::*;
use std::ffi::CStr;
use std::ptr::null_mut;

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        // xorshift64 (Marsaglia, 2003).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    /// A number near one that means something, or any number.
    fn near(&mut self, some: &[u64]) -> u64 {
        match self.below(8) {
            0 => self.below(u64::MAX),
            1 => u64::MAX - self.below(3),
            2 => LAST_POSITION - 1 + self.below(3),
            n if n < 6 => {
                let at = self.below(some.len() as u64) as usize;
                some[at].wrapping_add(self.below(9)).wrapping_sub(4)
            }
            _ => self.below(100),
        }
    }
}

/// One random call. Returns its code.
///
/// # Safety
/// `sender` is a sender.
unsafe fn call(sender: *mut Handle, now: u64, random: &mut Random) -> i32 {
    let mut status = Status::default();
    // SAFETY: the pointers are right, here and in the functions below.
    assert_eq!(unsafe { recoup_get_status(sender, &mut status) }, 0);
    let known = [status.unacknowledged, status.next, status.written];
    let mut what = Transmission::default();
    let mut packet = Packet::default();
    let mut counters = Counters::default();
    let mut ranges = [Range::default(); 5];
    for range in &mut ranges {
        (range.start, range.end) = (random.near(&known), random.near(&known));
    }
    let count = random.below(6) as usize;
    let before = ranges;
    // SAFETY: as above.
    let code = unsafe {
        match random.below(14) {
            0 => recoup_written(sender, now, random.near(&[5])),
            1..=3 if recoup_next_send(sender, now, &mut what) == 1 => {
                recoup_on_sent(sender, now, &what, random.near(&[1200]) as u32, 0)
            }
            4 => {
                what.start = random.near(&known);
                what.end = random.near(&known);
                what.kind = random.below(7) as i32 - 1;
                what.trigger = random.below(10) as i32 - 1;
                recoup_on_sent(sender, now, &what, 1, 0)
            }
            5 | 6 => {
                let ack = Ack {
                    cumulative: random.near(&known),
                    window: random.near(&[1000]),
                    ranges: ranges.as_mut_ptr(),
                    range_count: count,
                    timestamp_rtt_ns: random.near(&[NONE]),
                    echo_sent_before_ns: random.near(&[now]),
                    delay_ns: random.near(&[0]),
                    carries_data: random.below(2) as i32,
                };
                recoup_on_ack(sender, now, &ack, null_mut())
            }
            7 | 8 => {
                let (at, delay) = (ranges.as_mut_ptr(), random.near(&[0]));
                recoup_on_packets_acked(sender, now, at, count, delay, None, null_mut(), null_mut())
            }
            9 => recoup_take_lost(sender, now, &mut packet),
            11 => recoup_withdrawn(sender, now, random.near(&[5])),
            12 => recoup_on_congestion_signal(sender, now),
            10 => recoup_abandon(sender, now, random.near(&known), random.near(&known)),
            _ => recoup_on_timer(sender, now, random.below(9) as i32 - 1),
        }
    };
    assert_eq!(ranges, before);
    // SAFETY: as above.
    assert_eq!(unsafe { recoup_get_counters(sender, &mut counters) }, 0);
    code
}

#[test]
fn random_calls_are_answered() {
    let profiles: [&CStr; 5] = [c"linux-6", c"linux-3.17+tlp", c"rfc9002", c"reno", c"windows-xp"];
    let mut codes = std::collections::BTreeSet::new();
    // Miri takes minutes for one.
    for seed in 1..=if cfg!(miri) { 1 } else { 60u64 } {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let most = 1 + random.below(40) as u32;
        let settings = Settings {
            profile: profiles[random.below(5) as usize].as_ptr(),
            now_ns: random.near(&[0]),
            window: random.near(&[1000]),
            first_rtt_ns: random.near(&[40_000_000]),
            segment_size: 1 + random.below(50) as u32,
            most_outstanding: most,
            numbering: (seed % 2) as i32,
            count_bytes: random.below(2) as i32,
            paced: random.below(2) as i32,
        };
        let size = recoup_sender_size(most);
        let guard = 0x6775_6172_6421_2121u64;
        let mut memory = vec![guard; size.div_ceil(8) + 1];
        let (mut sender, mut now) = (null_mut(), settings.now_ns);
        // SAFETY: the pointers are right, and the memory is as large as it must be.
        let code = unsafe { recoup_sender_init(memory.as_mut_ptr().cast(), size, &settings, &mut sender) };
        assert_eq!(code, 0);
        for _ in 0..400 {
            now = match random.below(20) {
                0 => random.near(&[now]), // the clock jumps, even back
                _ => now.saturating_add(random.below(30_000_000)),
            };
            // SAFETY: it is a sender.
            codes.insert(unsafe { call(sender, now, &mut random) });
        }
        assert_eq!(memory.last(), Some(&guard), "seed {seed}");
    }
    for expected in [0, 1, Error::Position as i32, Error::NotNext as i32, Error::Repeated as i32] {
        assert!(codes.contains(&expected), "{expected}: {codes:?}");
    }
}
