use super::*;
use recoup_trace::analyze::Kept;
use recoup_trace::finding::Vantage;
use recoup_wire::Flags;

fn sender(name: &str) -> Profile {
    name.parse().unwrap()
}

#[test]
fn two_senders_meet_the_same_flows() {
    let population = Population::web(40, 1);
    for number in 0..40 {
        assert_eq!(population.flow(number), population.flow(number));
    }
    assert_ne!(population.flow(0), population.flow(1));
    let syns = |name| {
        let packets = population.capture(&sender(name), 0..40).unwrap();
        let syns = packets.iter().filter(|p| p.segment.flags == Flags::SYN);
        let mut ends: Vec<_> = syns.map(|p| p.endpoints.src).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    };
    assert_eq!(syns("linux-2.4"), syns("windows-xp"));
    assert_eq!(syns("linux-2.4").len(), 40);
}

#[test]
fn a_capture_is_in_order_and_its_server_is_known() {
    let population = Population::web(30, 2);
    let packets = population.capture(&sender("solaris-10"), 0..30).unwrap();
    assert!(packets.is_sorted_by_key(|p| p.at));
    assert!(packets.iter().map(|p| p.frame).eq(1..=packets.len() as u64));
    let found = population.analyze(&sender("solaris-10"), Kept::default).unwrap();
    let connections: Vec<_> = found.iter().flat_map(|kept| &kept.connections).collect();
    assert_eq!(connections.len(), 30);
    for connection in connections {
        let [_, server] = &connection.directions;
        assert_eq!(server.vantage, Vantage::Sender, "{:?}", connection.endpoints);
    }
}

#[test]
fn the_parts_of_an_analysis_cover_all_flows_once() {
    let population = Population::web(FLOWS_PER_CAPTURE + 7, 3);
    let found = population.analyze(&sender("freebsd-5"), Kept::default).unwrap();
    let mut clients: Vec<_> =
        found.iter().flat_map(|kept| &kept.connections).map(|connection| connection.endpoints.src).collect();
    clients.sort_unstable();
    clients.dedup();
    assert_eq!(clients.len() as u64, population.flows);
    let retransmissions: usize = found.iter().map(|kept| kept.retransmissions.len()).sum();
    assert!(retransmissions > 50, "{retransmissions}");
}

#[test]
fn flows_are_as_described() {
    let population = Population::web(2000, 4);
    let flows: Vec<Flow> = (0..2000).map(|number| population.flow(number)).collect();
    let share =
        |counts: &dyn Fn(&Flow) -> bool| flows.iter().filter(|flow| counts(flow)).count() as f64 / flows.len() as f64;
    use recoup_path::{HopSpec, LossKind};
    let has = |flow: &Flow, is: fn(&HopSpec) -> bool| flow.path.down.iter().any(is);
    let (networks, receivers) = (&population.networks, &population.receivers);
    for (expected, found) in [
        (receivers.sack, share(&|flow| flow.sack)),
        (receivers.timestamps, share(&|flow| flow.timestamps)),
        (1.0 / population.traffic.exchanges, share(&|flow| flow.workload.server.writes.len() == 1)),
        (networks.pausing, share(&|flow| has(flow, |hop| matches!(hop, HopSpec::Link { .. })))),
        (networks.reordering, share(&|flow| has(flow, |hop| matches!(hop, HopSpec::Reorder { .. })))),
        (
            networks.bursty,
            share(&|flow| {
                has(flow, |hop| match hop {
                    HopSpec::Loss(loss) => matches!(loss.kind, LossKind::GilbertElliott(_)),
                    _ => false,
                })
            }),
        ),
    ] {
        assert!((found - expected).abs() < 0.04, "{found} {expected}");
    }
}
