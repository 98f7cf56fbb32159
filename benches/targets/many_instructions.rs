//! Counts the instructions of 10,000 requests and answers over 10, 1,000 or 100,000 connections in turn, with callgrind. They
//! should hardly depend on the number of connections. The bench `many` measures the time, which depends on it more: connections
//! that were long idle are no longer in the processor's caches.

// The macros generate items without documentation.
#![allow(missing_docs)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use recoup_benches::many::Many;

#[library_benchmark]
#[bench::connections_10(Many::new(10, 10_000))]
#[bench::connections_1000(Many::new(1_000, 10_000))]
#[bench::connections_100000(Many::new(100_000, 10_000))]
fn requests(mut many: Many) -> (u64, Many) {
    (many.run(), many)
}

library_benchmark_group!(name = connections, benchmarks = requests);
main!(library_benchmark_groups = connections);
