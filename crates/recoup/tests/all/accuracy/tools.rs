//! The findings of other tools in the same captures.
//!
//! | tool | what counts as a retransmission | trigger | spurious |
//! | --- | --- | --- | --- |
//! | tshark | `tcp.analysis.retransmission`, including fast and spurious ones; not `out_of_order` | fast, or none | `spurious_retransmission` |
//! | tcptrace | packets marked R in its time–sequence graphs; not O, out of order | none | none |
//! | Tstat | retransmissions by RTO and by FR, unnecessary or not; not reordering, network duplicate, flow control | `rto`, `fast` | unnecessary |

mod tstat;

use crate::accuracy::score::Claim;
use recoup_trace::finding::{Triggers, Verdict};
use recoup_trace::read::Reader;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

pub use tstat::tstat;

fn claim(frame: u64, trigger: &str, spurious: bool) -> Claim {
    Claim { frame, trigger: trigger.into(), verdict: spurious.then_some(Verdict::Spurious), evidence: "none given" }
}

/// Runs a tool and returns its output. `None` if the tool is not installed.
fn output(command: &mut Command) -> Option<String> {
    let output = match command.output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
        output => output.expect("a tool that runs"),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    Some(text(&output.stdout))
}

/// Wireshark's analysis. `None` if tshark is not installed.
pub fn tshark(capture: &Path) -> Option<Vec<Claim>> {
    const FLAGS: [&str; 3] =
        ["tcp.analysis.retransmission", "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission"];
    let mut command = Command::new("tshark");
    let any = FLAGS.join(" || ");
    command.arg("-r").arg(capture);
    command.args(["-Y", &any, "-T", "fields", "-E", "separator=,"]);
    command.args(["-e", "frame.number"]);
    command.args(FLAGS[1..].iter().flat_map(|flag| ["-e", flag]));
    let unknown = Triggers::UNKNOWN.to_string();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [frame, fast, spurious] = fields[..] else {
            panic!("three fields: {line}");
        };
        let trigger = if fast.is_empty() { &unknown } else { "fast" };
        claim(frame.parse().expect("a number"), trigger, !spurious.is_empty())
    };
    Some(output(&mut command)?.lines().map(line).collect())
}

/// Retransmissions in tcptrace's time–sequence graphs. `None` if tcptrace is not installed.
pub fn tcptrace(capture: &Path) -> Option<Vec<Claim>> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut to = std::ffi::OsString::from("--output_dir=");
    to.push(folder.path());
    output(Command::new("tcptrace").args(["-n", "-S"]).arg(to).arg(capture))?;
    let frames = frames(capture);
    let mut claims = Vec::new();
    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let text = std::fs::read_to_string(entry.expect("a file").path()).expect("a graph");
        claims.extend(marked(&text, &frames));
    }
    Some(claims)
}

/// Endpoints, time (µs) and the sequence number after the last byte.
type Place = (SocketAddr, SocketAddr, u64, u32);

fn frames(capture: &Path) -> HashMap<Place, u64> {
    let mut reader = Reader::open(capture).expect("a capture");
    let mut frames = HashMap::new();
    while let Some(packet) = reader.next() {
        let (ends, segment) = (packet.endpoints, &packet.segment);
        let end = segment.seq + segment.sequence_len();
        let place = (ends.src, ends.dst, packet.at.as_nanos() / 1000, end.0);
        frames.insert(place, packet.frame);
    }
    frames
}

/// The packets that a graph marks as retransmissions:
/// ```text
/// 10.0.0.1:80_==>_10.0.0.2:31190 (time sequence graph)
/// …
/// atext 1795308040.687578 3757320900
/// R
/// ```
fn marked(graph: &str, frames: &HashMap<Place, u64>) -> Vec<Claim> {
    let lines: Vec<&str> = graph.lines().collect();
    let ends = lines.iter().find_map(|line| {
        let (ends, _) = line.split_once(" (time sequence graph)")?;
        let (src, dst) = ends.split_once("_==>_")?;
        Some((src.parse().ok()?, dst.parse().ok()?))
    });
    let Some((src, dst)) = ends else {
        return Vec::new();
    };
    let place = |at: &str| -> Option<Place> {
        let mut words = at.strip_prefix("atext ")?.split(' ');
        let (seconds, micros) = words.next()?.split_once('.')?;
        let at = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
        Some((src, dst, at, words.next()?.parse().ok()?))
    };
    let unknown = Triggers::UNKNOWN.to_string();
    let marks = lines.windows(2).filter(|pair| pair[1] == "R");
    let frames = marks.filter_map(|pair| frames.get(&place(pair[0])?));
    frames.map(|frame| claim(*frame, &unknown, false)).collect()
}
