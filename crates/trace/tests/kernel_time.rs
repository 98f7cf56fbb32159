//! Holds the division of each sender's time against the kernel's `TCP_INFO`.
//!
//! `kernel_time/` has one connection of each kind, captured at both ends of a real path between two kernels (Linux
//! 6.18), cut to its headers. `kernel.csv` has what the kernel reported at each end just before it closed. The
//! kernel counts in jiffies of 4 ms.

use recoup_trace::{
    analyze::{Kept, Settings, analyze},
    finding::{Connection, Direction, SenderState, Vantage},
    read::Reader,
};
use std::path::{Path, PathBuf};

/// So few bytes are requests.
const FEW: u64 = 10_000;

/// Times that the kernel reported of one end, in ms.
struct Reported {
    capture: String,
    end: String,
    busy: f64,
    receiver_window: f64,
    send_buffer: f64,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel_time")
}

fn reported() -> Vec<Reported> {
    let table = std::fs::read_to_string(directory().join("kernel.csv")).unwrap();
    let rows = table.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let ms = |i: usize| fields[i].parse().unwrap();
        Reported {
            capture: fields[0].into(),
            end: fields[1].into(),
            busy: ms(2),
            receiver_window: ms(3),
            send_buffer: ms(4),
        }
    });
    rows.collect()
}

fn connection(capture: &str, at: &str) -> Connection {
    let path = directory().join(format!("{capture}.{at}.pcap.gz"));
    let source = Reader::open(&path).unwrap();
    let settings = Settings { threads: 0, ..Settings::default() };
    let analysis = analyze(source, &settings, Kept::default, |_| true).unwrap();
    let mut all = analysis.findings.into_iter().flat_map(|kept| kept.connections);
    let only = all.next().unwrap();
    assert!(all.next().is_none(), "{capture} {at}");
    only
}

/// By how much `ours` lies outside `least` to `most`, less what is tolerated: 5 % or 20 ms.
fn excess(ours: f64, least: f64, most: f64) -> f64 {
    let outside = (ours - most).max(least - ours);
    outside - (0.05 * most).max(20.0)
}

/// Compares a direction to the kernel's counters. Returns what differs.
fn differences(direction: &Direction, kernel: &Reported, at: &str) -> Vec<String> {
    let ms = |state| direction.time.of(state).as_secs_f64() * 1e3;
    let recovering = ms(SenderState::Recovering);
    let window = ms(SenderState::ZeroWindow) + ms(SenderState::ReceiverWindow);
    let buffer = ms(SenderState::SenderBuffer);
    let busy = recovering + window + buffer + ms(SenderState::Network);
    let comparisons = [
        ("busy", busy, kernel.busy, kernel.busy),
        // Recovery takes precedence here, and the send buffer does in the kernel.
        ("receiver window", window, kernel.receiver_window - recovering, kernel.receiver_window + kernel.send_buffer),
        ("send buffer", buffer, 0.0, kernel.send_buffer),
    ];
    let mut differences = Vec::new();
    for (what, ours, least, most) in comparisons {
        println!("{:22} {at:8} {:18} {what:15} {ours:7.0} {least:7.0} to {most:7.0}", kernel.capture, kernel.end);
        if excess(ours, least, most) > 0.0 {
            let (capture, end) = (&kernel.capture, &kernel.end);
            differences.push(format!(
                "{capture} at the {at}, {end}, {what}: {ours:.0} ms, the kernel {least:.0} to {most:.0} ms"
            ));
        }
    }
    differences
}

#[test]
fn the_time_by_state_is_the_kernels_from_either_end() {
    let mut differences_found = Vec::new();
    let mut kinds = std::collections::BTreeSet::new();
    for kernel in reported() {
        for at in ["sender", "receiver"] {
            let connection = connection(&kernel.capture, at);
            let opener = connection.endpoints.src.to_string() == kernel.end;
            let direction = &connection.directions[usize::from(!opener)];
            assert_eq!(direction.time.total(), connection.duration(), "{}", kernel.capture);
            // The ACKs of a few requests may wait in a queue after they were captured.
            if direction.bytes >= FEW || direction.vantage == Vantage::Sender {
                differences_found.extend(differences(direction, &kernel, at));
            }
        }
        kinds.insert(kernel.capture);
    }
    assert!(kinds.len() >= 6);
    assert_eq!(differences_found, [""; 0], "{differences_found:#?}");
}

#[test]
fn the_capture_point_of_each_file_is_known() {
    for at in ["sender", "receiver"] {
        let connection = connection("loss", at);
        let sender = connection.directions.iter().max_by_key(|side| side.bytes).unwrap();
        let expected = match at {
            "sender" => Vantage::Sender,
            _ => Vantage::Receiver,
        };
        assert_eq!(sender.vantage, expected);
    }
}
