//! Wrong calls are answered with errors, and change nothing.

use recoup_recovery_c::abi::*;
use recoup_recovery_c::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

fn settings(profile: &'static CStr, numbering: Numbering) -> Settings {
    Settings {
        profile: profile.as_ptr(),
        now_ns: 0,
        window: 1 << 20,
        first_rtt_ns: NONE,
        segment_size: 1000,
        most_outstanding: 0,
        numbering: numbering as i32,
        count_bytes: 0,
        paced: 0,
    }
}

fn made(settings: &Settings) -> Result<*mut Handle, i32> {
    let mut sender = null_mut();
    // SAFETY: both point to what their types say.
    match unsafe { recoup_sender_new(settings, &mut sender) } {
        0 => Ok(sender),
        code => Err(code),
    }
}

fn sender(numbering: Numbering) -> *mut Handle {
    made(&settings(c"linux-6", numbering)).unwrap()
}

fn free(sender: *mut Handle) {
    // SAFETY: a sender that is not used afterwards.
    assert_eq!(unsafe { recoup_sender_free(sender) }, 0);
}

const NULL: i32 = Error::Null as i32;
const MISALIGNED: i32 = Error::Misaligned as i32;

/// Calls every function that takes a sender, with what would be right besides.
fn call_all(sender: *mut Handle) -> Vec<i32> {
    let mut what = Transmission::default();
    let mut packet = Packet::default();
    let (mut time, mut timer) = (0, 0);
    let mut status = Status::default();
    let mut counters = Counters::default();
    let ack = ack(&mut []);
    // SAFETY: all pointers but `sender` point to what their types say. `sender` is what is tested.
    unsafe {
        vec![
            recoup_written(sender, 0, 1),
            recoup_withdrawn(sender, 0, 1),
            recoup_next_send(sender, 0, &mut what),
            recoup_on_sent(sender, 0, &what, 1, 0),
            recoup_take_lost(sender, 0, &mut packet),
            recoup_abandon(sender, 0, 0, 1),
            recoup_on_ack(sender, 0, &ack, null_mut()),
            recoup_on_packets_acked(sender, 0, null_mut(), 0, 0, None, null_mut(), null_mut()),
            recoup_on_congestion_signal(sender, 0),
            recoup_next_timer(sender, &mut time, &mut timer),
            recoup_on_timer(sender, 0, Timer::Rto as i32),
            recoup_next_departure(sender, 0, &mut time),
            recoup_get_status(sender, &mut status),
            recoup_get_counters(sender, &mut counters),
        ]
    }
}

fn ack(ranges: &mut [Range]) -> Ack {
    Ack {
        cumulative: 0,
        window: 1 << 20,
        ranges: ranges.as_mut_ptr(),
        range_count: ranges.len(),
        timestamp_rtt_ns: NONE,
        echo_sent_before_ns: NONE,
        delay_ns: 0,
        carries_data: 0,
    }
}

#[test]
fn pointers_to_no_sender_are_refused() {
    assert!(call_all(null_mut()).iter().all(|code| *code == NULL));
    let mut memory = [0u64; 1024];
    let at = memory.as_mut_ptr();
    let misaligned = at.wrapping_byte_add(1).cast();
    assert!(call_all(misaligned).iter().all(|code| *code == MISALIGNED));
    let nothing = Error::NotASender as i32;
    assert!(call_all(at.cast()).iter().all(|code| *code == nothing));
    // SAFETY: as above; and null is allowed.
    unsafe {
        assert_eq!(recoup_sender_free(null_mut()), 0);
        assert_eq!(recoup_sender_free(misaligned), MISALIGNED);
        assert_eq!(recoup_sender_free(at.cast()), nothing);
    }
    assert!(memory.iter().all(|word| *word == 0));
}

#[test]
fn other_pointers_are_refused_when_null_or_misaligned() {
    let sender = sender(Numbering::Bytes);
    let mut room = [0u64; 64];
    let at = room.as_mut_ptr();
    for (bad, code) in [(null_mut(), NULL), (at.wrapping_byte_add(1), MISALIGNED)] {
        let mut good = 0;
        let mut timer = 0;
        let mut ranges = [Range { start: 2, end: 3 }];
        let mut bad_ranges = ack(&mut ranges);
        bad_ranges.ranges = bad.cast();
        // SAFETY: the pointers are right, or null or misaligned.
        let codes = unsafe {
            [
                recoup_sender_new(bad.cast(), bad.cast()),
                recoup_sender_new(&settings(c"linux-6", Numbering::Bytes), bad.cast()),
                recoup_next_send(sender, 0, bad.cast()),
                recoup_on_sent(sender, 0, bad.cast(), 1, 0),
                recoup_take_lost(sender, 0, bad.cast()),
                recoup_on_ack(sender, 0, bad.cast(), null_mut()),
                recoup_on_ack(sender, 0, &bad_ranges, null_mut()),
                recoup_next_timer(sender, bad, &mut timer),
                recoup_next_timer(sender, &mut good, bad.cast()),
                recoup_next_departure(sender, 0, bad),
                recoup_get_status(sender, bad.cast()),
                recoup_get_counters(sender, bad.cast()),
            ]
        };
        assert_eq!(codes, [code; 12]);
    }
    free(sender);
}

