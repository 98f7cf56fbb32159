use super::*;
use std::net::Ipv4Addr;

fn place(n: u64) -> Place {
    Place::new(Instant::from_millis(mixed(n) % 10_000_000), Ipv4Addr::from_bits(mixed(n) as u32).into(), n)
}

fn cells(numbers: impl Iterator<Item = u64>) -> Cells {
    let mut cells = Cells::default();
    let one = |n| Sums { connections: 1, bytes: n, ..Sums::default() };
    numbers.for_each(|n| cells.add(place(n), &one(n)));
    cells
}

#[test]
fn parts_merge_to_the_whole_in_any_order() {
    let whole = cells(0..5000);
    let parts = || [cells(0..10), cells(10..4000), cells(4000..5000)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let parts = parts();
        let mut merged = Cells::default();
        order.into_iter().for_each(|i| merged.merge(&parts[i]));
        assert_eq!(merged.times.shift, whole.times.shift);
        assert_eq!(merged.times.bins, whole.times.bins);
        assert_eq!(merged.addresses, whole.addresses);
        assert_eq!(merged.connections, whole.connections);
    }
    assert!(whole.times.bins.len() <= MOST_BINS);
}

#[test]
fn blocks_have_about_as_many_connections_each() {
    let blocks = cells(0..5000).times.blocks(16);
    assert_eq!(blocks.len(), 16);
    assert!(blocks.iter().all(|block| (200..430).contains(&block.connections)), "{blocks:?}");
    assert_eq!(blocks.iter().map(|block| block.connections).sum::<u64>(), 5000);
    // All at once, and none.
    let mut once = Cells::default();
    (0..9).for_each(|n| once.add(Place { at: Instant::ZERO, ..place(n) }, &Sums { connections: 1, ..Sums::default() }));
    assert_eq!(once.times.blocks(16).len(), 1);
    assert_eq!(TimeBins::default().blocks(16), Vec::new());
}
