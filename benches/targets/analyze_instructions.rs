//! The instructions of an analysis on one thread, counted by callgrind. They do not depend on the
//! load of the machine. Divide by the 20,000 packets.

// The macros generate items without documentation.
#![allow(missing_docs)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use recoup_benches::traffic::{Traffic, records};
use recoup_trace::{
    analyze::{Kept, Settings, analyze},
    read::Reader,
};
use std::{
    hint::black_box,
    io::{BufReader, Cursor},
};

const PACKETS: u64 = 20_000;

/// The first packets of this many connections.
fn capture(connections: u64) -> Vec<u8> {
    let mut file = Vec::new();
    let made = Traffic::new(1, connections).capture(&mut file);
    made.expect("memory");
    let (packets, bytes) = records(BufReader::new(Cursor::new(&file)), PACKETS).expect("a capture");
    assert_eq!(packets, PACKETS);
    file.truncate(bytes as usize);
    file
}

#[library_benchmark]
#[bench::traffic(capture(500))]
fn analyzed(file: Vec<u8>) -> (Vec<u8>, Vec<Kept>) {
    let reader = Reader::new("memory", black_box(&file[..])).expect("a capture");
    let settings = Settings { threads: 0, ..Settings::default() };
    let found = analyze(reader, &settings, Kept::default, |_| true);
    let found = found.expect("a capture").findings;
    (file, found)
}

library_benchmark_group!(name = captures, benchmarks = analyzed);
main!(library_benchmark_groups = captures);
