//! Measures the simulation of long flows: 1 % of their segments are lost, the RTT is 40 ms.
//!
//! Criterion's throughput counts data segments sent. The cost per segment must not depend on the length.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recoup_benches::simulated::Flows;

fn long_flow(c: &mut Criterion) {
    let mut group = c.benchmark_group("long_flow");
    group.sample_size(10);
    for segments in [10_000, 100_000, 300_000] {
        let mut flows = Flows::long(segments);
        group.throughput(Throughput::Elements(flows.run(0).segments_sent));
        group.bench_function(format!("{segments}"), |b| b.iter(|| flows.run(0)));
    }
    group.finish();
}

criterion_group!(benches, long_flow);
criterion_main!(benches);
