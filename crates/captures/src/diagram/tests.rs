use super::*;
use recoup_draw::sequence::{Mark, MarkKind};
use recoup_lab::diagram::Watch;
use recoup_lab::events::EventWriter;
use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_lab::run::run_observed;
use recoup_lab::scenario::Scenario;
use recoup_recovery::Trigger;
use recoup_tcp::flow::Host;
use recoup_units::Instant;
use source::{Choice, Source, read};

/// The mark as a simulation makes it: without a frame number, and without a verdict.
fn without_findings(mark: Mark) -> Mark {
    let kind = match mark.kind {
        MarkKind::Explained { span, trigger, .. } => {
            let known = Trigger::ALL.into_iter().map(Trigger::name);
            MarkKind::Retransmitted(span, known.into_iter().find(|name| *name == trigger))
        }
        kind => kind,
    };
    Mark::new(mark.at, kind)
}

/// The marks with flags after all others of the same instant: the sources report them before or after
/// the data of the same segment.
fn in_order(mut marks: Vec<Mark>) -> Vec<Mark> {
    marks.sort_by_key(|mark| (mark.at, matches!(mark.kind, MarkKind::Control(..))));
    marks
}

/// An observed flow, its event stream and its capture give the same marks.
#[test]
fn simulation_events_and_capture_give_the_same_marks() {
    let dir = tempfile::tempdir().unwrap();
    for drop in ["none", "data:1-4,data:11-16", "tail:2", "bernoulli:0.1,up:bernoulli:0.1"] {
        let mut scenario = Scenario::load("prr").unwrap();
        scenario.profiles.truncate(1);
        scenario.set("drop", drop).unwrap();
        let profile = scenario.profiles[0].clone();
        let paths = CapturePaths::new(dir.path(), "flow");
        let mut observer = (
            Watch::new(Host::Server),
            (EventWriter::new(Vec::new(), profile.name()), Capture::create(&paths).unwrap()),
        );
        run_observed(&scenario, &profile, &mut observer, |_| ()).unwrap();
        let (watch, (events, capture)) = observer;
        capture.finish().unwrap();
        let marks = |source: Source| in_order(source.panels.into_iter().next().unwrap().marks);
        let watched = in_order(watch.into_marks());
        assert!(watched.iter().any(|m| matches!(m.kind, MarkKind::Sent(_))));
        assert!(watched.iter().any(|m| matches!(m.kind, MarkKind::ReceiveWindow(_))));

        // Event streams have no receive windows.
        let events = events.finish().unwrap();
        let from_events = read("events", &events[..], &Choice::default()).unwrap();
        assert_eq!(from_events.title, format!("{}, flow 0", profile.name()));
        let without_windows = watched.iter().filter(|m| !matches!(m.kind, MarkKind::ReceiveWindow(_)));
        assert!(without_windows.eq(&marks(from_events)), "{drop}");

        // The analysis finds the triggers. A capture's time 0 is the first packet at the server, the
        // client's SYN: half an RTT and one transmission time after the flow's start.
        let file = std::fs::File::open(&paths.server).unwrap();
        let captured = marks(read("capture", file, &Choice::default()).unwrap());
        let start = watched.iter().map(|m| m.at).min().unwrap();
        let expected = watched.iter().map(|m| Mark::new(Instant::ZERO + m.at.since(start), m.kind.clone()));
        assert!(captured.iter().all(|mark| mark.frame.is_some()));
        let captured: Vec<Mark> = captured.into_iter().map(without_findings).collect();
        assert_eq!(captured, expected.collect::<Vec<_>>(), "{drop}");
    }
}
