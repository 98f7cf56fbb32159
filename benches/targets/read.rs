//! Speed of reading in packets per second: captures of 96 bytes per packet, from memory and,
//! with decompression on a thread, from a file.

// The macros generate items without documentation.
#![allow(missing_docs)]

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use recoup_benches::made;
use recoup_trace::read::{PacketSource, Reader};
use std::{hint::black_box, io::Write, path::Path};

const PACKETS: u32 = 300_000;

fn drain(mut reader: Reader<'_>) {
    let mut bytes = 0;
    while let Some(packet) = reader.next() {
        bytes += u64::from(packet.segment.payload_len) + packet.at.as_nanos();
    }
    assert_eq!(reader.counts().packets, u64::from(PACKETS));
    black_box(bytes);
}

fn from_memory(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, file: &[u8]) {
    group.bench_function(name, |b| {
        b.iter(|| drain(Reader::new("memory", black_box(file)).expect("a capture")));
    });
}

fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Elements(PACKETS.into()));
    let classic = made::classic(PACKETS, false);
    from_memory(&mut group, "pcap", &classic);
    from_memory(&mut group, "pcap, IPv6", &made::classic(PACKETS, true));
    from_memory(&mut group, "pcapng", &made::sections(PACKETS));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&classic).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let zstd = zstd::encode_all(&classic[..], 3).expect("memory");
    let files = [("file", &classic), ("file, gzip", &gzip), ("file, zstd", &zstd)];
    for (name, bytes) in files {
        let path = folder.join("capture");
        std::fs::write(&path, bytes).expect("a file");
        group.bench_function(name, |b| {
            b.iter(|| drain(Reader::open(&path).expect("a capture")));
        });
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
