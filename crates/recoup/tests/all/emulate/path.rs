//! The path applies its delay, rate, queue and losses.

use crate::emulate::{World, roles};
use serde_json::Value;
use std::io::{Read, Write};

fn millis(printed: &[String]) -> Vec<f64> {
    printed.iter().map(|nanos| nanos.parse::<f64>().expect("nanoseconds") / 1e6).collect()
}

/// The minimum, which excludes delays by other work on the machine.
fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The tolerated lateness in ms on a busy machine. A bench measures the relay's lateness.
const LATE: f64 = 900.0;

fn log(world: &World, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(world.path(name)).expect("a log");
    let lines = text.lines().skip(1).map(|line| serde_json::from_str(line).expect("a line of JSON"));
    lines.collect()
}

#[test]
fn round_trips_take_the_given_rtt() {
    let Some(world) = World::new() else { return };
    let port = world.echo().to_string();
    for (rtt, role) in [(40.0, "ping"), (25.0, "ping6"), (0.0, "ping")] {
        let printed = world.play(&["--rtt", &format!("{rtt}ms")], &[role, &port]);
        let took = millis(&printed);
        assert_eq!(took.len(), 20);
        let least = least(&took);
        assert!((rtt..rtt + LATE).contains(&least), "{role} over {rtt} ms: {took:?}");
    }
}

#[test]
fn delays_of_nested_emulators_add_up() {
    let Some(world) = World::new() else { return };
    let port = world.echo().to_string();
    let recoup = env!("CARGO_BIN_EXE_recoup");
    for role in ["ping", "ping6"] {
        // 10 ms inside 20 ms inside 15 ms.
        let nested =
            ["--rtt", "15ms", "--", recoup, "emulate", "--rtt", "20ms", "--", recoup, "emulate", "--rtt", "10ms"];
        let took = millis(&world.play(&nested, &[role, &port]));
        let least = least(&took);
        assert!((45.0..45.0 + LATE).contains(&least), "{role}: {took:?}");
    }
}

#[test]
fn a_rate_is_kept() {
    let Some(world) = World::new() else { return };
    let port = world.echo().to_string();
    // 100 packets of 1000 bytes at 10 Mbit/s: one per 0.8 ms.
    let took = millis(&world.play(&["--rate", "up:10Mbit,down:none"], &["flood", &port, "100"]));
    assert_eq!(took.len(), 100);
    assert!((79.2..79.2 + LATE).contains(&took[99]), "{took:?}");
}

#[test]
fn a_full_queue_drops() {
    let Some(world) = World::new() else { return };
    let port = world.echo().to_string();
    let args = ["--rate", "up:1Mbit,down:none", "--queue", "10", "--log", "log"];
    // One packet is sent while ten wait. A few more fit if writing them takes long.
    let echoes = world.play(&args, &["flood", &port, "100"]).len();
    assert!((11..90).contains(&echoes), "{echoes}");
    let fates = log(&world, "log");
    let full = fates.iter().filter(|line| line["fate"] == "queue full").count();
    assert_eq!(full + echoes, 100);
}

#[test]
fn a_positional_drop_applies_to_a_real_connection() {
    let Some(world) = World::new() else { return };
    let port = world.listen(drop).to_string();
    let whole = millis(&world.play(&["--rtt", "20ms"], &["connect", &port]));
    assert!((20.0..20.0 + LATE).contains(&whole[0]), "{whole:?}");
    // Linux retransmits a SYN after one second.
    let args = ["--rtt", "20ms", "--drop", "up:syn:1", "--log", "log"];
    let lossy = millis(&world.play(&args, &["connect", &port]));
    assert!((1000.0..1000.0 + LATE).contains(&lossy[0]), "{lossy:?}");
    let log = log(&world, "log");
    let lost: Vec<_> = log.iter().filter(|line| line["fate"] == "loss").collect();
    assert_eq!(lost.len(), 1, "{log:?}");
    let syn = lost[0];
    assert_eq!((&syn["direction"], &syn["packet"]), (&"up".into(), &1.into()));
    assert_eq!((&syn["tcp"]["flags"], &syn["tcp"]["connection"]), (&"[S]".into(), &1.into()));
    let delivered = log.iter().find(|line| line["fate"] == "delivered").expect("another SYN");
    let [arrival, due, departure] = ["arrival", "due", "departure"].map(|at| delivered[at].as_u64().expect("ns"));
    assert_eq!(due - arrival, 10_000_000);
    assert!(departure >= due, "{delivered}");
}

#[test]
fn data_arrives_unchanged() {
    let Some(world) = World::new() else { return };
    const BYTES: usize = 2_000_000;
    let port = world.listen(|mut stream| {
        let mut received = Vec::new();
        let read = stream.read_to_end(&mut received);
        let equal = read.is_ok() && received == roles::pattern(BYTES);
        let _ = stream.write_all(if equal { b"equal" } else { b"different" });
    });
    let args = [
        "--rtt",
        "4ms",
        "--drop",
        "up:bernoulli:0.01",
        "--duplicate",
        "0.02",
        "--corrupt",
        "0.01",
        "--reorder",
        "0.02:2ms",
        "--seed",
        "7",
    ];
    let printed = world.play(&args, &["upload", &port.to_string(), &BYTES.to_string()]);
    assert_eq!(printed, ["equal"]);
}

#[test]
fn a_tail_needs_the_length_of_flows() {
    let Some(world) = World::new() else { return };
    let outcome = world.emulate(&["--drop", "tail:1"], &["true"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("expected --segments"), "{outcome:?}");
    let outcome = world.emulate(&["--drop", "up:tail:1", "--segments", "3"], &["true"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
}
