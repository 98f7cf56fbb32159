//! The traffic: the writes of client and server, and the size of their segments.

use super::descriptor::{Setting, setting};
use super::value::parse_number;
use recoup_support::exchange;
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_support::quantity::{parse_size, parse_size_or_zero};
use recoup_tcp::flow::TimedWrite;
use recoup_units::format_bytes;

pub(super) const SETTINGS: &[Setting] = &[
    setting!(
        "request",
        "bytes the client writes once connected; the server writes nothing before it has them all: 0, 300B",
        request,
        parse_size_or_zero,
        |request| match *request {
            0 => "0".into(),
            bytes => format_bytes(bytes),
        }
    ),
    setting!(
        "segments",
        "full segments the server sends: 10",
        segments,
        |text| parse_number(text, 1, 1_000_000_000),
        ToString::to_string
    ),
    setting!(
        "writes",
        "what the server writes in place of segments, and how long after accepting (or after the whole request): none, 20kB@0,10kB@500ms (1 kB is 1000 bytes, 1 KiB is 1024)",
        writes,
        parse_writes,
        format_writes
    ),
    setting!(
        "exchanges",
        "what client and server write in place of request, segments and writes: none, or a list of REQUEST>RESPONSE with the client's think times in between; a time in the middle is the server's: 300B>20kB,1.2s,300B>30ms>5kB",
        exchanges,
        exchange::parse,
        exchange::format
    ),
    setting!("mss", "payload bytes of a full segment: 1448", mss, parse_mss, ToString::to_string),
];

fn parse_mss(text: &str) -> Result<u16, String> {
    parse_number(text, 1, 65_463).map(|mss| mss as u16)
}

fn parse_writes(text: &str) -> Result<Vec<TimedWrite>, String> {
    let mut writes: Vec<TimedWrite> = Vec::new();
    if text == "none" {
        return Ok(writes);
    }
    for part in text.split(',').map(str::trim) {
        let (size, after) = part
            .split_once('@')
            .ok_or_else(|| format!("`{part}`: expected SIZE@TIME, such as 20kB@500ms, or none alone"))?;
        let write = TimedWrite { bytes: parse_size(size.trim())?, after: parse_duration(after)? };
        if writes.last().is_some_and(|last| last.after > write.after) {
            return Err(format!("`{part}`: expected the order of time, but the write before it is later"));
        }
        writes.push(write);
    }
    Ok(writes)
}

fn format_writes(writes: &[TimedWrite]) -> String {
    if writes.is_empty() {
        return "none".into();
    }
    let write = |w: &TimedWrite| format!("{}@{}", format_bytes(w.bytes), format_duration(w.after));
    writes.iter().map(write).collect::<Vec<_>>().join(",")
}
