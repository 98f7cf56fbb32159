use super::*;
use crate::compare::cells::Place;
use crate::compare::sums::Amount;
use recoup_units::Instant;

/// A capture of connections that lost these times in ms, one a second; by client.
pub(in crate::compare) fn lost(times: impl Iterator<Item = (u32, f64)>) -> Divided {
    let mut cells = Cells::default();
    for ((client, ms), id) in times.zip(0..) {
        let nanos = (1e6 * ms) as u64;
        let lost = Amount { number: u64::from(nanos > 0), sum: nanos };
        let sums = Sums { connections: 1, bytes: 1000, segments: 10, lost, ..Sums::default() };
        let at = Instant::from_millis(1000 * id);
        cells.add(Place::new(at, std::net::Ipv4Addr::from_bits(client << 8).into(), id), &sums);
    }
    Divided::new(cells)
}

fn uncertainty(before: &Divided, after: &Divided) -> Option<Uncertainty> {
    let quantity = Quantity::LostPerConnection(None);
    let pair = Pair {
        before,
        after,
        values: |before: &_, after: &_| quantity.values(before, after),
        weight: &|sums: &_| quantity.weight(sums),
    };
    pair.uncertainty()
}

/// Numbers that look random, from 0 to 1.
fn noise(seed: u64) -> impl Iterator<Item = f64> {
    (0..).map(move |n| (crate::whatif::mixed(crate::whatif::mixed(seed) ^ n) >> 11) as f64 / (1_u64 << 53) as f64)
}

#[test]
fn independent_connections_have_the_interval_of_their_means() {
    let side = |seed| lost(noise(seed).take(1600).map(|x| (1, 100.0 * x)));
    let found = uncertainty(&side(1), &side(2)).unwrap();
    // A uniform value has the variance 1/12.
    let expected = 1.96 * 100.0 * (2.0 / 12.0 / 1600.0_f64).sqrt();
    assert!((0.9..2.0).contains(&(found.half / expected)), "{found:?} {expected}");
    assert!(found.by_chance > 0.02, "{found:?}");
}

#[test]
fn connections_that_share_their_minute_or_client_make_the_interval_wider() {
    let parted = |seed: u64, shared: fn(usize) -> usize| {
        let levels: Vec<f64> = noise(seed + 100).take(64).collect();
        let times = noise(seed).take(1600).enumerate();
        let times = times.map(move |(i, x)| ((i % 40) as u32, 10.0 * x + 100.0 * levels[shared(i)]));
        lost(times)
    };
    let by_time = uncertainty(&parted(1, |i| i / 100), &parted(2, |i| i / 100)).unwrap();
    assert_eq!(by_time.parts, Parts::Time);
    let clients = uncertainty(&parted(1, |i| i % 40), &parted(2, |i| i % 40)).unwrap();
    assert!(matches!(clients.parts, Parts::Clients | Parts::ClientNetworks), "{clients:?}");
    for found in [by_time, clients] {
        assert!(found.half > 10.0, "{found:?}");
    }
    // Clients that lose the same before and after are compared with themselves.
    let same = uncertainty(&parted(1, |i| i % 40), &parted(1, |i| i % 40)).unwrap();
    assert!(same.half < clients.half / 3.0, "{same:?} {clients:?}");
}

#[test]
fn few_connections_have_no_interval() {
    let few = lost([(1, 5.0), (2, 7.0), (3, 9.0), (4, 3.0)].into_iter());
    let many = lost((0..50).map(|i| (i, f64::from(i))));
    assert_eq!(uncertainty(&few, &many), None);
    assert_eq!(uncertainty(&many, &few), None);
    assert!(uncertainty(&many, &many).is_some());
}
