use super::*;
use crate::population::{EndCaptures, Networks, Population};
use recoup_wire::Flags;

/// Ten flows of users with this patience and these captures, over paths that lose this share of what servers send.
fn captured(patience_s: f64, capture_s: f64, loss: f64) -> EndCaptures {
    let always = |value: f64| LogNormal { median: value, sigma: 0.0, least: 0.0, most: 1e9 };
    let networks = Networks { loss: always(loss), ack_loss: 0.0, bursty: 0.0, pausing: 0.0, ..Networks::WIDE_AREA };
    let users = Some(Users { patience: always(patience_s), capture_s });
    let population = Population { networks, users, ..Population::web(10, 1) };
    let sender: Profile = "linux-3.17".parse().unwrap();
    population.capture_both_ends(&sender, 0..10).unwrap()
}

fn syns(captures: &EndCaptures) -> usize {
    captures.at_clients.iter().filter(|packet| packet.segment.flags == Flags::SYN).count()
}

#[test]
fn a_client_gives_up_after_its_patience() {
    // SYNs leave after 0, 1, 3, 7 … s.
    for (patience_s, each) in [(0.5, 1), (5.0, 3), (10.0, 4)] {
        let captures = captured(patience_s, 1e9, 1.0);
        assert_eq!(syns(&captures), 10 * each, "{patience_s} s");
    }
}

#[test]
fn a_capture_ends_while_flows_last() {
    assert!(captured(5.0, 0.0, 0.0).at_clients.is_empty());
    let [short, long] = [2.0, 1e9].map(|capture_s| captured(5.0, capture_s, 0.0).at_servers.len());
    assert!(0 < short && short < long, "{short} {long}");
}

#[test]
fn a_client_closes_when_it_has_everything() {
    let captures = captured(100.0, 1e9, 0.0);
    for client in 0..10 {
        let mut last_data = None;
        let mut closed = None;
        for packet in &captures.at_clients {
            let [is_ours, is_its] = [packet.endpoints.src, packet.endpoints.dst]
                .map(|end| end.ip() == std::net::IpAddr::from(crate::population::capture::client(client)));
            if is_its && packet.segment.payload_len > 0 {
                last_data = Some(packet.at);
            }
            if is_ours && packet.segment.flags.contains(Flags::FIN) {
                closed = closed.or(Some(packet.at));
            }
        }
        assert!(closed.is_some() && closed >= last_data, "{client}: {closed:?} {last_data:?}");
    }
}
