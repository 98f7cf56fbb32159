//! Made-up connections in groups.

use super::*;
use crate::explain::tests::connection as made;
use recoup_trace::finding::{Cause, Opening};
use recoup_wire::Endpoints;

/// A connection of a second that lost this much.
fn connection(id: u64, src: &str, dst: &str, lost_ms: u64) -> Connection {
    let [src, dst] = [src, dst].map(|end| end.parse().expect("an end"));
    let mut connection = Connection { endpoints: Endpoints { src, dst }, ..made(id) };
    connection.directions[1].lost.add(Cause::LostSegment, Duration::from_millis(lost_ms));
    connection
}

fn keys(by: GroupBy, connections: &[Connection]) -> Vec<String> {
    connections.iter().map(|connection| by.key(connection).expect("a group").to_string()).collect()
}

#[test]
fn each_property_puts_connections_into_its_groups() {
    let mut turned = connection(2, "192.0.2.1:443", "198.51.100.7:50000", 0);
    turned.opening = Opening::MidConnection;
    let connections = [
        connection(0, "198.51.100.7:50000", "192.0.2.1:443", 0),
        connection(1, "[2001:db8:1:2::3]:50000", "[2001:db8::1]:8080", 0),
        // Without the handshake, the port tells the server.
        turned,
    ];
    for (by, expected) in [
        ("server", ["192.0.2.1", "2001:db8::1", "192.0.2.1"]),
        ("client", ["198.51.100.7", "2001:db8:1:2::3", "198.51.100.7"]),
        ("prefix", ["198.51.100.0/24", "2001:db8:1::/48", "198.51.100.0/24"]),
        ("prefix:9,32", ["198.0.0.0/9", "2001:db8::/32", "198.0.0.0/9"]),
        ("prefix:0,0", ["0.0.0.0/0", "::/0", "0.0.0.0/0"]),
        ("port", ["443", "8080", "443"]),
        ("path:32", ["192.0.2.1 to 198.51.100.7/32", "2001:db8::1 to 2001:db8:1::/48", "192.0.2.1 to 198.51.100.7/32"]),
    ] {
        let by: GroupBy = by.parse().expect("a property");
        assert_eq!(keys(by, &connections), expected, "{by}");
    }
    for (text, part) in [
        ("servers", "did you mean `server`?"),
        ("prefix:33", "from 0 to 32"),
        ("prefix:24,129", "from 0 to 128"),
        ("prefix:x", "such as prefix:24"),
        ("port:80", "`port` alone"),
    ] {
        let line = text.parse::<GroupBy>().expect_err(text);
        assert!(line.contains(part), "{text}: {line}");
    }
    for text in ["server", "prefix:24", "prefix:20,56", "path", "path:16", "port", "capture"] {
        assert_eq!(text.parse::<GroupBy>().expect("a property").to_string(), text);
    }
}

/// Groups by server of connections to `192.0.2.1` and `192.0.2.2`, which lose these times in turn.
fn two_servers(first: &[u64], second: &[u64], connections: u64) -> Groups {
    let mut groups = Groups::default();
    for id in 0..connections {
        for (server, lost) in [("192.0.2.1:80", first), ("192.0.2.2:80", second)] {
            let lost = lost[id as usize % lost.len()];
            groups.add(&connection(id, &format!("198.51.100.{id}:50000"), server, lost));
        }
    }
    groups
}

#[test]
fn a_server_stands_out_if_it_loses_more_beyond_chance() {
    let said = differences(&two_servers(&[0, 100, 300], &[0, 0, 0, 30], 60));
    assert!(
        said[0].starts_with("Server 192.0.2.1 stands out: it lost 13 % of its connections' time (the others: 0.75 %)"),
        "{said:?}"
    );
    assert_eq!(said.len(), 1);
    // The same losses, few connections, and one connection that lost all.
    assert!(differences(&two_servers(&[0, 100, 300], &[0, 100, 300], 60)).is_empty());
    assert!(differences(&two_servers(&[0, 100, 300], &[0, 0, 0, 30], 9)).is_empty());
    let mut once = vec![0; 60];
    once[7] = 900;
    assert!(differences(&two_servers(&once, &[0], 60)).is_empty());
}

#[test]
fn groups_are_ranked_and_those_that_lost_least_become_one() {
    let mut groups = Groups::default();
    groups.ask(&[GroupBy::Client]);
    let all = 3 * MOST_KEPT as u64;
    for id in 0..all {
        let client = format!("10.0.{}.{}:50000", id / 256, id % 256);
        groups.add(&connection(id, &client, "192.0.2.1:80", id % 100));
    }
    let mut other = Groups::default();
    other.ask(&[GroupBy::Client]);
    other.merge(groups);
    let table = other.asked_for().next().expect("a table");
    let ranked = table.ranked(SortBy::TimeLost);
    assert!(ranked.len() <= 2 * MOST_KEPT, "{}", ranked.len());
    assert_eq!(ranked.last().expect("groups").0, &GroupKey::Others);
    assert_eq!(ranked.iter().map(|(_, group)| group.connections).sum::<u64>(), all);
    let lost: Vec<Duration> = ranked.iter().rev().skip(1).rev().map(|(_, group)| group.lost.total()).collect();
    assert!(lost.is_sorted_by(|one, next| one >= next));
    assert_eq!(lost[0], Duration::from_millis(99));
}
