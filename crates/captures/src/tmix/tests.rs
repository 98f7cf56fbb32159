use super::*;
use crate::capture::Unwatched;
use recoup_lab::pcap::{Capture as CaptureFiles, CapturePaths, Order};
use recoup_lab::scenario::Experiment;
use recoup_sim::traffic::cvec::{self, DataUnit, Pattern, Wait};
use std::path::Path;

/// Three connections: requests and responses with pauses, data that the server sends on its own, and both at once.
const VECTORS: &str = "\
S 0 2 1 1
r 80000
I 0 0 300
A 0 100000 20000
I 0 700000 400
A 0 30000 150000
A 900000 0 5000
I 0 0 0
S 100000 1 1 2
r 60000
A 50000 0 3000
I 0 10000 100
A 0 40000 0
C 300000 2 2 1 3
r 40000
I 0 0 200000
I 2000000 0 3000
A 0 0 100000
A 1500000 0 50000
I 0 0 0
";

const WORLD: &str = r#"
seed = 3
duration = "20s"
profiles = ["linux-6"]

[links.path]
between = ["servers", "clients"]
rate = "50Mbit"
delay = "5ms"

[workloads.vectors]
client = "clients"
server = "servers"
tmix = "given.cvec"
ack = "quick"
"#;

/// The connections of `VECTORS`, simulated and captured at the client and the server.
fn captured(folder: &Path, changes: &[(&str, &str)]) -> [Extraction; 2] {
    captured_of(VECTORS, folder, changes)
}

/// The extractions of these vectors, at either end.
fn captured_of(vectors: &str, folder: &Path, changes: &[(&str, &str)]) -> [Extraction; 2] {
    std::fs::write(folder.join("given.cvec"), vectors).unwrap();
    let file = folder.join("world.toml");
    std::fs::write(&file, WORLD).unwrap();
    let Ok(Experiment::World(mut world)) = Experiment::load(file.to_str().unwrap()) else { panic!("a world") };
    for (key, value) in changes {
        world.set(key, value).unwrap();
    }
    let paths = CapturePaths::new(folder, "capture");
    let mut capture = CaptureFiles::create(&paths).unwrap().ordered(Order::Together);
    let profile = &world.profiles[0];
    world.run_observed(profile, None, &mut capture, |_| (), || false).unwrap();
    capture.finish().unwrap();
    [&paths.client, &paths.server].map(|path| {
        let capture = crate::capture::Capture::open(path).unwrap();
        extract(capture, None, &Unwatched).unwrap()
    })
}

fn near(one: Duration, other: Duration, within: u64) -> bool {
    one.abs_diff(other) <= Duration::from_millis(within)
}

#[test]
fn vectors_come_back_from_captures_at_either_end() {
    let folder = tempfile::tempdir().unwrap();
    let given = cvec::parse(VECTORS).unwrap();
    for (end, extraction) in captured(folder.path(), &[]).into_iter().enumerate() {
        let vectors = &extraction.vectors;
        assert_eq!((vectors.len(), extraction.without_handshake), (3, 0));
        assert_eq!(extraction.open_at_end, 0);
        for (ours, theirs) in vectors.iter().zip(&given) {
            let shown = format!("end {end}: {ours:?}\nexpected {theirs:?}");
            assert_eq!((ours.id, ours.pattern), (theirs.id, theirs.pattern), "{shown}");
            // A SYN reaches the server half a round trip after the client has sent it.
            assert!(near(ours.start, theirs.start, 40), "{shown}");
            assert!(near(ours.min_rtt.unwrap(), theirs.min_rtt.unwrap(), 2), "{shown}");
            assert_eq!((ours.loss, ours.segment_sizes), ([0.0, 0.0], Some([1448, 1448])), "{shown}");
            // Without its end, which the given vectors have as well.
            let data = |units: &[DataUnit]| -> Vec<_> {
                let mut data: Vec<_> = units.iter().filter(|unit| unit.bytes > 0).copied().collect();
                data.sort_by_key(|unit| match theirs.pattern {
                    Pattern::Sequential => None,
                    Pattern::Concurrent => Some(unit.from),
                });
                data
            };
            let [found, expected] = [&ours.units, &theirs.units].map(|units| data(units));
            assert_eq!(found.len(), expected.len(), "{shown}");
            for (unit, expected) in found.iter().zip(&expected) {
                assert_eq!((unit.from, unit.bytes), (expected.from, expected.bytes), "{shown}");
                let same_kind = matches!(
                    (unit.wait, expected.wait),
                    (Wait::AfterSending(_), Wait::AfterSending(_)) | (Wait::AfterReceiving(_), Wait::AfterReceiving(_))
                );
                assert!(same_kind, "{shown}");
                // Data waits for data before it, and for the window.
                assert!(near(unit.wait.duration(), expected.wait.duration(), 45), "{unit:?} {shown}");
            }
        }
    }
}

