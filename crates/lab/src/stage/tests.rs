use super::*;
use std::path::Path;

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    for (key, value) in settings {
        scenario.settings.set(key, value, Path::new(".")).unwrap();
    }
    scenario
}

#[test]
fn settings_without_effect_on_a_stage_are_noted() {
    let ends = |stage| Ends::new(stage, None, None).unwrap();
    let (net, kernel) = (ends(Stage::Net), ends(Stage::Kernel));
    let mixed = Ends::new(Stage::Net, Some(Stack::Kernel), None).unwrap();
    let rate = ("rate", "100Mbit");
    for (settings, simulated, all_ends, count, about) in [
        (&[rate][..], true, &[][..], 0, ""),
        (&[("kernel.tlp", "off")], true, &[], 1, "kernel.tlp=off has no effect"),
        (&[("kernel.tlp", "off")], true, &[net], 1, "at neither end"),
        (&[("kernel.tlp", "off"), rate], false, &[mixed], 0, ""),
        (&[("timers", "linux-wheel:250"), rate], false, &[kernel], 1, "only the simulator"),
        (&[("timers", "linux-wheel:250"), rate], true, &[kernel], 0, ""),
        (&[("ack", "linux:4"), ("psh", "burst")], false, &[net, kernel], 3, "kernel: "),
        (&[("rto.k", "2"), ("dupthresh", "4"), rate], false, &[net, kernel], 2, "kernel, which has its own RTO"),
        (&[("rto.k", "2"), rate], true, &[net], 0, ""),
    ] {
        let found = notes(&scenario(settings), simulated, all_ends);
        assert_eq!(found.len(), count, "{found:?}");
        assert!(found.iter().all(|note| note.contains(about)), "{found:?}");
    }
}

#[test]
fn an_event_stream_lacks_what_the_kernel_does_not_report() {
    for (client, server, about) in [
        (Stack::Recoup, Stack::Recoup, None),
        (Stack::Kernel, Stack::Kernel, Some("of its senders")),
        (Stack::Kernel, Stack::Recoup, Some("at the client")),
        (Stack::Recoup, Stack::Kernel, Some("at the server")),
    ] {
        let ends = Ends::new(Stage::Net, Some(client), Some(server)).unwrap();
        let note = ends.events_note();
        assert_eq!(note.is_some(), about.is_some(), "{note:?}");
        assert!(about.is_none_or(|about| note.unwrap().contains(about)));
    }
}

#[test]
fn only_small_flows_run_at_once() {
    for (segments, flows, expected) in [("10", 1, 1), ("10", 100, 16), ("10", 5, 5), ("5000", 100, 1)] {
        let settings = scenario(&[("segments", segments)]).settings;
        assert_eq!(lanes(&settings, flows), expected, "{segments} segments, {flows} flows");
    }
}

#[test]
fn acks_are_thinned_when_the_kernel_has_to_delay_them() {
    let delayed = scenario(&[("ack", "delayed:100ms")]).settings;
    let thins = |stage, client, settings: &Settings| Ends::new(stage, client, None).unwrap().thins(settings);
    let hold = Some(Duration::from_millis(100));
    assert_eq!(thins(Stage::Kernel, None, &delayed), hold);
    assert_eq!(thins(Stage::Net, None, &delayed), None);
    assert_eq!(thins(Stage::Net, Some(Stack::Kernel), &delayed), hold);
    assert_eq!(thins(Stage::Kernel, None, &scenario(&[("ack", "quick")]).settings), None);
}
