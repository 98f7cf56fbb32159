//! The hosts: acknowledgments, timers, congestion control, windows, closing and PSH.

use super::descriptor::{Setting, setting};
use super::value::{PROFILE, or_profile, parse_number, parse_word};
use recoup_recovery::congestion::Algorithm;
use recoup_sim::TimerModel;
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_support::suggest::did_you_mean;
use recoup_tcp::{AckPolicy, Push};
use recoup_units::{Segments, parse_bytes};
use std::time::Duration;

pub(super) const SETTINGS: &[Setting] = &[
    setting!(
        "ack",
        "when receivers acknowledge: quick (each segment), delayed[:200ms] (every second segment), linux[:16] (each of the first 16 segments, then delayed by 40 ms)",
        ack,
        parse_ack,
        format_ack
    ),
    setting!(
        "timers",
        "how hosts round the sender's timers: exact, granularity:10ms, linux-wheel:HZ, linux-jiffies:HZ (before Linux 4.8; delayed ACKs tick, too)",
        timers,
        parse_timers,
        format_timers
    ),
    setting!("cc", "congestion control: profile (as the profile has it), cubic, reno, bbr1", cc, parse_cc, |cc| {
        or_profile(*cc, Algorithm::name)
    }),
    setting!(
        "ecn",
        "both hosts negotiate explicit congestion notification, for queues that mark packets: off, on",
        ecn,
        SWITCH
    ),
    setting!(
        "initial_window",
        "initial congestion window, in segments: profile, 10",
        initial_window,
        parse_initial_window,
        |window| or_profile(*window, |window| window)
    ),
    setting!("close", "each side closes once it has written everything: false, true", close, TRUTH),
    setting!(
        "user_timeout",
        "a connection without progress for this long is given up: profile, 300s",
        user_timeout,
        parse_user_timeout,
        |timeout| or_profile(*timeout, format_duration)
    ),
    setting!(
        "receive_buffer",
        "bytes a receiver buffers, at most 1GiB and 2,000,000 segments of the flow: 67108864, 64MiB",
        receive_buffer,
        parse_receive_buffer,
        ToString::to_string
    ),
    setting!(
        "psh",
        "segments that carry PSH: write (the last of each write), burst (the last of each burst of several segments, too; newer Linux)",
        push,
        PUSHES
    ),
];

const SWITCH: [(&str, bool); 2] = [("off", false), ("on", true)];

const TRUTH: [(&str, bool); 2] = [("false", false), ("true", true)];

const PUSHES: [(&str, Push); 2] = [("write", Push::WriteEnd), ("burst", Push::Burst { least: 2 })];

/// The largest receive buffer: 1 GiB, what window scaling can announce (RFC 7323 §2.3).
const LARGEST_RECEIVE_BUFFER: u64 = 1 << 30;

fn parse_receive_buffer(text: &str) -> Result<u64, String> {
    parse_bytes(text)
        .filter(|bytes| (1..=LARGEST_RECEIVE_BUFFER).contains(bytes))
        .ok_or_else(|| format!("`{text}`: expected bytes from 1 to 1GiB, such as 64KiB"))
}

fn parse_ack(text: &str) -> Result<AckPolicy, String> {
    let (kind, value) = match text.split_once(':') {
        Some((kind, value)) => (kind, Some(value)),
        None => (text, None),
    };
    match (kind, value) {
        ("quick", None) => Ok(AckPolicy::Quick),
        ("delayed", None) => Ok(AckPolicy::Delayed(Duration::from_millis(200))),
        ("delayed", Some(delay)) => parse_duration(delay).map(AckPolicy::Delayed),
        ("linux", None) => Ok(AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK }),
        ("linux", Some(quick)) => Ok(AckPolicy::Linux { quick: parse_number(quick, 0, 1_000_000)? as u32 }),
        _ => {
            let near = did_you_mean(kind, ["quick", "delayed", "linux"]);
            Err(format!("`{text}`: expected quick, delayed[:200ms] or linux[:16]{near}"))
        }
    }
}

fn format_ack(ack: &AckPolicy) -> String {
    match *ack {
        AckPolicy::Quick => "quick".into(),
        AckPolicy::Delayed(delay) => format!("delayed:{}", format_duration(delay)),
        AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK } => "linux".into(),
        AckPolicy::Linux { quick } => format!("linux:{quick}"),
    }
}

fn parse_timers(text: &str) -> Result<TimerModel, String> {
    let (kind, value) = text.split_once(':').unwrap_or((text, ""));
    match (kind, value) {
        ("exact", "") if !text.contains(':') => Ok(TimerModel::Exact),
        ("granularity", value) => {
            let granularity = parse_duration(value)?;
            if granularity.is_zero() {
                return Err(format!("`{text}`: expected a granularity above zero, such as 10ms"));
            }
            Ok(TimerModel::Granularity(granularity))
        }
        ("linux-wheel", hz) => Ok(TimerModel::LinuxWheel { hz: parse_number(hz, 1, 1_000_000)? as u32 }),
        ("linux-jiffies", hz) => Ok(TimerModel::LinuxJiffies { hz: parse_number(hz, 1, 1_000_000)? as u32 }),
        _ => {
            let near = did_you_mean(kind, ["exact", "granularity", "linux-wheel", "linux-jiffies"]);
            Err(format!("`{text}`: expected exact, granularity:10ms, linux-wheel:HZ or linux-jiffies:HZ{near}"))
        }
    }
}

fn format_timers(timers: &TimerModel) -> String {
    match *timers {
        TimerModel::Exact => "exact".into(),
        TimerModel::Granularity(g) => format!("granularity:{}", format_duration(g)),
        TimerModel::LinuxWheel { hz } => format!("linux-wheel:{hz}"),
        TimerModel::LinuxJiffies { hz } => format!("linux-jiffies:{hz}"),
    }
}

fn parse_cc(text: &str) -> Result<Option<Algorithm>, String> {
    let mut words = vec![(PROFILE, None)];
    words.extend(Algorithm::ALL.map(|a| (a.name(), Some(a))));
    parse_word(text, &words)
}

fn parse_user_timeout(text: &str) -> Result<Option<Duration>, String> {
    if text == PROFILE {
        return Ok(None);
    }
    let timeout = parse_duration(text)?;
    if timeout.is_zero() {
        return Err(format!("`{text}`: expected more than zero, such as 300s, or profile"));
    }
    Ok(Some(timeout))
}

fn parse_initial_window(text: &str) -> Result<Option<Segments>, String> {
    if text == PROFILE {
        return Ok(None);
    }
    let window = parse_number(text, 1, 1_000_000);
    window.map(|window| Some(Segments(window as u32))).map_err(|why| format!("{why}, or profile"))
}