#[test]
fn settings_out_of_range_are_refused() {
    let good = settings(c"linux-6", Numbering::Packets);
    let cases = [
        (Error::Null, Settings { profile: null(), ..good }),
        (Error::Profile, Settings { profile: c"linux-9".as_ptr(), ..good }),
        (Error::Profile, Settings { profile: c"".as_ptr(), ..good }),
        (Error::Profile, Settings { profile: c"\xff".as_ptr(), ..good }),
        (Error::Settings, Settings { segment_size: 0, ..good }),
        (Error::Settings, Settings { segment_size: 1 << 31, ..good }),
        (Error::Settings, Settings { most_outstanding: MOST_OUTSTANDING + 1, ..good }),
        (Error::Constant, Settings { numbering: 2, ..good }),
    ];
    for (error, settings) in cases {
        assert_eq!(made(&settings), Err(error as i32), "{settings:?}");
    }
    free(made(&good).unwrap());
}

#[test]
fn calls_for_the_other_numbering_are_refused() {
    let wrong = Error::Numbering as i32;
    let (bytes, packets) = (sender(Numbering::Bytes), sender(Numbering::Packets));
    let codes = |sender| {
        let (ack, mut acked) = (ack(&mut []), Acked::default());
        // SAFETY: all pointers are right, or null where that is allowed.
        unsafe {
            (
                recoup_on_ack(sender, 0, &ack, &mut acked),
                recoup_on_packets_acked(sender, 0, null_mut(), 0, 0, None, null_mut(), &mut acked),
                recoup_abandon(sender, 0, 0, 1),
            )
        }
    };
    assert_eq!(codes(bytes), (0, wrong, 0));
    assert_eq!(codes(packets), (wrong, 0, wrong));
    free(bytes);
    free(packets);
}

#[test]
fn a_congestion_signal_reduces_the_window_once_in_a_round_trip() {
    let sender = made(&settings(c"rfc9002", Numbering::Packets)).unwrap();
    let (mut status, mut what) = (Status::default(), Transmission::default());
    // SAFETY: all pointers are right.
    unsafe {
        recoup_written(sender, 0, 10);
        while recoup_next_send(sender, 0, &mut what) == 1 {
            recoup_on_sent(sender, 0, &what, 1000, 0);
        }
        for _ in 0..2 {
            assert_eq!(recoup_on_congestion_signal(sender, 1), 0);
            assert_eq!(recoup_get_status(sender, &mut status), 0);
            assert_eq!((status.state, status.cwnd), (State::Cwr as i32, 5));
        }
    }
    free(sender);
}

/// A host that clears its structures reports no round-trip time, and no timestamp.
#[test]
fn times_that_are_zero_do_not_exist() {
    let cleared = Settings { first_rtt_ns: 0, ..settings(c"linux-6", Numbering::Bytes) };
    let sender = made(&cleared).unwrap();
    let (mut status, mut what) = (Status::default(), Transmission::default());
    let ack = |cumulative, ranges: &mut [Range]| Ack {
        cumulative,
        timestamp_rtt_ns: 0,
        echo_sent_before_ns: 0,
        ..ack(ranges)
    };
    // SAFETY: all pointers are right.
    let undone = unsafe {
        recoup_get_status(sender, &mut status);
        assert_eq!(status.srtt_ns, NONE);
        recoup_written(sender, 0, 10_000);
        while recoup_next_send(sender, 0, &mut what) == 1 {
            recoup_on_sent(sender, 0, &what, 1000, 0);
        }
        let mut above = [Range { start: 1000, end: 10_000 }];
        recoup_on_ack(sender, 50_000_000, &ack(0, &mut above), null_mut());
        assert_eq!(recoup_next_send(sender, 50_000_000, &mut what), 1);
        recoup_on_sent(sender, 50_000_000, &what, 1000, 0);
        recoup_on_ack(sender, 99_000_000, &ack(10_000, &mut []), null_mut());
        let mut counters = Counters::default();
        recoup_get_counters(sender, &mut counters);
        assert_eq!(counters.recoveries, 1);
        counters.undone
    };
    assert_eq!(undone, 0, "no echo proves the retransmission unnecessary");
    free(sender);
}

