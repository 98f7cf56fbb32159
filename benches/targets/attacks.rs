//! Cost of a packet under attack: the cost must not grow with the number of packets, and memory is
//! bounded.
//!
//! Each pattern is analyzed on one thread in two sizes, in processes of their own. The bench fails if a
//! packet of the larger capture costs much more than one of the smaller, or if a capture of two million
//! packets takes more than 350 MB. `RECOUP_BENCH_ATTACK` picks the patterns whose names contain it.

use recoup_benches::{
    attacks::{ATTACKS, Attack},
    measure,
};
use recoup_trace::{
    analyze::{Findings, Settings, follow},
    finding::{Closing, Connection, Retransmission, Revision},
};
use std::path::Path;

/// The cost of a packet may grow by this factor.
const MOST_GROWTH: f64 = 1.6;

/// And by this much, in ns: larger tables miss the caches.
const MOST_ADDED: f64 = 400.0;

/// The most memory, in kB.
const MOST_MEMORY: u64 = 350_000;

/// The numbers of packets.
struct Sizes {
    small: usize,
    large: usize,
    memory: usize,
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["case", case, _] => run(case),
        // `cargo bench` passes `--bench`. Without it, this is a test of the bench itself.
        _ if words.contains(&"--bench") => bench(&Sizes { small: 50_000, large: 400_000, memory: 2_000_000 }),
        _ => bench(&Sizes { small: 10_000, large: 40_000, memory: 40_000 }),
    }
}

/// Runs one case in this process: the number of the pattern, a colon, and the number of packets.
fn run(case: &str) {
    let (pattern, packets) = case.split_once(':').expect("two numbers");
    let pattern: usize = pattern.parse().expect("a number");
    let packets = packets.parse().expect("a number");
    measure::report(|| analyzed(ATTACKS[pattern], packets));
}

/// The processor time in ns, connections that were closed early, and retransmissions.
fn analyzed(attack: Attack, packets: usize) -> Vec<u64> {
    let settings = Settings { threads: 0, ..Settings::default() };
    let begun = measure::thread_time();
    attack.packets().take(packets).for_each(|packet| {
        std::hint::black_box(packet);
    });
    let made = measure::thread_time();
    let parts = follow(attack.packets().take(packets), &settings, Counted::default);
    let time = (measure::thread_time() - made).saturating_sub(made - begun);
    let sum = |count: fn(&Counted) -> u64| parts.iter().map(count).sum();
    vec![time.as_nanos() as u64, sum(|part| part.evicted), sum(|part| part.retransmissions)]
}

#[derive(Default)]
struct Counted {
    evicted: u64,
    retransmissions: u64,
}

impl Findings for Counted {
    fn connection(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.evicted += u64::from(connection.closing == Closing::Evicted);
        self.retransmissions += rows.len() as u64;
    }

    fn revision(&mut self, _: &Revision) {}
}

fn bench(sizes: &Sizes) {
    let picked = std::env::var("RECOUP_BENCH_ATTACK").unwrap_or_default();
    println!(
        "{:<42} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9}",
        "", "ns/pkt", "ns/pkt", "growth", "ns/MSS", "peak MB", "evicted"
    );
    let mut failures = Vec::new();
    for (number, attack) in ATTACKS.iter().enumerate() {
        if !attack.name.contains(&picked) {
            continue;
        }
        let case = |packets: usize| format!("{number}:{packets}");
        let nothing = Path::new("-");
        let [small, large] = [sizes.small, sizes.large].map(|packets| {
            let cost = measure::own(&case(packets), nothing);
            cost.counted[0] as f64 / packets as f64
        });
        let many = measure::once(&case(sizes.memory), nothing);
        println!(
            "{:<42} {small:>9.0} {large:>9.0} {:>7.2} {:>9.0} {:>9.1} {:>9}",
            attack.name,
            large / small,
            large / f64::from(attack.segments),
            many.peak as f64 / 1e3,
            many.counted[1]
        );
        if large > small * MOST_GROWTH + MOST_ADDED {
            failures.push(format!("{}: the cost of a packet grows", attack.name));
        }
        if many.peak > MOST_MEMORY {
            failures.push(format!("{}: takes {} kB", attack.name, many.peak));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
