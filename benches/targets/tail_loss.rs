//! Measures the simulation of the tail-loss scenario: three of ten segments are lost, the RTT is 80 ms.
//! It runs on one thread without events, and includes endpoints, path and event loop.
//!
//! Criterion's throughput counts data segments sent, so its time per element is the cost per segment.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recoup_benches::simulated::Flows;

fn tail_loss(c: &mut Criterion) {
    let mut group = c.benchmark_group("tail_loss");
    for name in ["linux-3.17", "linux-3.17+rtor", "linux-3.17+tlp", "linux-3.17+tlpr"] {
        let mut flows = Flows::tail_loss(name);
        let mut flow = 0;
        group.throughput(Throughput::Elements(flows.run(0).segments_sent));
        group.bench_function(name, |b| {
            b.iter(|| {
                flow += 1;
                flows.run(flow)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, tail_loss);
criterion_main!(benches);
