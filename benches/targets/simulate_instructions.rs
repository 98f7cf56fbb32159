//! Counts the instructions of simulated flows with callgrind: both endpoints, the path and the event loop. The counts
//! do not depend on the load of the machine.
//!
//! Divide by the data segments sent to get the cost of a segment:
//!
//! | case | data segments sent |
//! | --- | --- |
//! | `tail_loss`, a hundred flows | 1,300 |
//! | `long`, 3,000 segments | 3,040 |
//! | `long`, 30,000 segments | 30,436 |
//! | `dumbbell`, 100 pairs | 31,284 |
//! | `dumbbell`, 1,000 pairs | 84,700 |

// The macros generate items without documentation.
#![allow(missing_docs)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use recoup_benches::simulated::{self, Flows};
use std::hint::black_box;

/// How many flows one case of `tail_loss` runs.
const FLOWS: u64 = 100;

/// Flows that need not allocate, because the same number of them ran before.
fn warm(mut flows: Flows) -> Flows {
    flows.run(0);
    flows
}

#[library_benchmark]
#[bench::linux_3_17(warm(Flows::tail_loss("linux-3.17")))]
#[bench::linux_3_17_tlpr(warm(Flows::tail_loss("linux-3.17+tlpr")))]
#[bench::linux_6(warm(Flows::tail_loss("linux-6")))]
fn tail_loss(mut flows: Flows) -> (u64, Flows) {
    let sent = (1..=FLOWS).map(|flow| flows.run(black_box(flow)).segments_sent).sum();
    (sent, flows)
}

#[library_benchmark]
#[bench::segments_3_000(warm(Flows::long(3_000)))]
#[bench::segments_30_000(warm(Flows::long(30_000)))]
fn long(mut flows: Flows) -> (u64, Flows) {
    (flows.run(black_box(0)).segments_sent, flows)
}

#[library_benchmark]
#[bench::pairs_100(100)]
#[bench::pairs_1_000(1_000)]
fn dumbbell(pairs: usize) -> u64 {
    simulated::dumbbell(black_box(pairs), 10)
}

library_benchmark_group!(name = simulations, benchmarks = [tail_loss, long, dumbbell]);
main!(library_benchmark_groups = simulations);