#[test]
fn retransmissions_are_losses_and_do_not_make_units() {
    let folder = tempfile::tempdir().unwrap();
    let lossy = [("links.path.drop", "up:bernoulli:0.05"), ("seed", "5")];
    let [client, server] = captured(folder.path(), &lossy);
    for extraction in [&client, &server] {
        for (ours, theirs) in extraction.vectors.iter().zip(&cvec::parse(VECTORS).unwrap()) {
            for host in [Host::Client, Host::Server] {
                assert_eq!(ours.bytes(host), theirs.bytes(host));
            }
            assert_eq!(ours.loss[0], 0.0);
        }
    }
    let lost: f64 = server.vectors.iter().map(|vector| vector.loss[1]).sum();
    assert!((0.03..0.3).contains(&lost), "{lost}");
}

#[test]
fn a_replay_of_extracted_vectors_extracts_to_the_same_units() {
    let folder = tempfile::tempdir().unwrap();
    let [first, _] = captured(folder.path(), &[]);
    let mut text = String::new();
    for vector in &first.vectors {
        cvec::write(vector, cvec::Format::Alternate, &mut text);
    }
    let [again, _] = captured_of(&text, folder.path(), &[]);
    assert_eq!(again.vectors.len(), first.vectors.len());
    for (ours, theirs) in again.vectors.iter().zip(&first.vectors) {
        assert_eq!(ours.pattern, theirs.pattern);
        let written = |vector: &ConnectionVector| -> Vec<(Host, u64)> {
            let data = vector.units.iter().filter(|unit| unit.bytes > 0);
            data.map(|unit| (unit.from, unit.bytes)).collect()
        };
        assert_eq!(written(ours), written(theirs));
    }
}

#[test]
fn connections_without_their_handshake_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let paths = {
        captured(folder.path(), &[]);
        CapturePaths::new(folder.path(), "capture")
    };
    let mut reader = recoup_trace::read::Reader::open(&paths.server).unwrap();
    let mut extractor = Extractor::default();
    let mut skipped = 0;
    while let Some(packet) = reader.next() {
        // The first connection's SYN is not captured.
        skipped += 1;
        if skipped > 1 {
            extractor.packet(packet);
        }
    }
    let extraction = extractor.finish();
    assert_eq!(extraction.vectors.len(), 2);
    assert_eq!(extraction.without_handshake, 1);
}

/// Memory holds a limited number of connections that never open, whatever number of them the capture has.
#[test]
fn a_flood_of_syns_displaces_its_oldest() {
    let folder = tempfile::tempdir().unwrap();
    captured(folder.path(), &[]);
    let paths = CapturePaths::new(folder.path(), "capture");
    let mut reader = recoup_trace::read::Reader::open(&paths.server).unwrap();
    let mut extractor = Extractor::default();
    let mut flood = 0;
    while let Some(packet) = reader.next() {
        if flood == 0 {
            let (mut syn, mut ack) = (*packet, *packet);
            while flood < 100_000_u32 {
                flood += 1;
                let client = std::net::Ipv4Addr::from(0x0a00_0000 + flood);
                syn.endpoints.src = (client, 1000).into();
                extractor.packet(&syn);
                // As many connections without a SYN.
                ack.segment.flags = Flags::ACK;
                ack.endpoints.src = (client, 2000).into();
                extractor.packet(&ack);
                extractor.packet(&ack);
            }
        }
        extractor.packet(packet);
    }
    assert!(extractor.open.len() <= MOST_HALF_OPEN + 3 && extractor.finished.is_empty());
    assert!(extractor.headless.latest.len() + extractor.headless.before.len() <= 2 * MOST_HEADLESS);
    let extraction = extractor.finish();
    assert_eq!(extraction.vectors.len(), 3);
    assert_eq!(extraction.without_handshake, 200_000);
    assert_eq!(extraction.notes.len(), 1);
}
