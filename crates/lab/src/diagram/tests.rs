use super::*;
use crate::capture::{Capture, CapturePaths};
use crate::events::EventWriter;
use crate::run::run_observed;
use crate::scenario::Scenario;
use recoup_draw::sequence::{Mark, What};
use recoup_tcp::flow::Host;
use recoup_units::Instant;
use source::{Choice, Source, read};

/// The same flow watched, read from its events and read from its capture: the same marks.
#[test]
fn three_ways_to_the_same_marks() {
    let dir = tempfile::tempdir().unwrap();
    for drop in [
        "none",
        "data:1-4,data:11-16",
        "tail:2",
        "bernoulli:0.1,up:bernoulli:0.1",
    ] {
        let mut scenario = Scenario::load("prr").unwrap();
        scenario.profiles.truncate(1);
        scenario.set("drop", drop).unwrap();
        let profile = scenario.profiles[0].clone();
        let paths = CapturePaths::new(dir.path(), "flow");
        let mut observer = (
            Watch::new(Host::Server),
            (
                EventWriter::new(Vec::new(), profile.name()),
                Capture::create(&paths).unwrap(),
            ),
        );
        run_observed(&scenario, &profile, &mut observer, |_| ()).unwrap();
        let (watch, (events, capture)) = observer;
        capture.finish().unwrap();
        let marks = |source: Source| source.panels.into_iter().next().unwrap().marks;
        let watched = watch.into_marks();
        assert!(watched.iter().any(|m| matches!(m.what, What::Sent(_))));
        assert!(watched.iter().any(|m| matches!(m.what, What::Window(_))));

        // Events tell no windows.
        let events = events.finish().unwrap();
        let from_events = read("events", &events[..], &Choice::default()).unwrap();
        assert_eq!(from_events.title, format!("{}, flow 0", profile.name()));
        let without_windows = watched
            .iter()
            .filter(|m| !matches!(m.what, What::Window(_)));
        assert!(without_windows.eq(&marks(from_events)), "{drop}");

        // A capture tells no triggers, and its time begins with the first packet, which is the
        // client's SYN: half an RTT and its bits on the link later.
        let file = std::fs::File::open(&paths.server).unwrap();
        let captured = marks(read("capture", file, &Choice::default()).unwrap());
        let start = watched.iter().map(|m| m.at).min().unwrap();
        let expected = watched.iter().map(|m| Mark {
            at: Instant::ZERO + m.at.since(start),
            what: match &m.what {
                What::Again(span, _) => What::Again(*span, None),
                what => what.clone(),
            },
        });
        let captured: Vec<Mark> = captured;
        assert_eq!(captured, expected.collect::<Vec<_>>(), "{drop}");
    }
}
