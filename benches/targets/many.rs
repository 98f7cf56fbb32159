//! The time of requests and answers over 10, 1,000 or 100,000 connections in turn, per packet. The bench `many_instructions`
//! counts the instructions.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use recoup_benches::many::Many;

fn many(c: &mut Criterion) {
    let mut group = c.benchmark_group("many");
    group.sample_size(10);
    for connections in [10, 1_000, 100_000] {
        let exchanges = 100_000;
        group.throughput(Throughput::Elements(Many::new(connections, exchanges).run()));
        group.bench_function(format!("{connections} connections"), |b| {
            let make = || Many::new(connections, exchanges);
            b.iter_batched_ref(make, Many::run, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, many);
criterion_main!(benches);
