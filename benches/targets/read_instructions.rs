//! The instructions of reading, counted by callgrind. They do not depend on the load of the
//! machine. Divide by the 10,000 packets.

// The macros generate items without documentation.
#![allow(missing_docs)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use recoup_benches::made;
use recoup_trace::read::Reader;
use std::hint::black_box;

const PACKETS: u32 = 10_000;

#[library_benchmark]
#[bench::pcap(made::classic(PACKETS, false))]
#[bench::pcap_v6(made::classic(PACKETS, true))]
#[bench::pcapng(made::sections(PACKETS))]
fn read(file: Vec<u8>) -> (Vec<u8>, u64) {
    let mut reader = Reader::new("memory", black_box(&file[..])).expect("a capture");
    let mut bytes = 0;
    while let Some(packet) = reader.next() {
        bytes += u64::from(packet.segment.payload_len);
    }
    drop(reader);
    (file, bytes)
}

library_benchmark_group!(name = captures, benchmarks = read);
main!(library_benchmark_groups = captures);
