//! Measures the world of the scenario `dumbbell`: pairs of hosts share one bottleneck (see
//! [`dumbbell`](recoup_benches::simulated::dumbbell)). The first cases differ in the number of pairs, the others in the
//! length of flows. The group `link_rate` measures single flows over a link of 10 Mbit/s for comparison.
//!
//! Criterion's throughput counts data segments sent, so its time per element is the cost per segment, with
//! handshakes, closes and ACKs included.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use recoup_benches::simulated::{self, Flows};

fn dumbbell(c: &mut Criterion) {
    let mut group = c.benchmark_group("dumbbell");
    group.sample_size(10);
    let by_pairs = [10, 100, 1000].map(|pairs| (pairs, 10));
    let by_length = [1, 100, 1000].map(|segments| (100, segments));
    for (pairs, segments) in by_pairs.into_iter().chain(by_length) {
        group.throughput(Throughput::Elements(simulated::dumbbell(pairs, segments)));
        let id = BenchmarkId::new(format!("{pairs} pairs"), format!("{segments} segments"));
        group.bench_function(id, |b| b.iter(|| simulated::dumbbell(pairs, segments)));
    }
    group.finish();
}

/// Single flows over a link with a rate, one after another.
fn link_rate(c: &mut Criterion) {
    let mut group = c.benchmark_group("link_rate");
    for segments in [10, 100, 1000] {
        let mut flows = Flows::over_link(segments);
        let mut flow = 0;
        group.throughput(Throughput::Elements(flows.run(0).segments_sent));
        group.bench_function(format!("{segments} segments"), |b| {
            b.iter(|| {
                flow += 1;
                flows.run(flow)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, dumbbell, link_rate);
criterion_main!(benches);
