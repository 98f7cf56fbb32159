use super::*;

fn counts<K: Ord + Copy>(counts: &[(K, u64)]) -> Counts<K> {
    counts.iter().copied().collect()
}

/// Connections to these ports, from one client to one server.
fn population(ports: &[(u16, u64)]) -> Population {
    let all = ports.iter().map(|(_, count)| count).sum();
    Population {
        captured_at: counts(&[(CapturedAt::Server as u8, all)]),
        ports: counts(ports),
        servers: counts(&[(1, all)]),
        clients: counts(&[(2, all)]),
        sizes: counts(&[(9, all)]),
    }
}

#[test]
fn what_differs_by_chance_is_no_warning() {
    let one = population(&[(80, 60), (443, 40)]);
    assert_eq!(warnings(&one, &one), Vec::<String>::new());
    assert_eq!(warnings(&one, &population(&[(80, 55), (443, 45)])), Vec::<String>::new());
    // Of few connections, half may differ by chance.
    assert_eq!(warnings(&population(&[(80, 2)]), &population(&[(80, 1), (443, 1)])), Vec::<String>::new());
    assert_eq!(warnings(&Population::default(), &one), Vec::<String>::new());
}

#[test]
fn other_places_ports_hosts_and_sizes_are_named() {
    let one = population(&[(80, 60), (443, 40)]);
    let found = warnings(&one, &population(&[(80, 10), (443, 90)]));
    assert_eq!(
        found,
        [
            "50 % of the connections are to other server ports: port 80 from 60 % to 10 % and port 443 from 40 % to 90 %."
        ]
    );
    let mut other = one.clone();
    other.captured_at = counts(&[(CapturedAt::Client as u8, 100)]);
    other.servers = counts(&[(1, 20), (7, 80)]);
    other.clients = counts(&[(3, 100)]);
    other.sizes = counts(&[(9, 50), (12, 50)]);
    let found = warnings(&one, &other);
    let beginnings =
        ["BEFORE: captured at the server. AFTER: captured at the client.", "80 % ", "50 % ", "The captures"];
    assert_eq!(found.len(), beginnings.len(), "{found:?}");
    for (warning, beginning) in found.iter().zip(beginnings) {
        assert!(warning.starts_with(beginning), "{warning}");
    }
}