#[test]
fn positions_and_constants_out_of_range_are_refused() {
    let sender = sender(Numbering::Packets);
    let far = LAST_POSITION + 1;
    let position = Error::Position as i32;
    let what = |start, end, kind, trigger| Transmission { start, end, kind, trigger };
    let cases = [
        (what(far, far + 1, Kind::New as i32, 0), position),
        (what(0, u64::MAX, Kind::New as i32, 0), position),
        (what(0, 1, 5, 0), Error::Constant as i32),
        (what(0, 1, -1, 0), Error::Constant as i32),
        (what(0, 1, Kind::Again as i32, 0), Error::Constant as i32),
        (what(0, 1, Kind::Again as i32, Trigger::Fast as i32), Error::Repeated as i32),
        (what(1, 2, Kind::New as i32, 0), Error::NotNext as i32),
        (what(0, 2, Kind::New as i32, 0), Error::NotNext as i32),
        (what(0, 1, Kind::New as i32, 0), 0),
    ];
    for (what, code) in cases {
        // SAFETY: both pointers are right.
        let got = unsafe { recoup_on_sent(sender, 0, &what, 1000, 0) };
        assert_eq!(got, code, "{what:?}");
    }
    for range in
        [Range { start: far, end: far + 1 }, Range { start: 0, end: u64::MAX }, Range { start: u64::MAX, end: 1 }]
    {
        let mut ranges = [Range { start: 0, end: 1 }, range];
        let before = ranges;
        // SAFETY: both pointers are right.
        let code = unsafe {
            let (at, none) = (ranges.as_mut_ptr(), null_mut());
            recoup_on_packets_acked(sender, 9, at, 2, 0, None, none, null_mut())
        };
        assert_eq!((code, ranges), (position, before));
    }
    // SAFETY: the pointer is right.
    unsafe {
        let of_bytes = self::sender(Numbering::Bytes);
        assert_eq!(recoup_abandon(of_bytes, 0, 0, far), position);
        free(of_bytes);
        assert_eq!(recoup_on_timer(sender, 0, 8), Error::Constant as i32);
        assert_eq!(recoup_on_timer(sender, 0, -1), Error::Constant as i32);
    }
    free(sender);
}

/// Calls all functions with the sender that `context` is, and frees it.
unsafe extern "C" fn reenter(context: *mut c_void, packet: *const Packet) {
    let busy = Error::Busy as i32;
    assert!(call_all(context.cast()).iter().all(|code| *code == busy));
    // SAFETY: the context is a sender, and the packet is the library's.
    unsafe {
        assert_eq!(recoup_sender_free(context.cast()), busy);
        assert_eq!((*packet).token, 7);
    }
}

#[test]
fn calls_from_a_callback_are_refused() {
    let sender = sender(Numbering::Packets);
    let what = Transmission { start: 0, end: 1, ..Transmission::default() };
    let mut ranges = [Range { start: 0, end: 1 }];
    let mut acked = Acked::default();
    // SAFETY: all pointers are right.
    unsafe {
        assert_eq!(recoup_on_sent(sender, 0, &what, 1000, 7), 0);
        let (at, context) = (ranges.as_mut_ptr(), sender.cast());
        let code = recoup_on_packets_acked(sender, 9, at, 1, 0, Some(reenter), context, &mut acked);
        assert_eq!((code, acked.delivered), (0, 1));
    }
    assert_eq!(ranges, [Range { start: 0, end: 1 }]);
    free(sender);
}

#[test]
fn names_are_checked_and_explained() {
    let check = |name: &CStr, length: usize| {
        let mut reason = [0x55u8; 200];
        // SAFETY: a C string, and room for at least as many bytes.
        let code = unsafe { recoup_profile_check(name.as_ptr(), reason.as_mut_ptr().cast(), length) };
        assert!(reason[length..].iter().all(|byte| *byte == 0x55), "{length}");
        (code, CStr::from_bytes_until_nul(&reason).map(|text| text.to_str().unwrap().to_owned()))
    };
    assert_eq!(check(c"linux-3.17+rtor", 200).0, 0);
    let (code, why) = check(c"linux-9", 200);
    assert_eq!(code, Error::Profile as i32);
    assert!(why.unwrap().starts_with("unknown profile 'linux-9', expected one of: linux-3.17, "));
    assert_eq!(check(c"linux-6+\xc3\xa4", 20).1.unwrap(), "unknown mechanism '");
    assert_eq!(check(c"linux-6+\xc3\xa4", 21).1.unwrap(), "unknown mechanism '");
    assert_eq!(check(c"linux-6+\xc3\xa4", 22).1.unwrap(), "unknown mechanism 'ä");
    assert_eq!(check(c"x", 1).1.unwrap(), "");
    assert_eq!(check(c"x", 0).0, Error::Profile as i32);
    // SAFETY: null is answered with an error.
    unsafe {
        assert_eq!(recoup_profile_check(null(), null_mut(), 9), NULL);
        assert_eq!(recoup_profile_check(c"x".as_ptr(), null_mut(), 9), Error::Profile as i32);
    }
}

#[test]
fn every_code_has_a_text() {
    fn text(code: i32) -> &'static str {
        let at: *const c_char = recoup_error_text(code);
        // SAFETY: a C string that is never freed.
        unsafe { CStr::from_ptr(at) }.to_str().unwrap()
    }
    let texts: std::collections::BTreeSet<_> = (-17..0).map(text).collect();
    assert_eq!(texts.len(), 17);
    assert!(!texts.contains("unknown error"));
    assert_eq!(
        [text(0), text(1), text(-18), text(i32::MIN)],
        ["no error", "no error", "unknown error", "unknown error"]
    );
    // SAFETY: a C string that is never freed.
    let version = unsafe { CStr::from_ptr(recoup_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}
