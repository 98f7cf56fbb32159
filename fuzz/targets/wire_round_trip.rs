//! Encodes and decodes any segment. The result is the same, or the encoder refuses it and writes nothing.

#![no_main]

use libfuzzer_sys::{
    arbitrary::{self, Arbitrary},
    fuzz_target,
};
use recoup_fuzz::AnySegment;
use recoup_wire::{Checksum, Endpoints, Options, Payload, Segment, decode, encode, ip_len};
use std::net::SocketAddr;

#[derive(Arbitrary, Debug)]
enum Address {
    V4([u8; 4], u16),
    V6([u8; 16], u16),
}

#[derive(Arbitrary, Debug)]
struct Input {
    src: Address,
    dst: Address,
    ip_id: u16,
    fill: u8,
    segment: AnySegment,
}

impl From<&Address> for SocketAddr {
    fn from(address: &Address) -> Self {
        match *address {
            Address::V4(ip, port) => (ip, port).into(),
            Address::V6(ip, port) => (ip, port).into(),
        }
    }
}

fuzz_target!(|input: Input| {
    let mut segment = Segment::from(&input.segment);
    let endpoints = Endpoints { src: (&input.src).into(), dst: (&input.dst).into() };
    let mut packet = vec![7];
    let payload = Payload::Fill(input.fill);
    if let Err(error) = encode(&segment, &endpoints, input.ip_id, payload, &mut packet) {
        assert!(!error.to_string().contains('\n'));
        assert_eq!(packet, [7], "something was written");
        return;
    }
    let packet = &packet[1..];
    let decoded = decode(packet).expect("what we wrote");
    // A header cannot hold more SACK blocks than fit, nor a scale above the maximum.
    let fit = segment.options.sack_blocks_that_fit();
    segment.options.sack = segment.options.sack.iter().take(fit).collect();
    let scale = segment.options.window_scale;
    segment.options.window_scale = scale.map(|s| s.min(Options::MAX_WINDOW_SCALE));
    assert_eq!(decoded.segment, segment);
    assert_eq!(decoded.endpoints, endpoints);
    assert_eq!(decoded.tcp_checksum, Checksum::Correct);
    assert!(decoded.ip_checksum_ok && decoded.options_complete);
    let version = endpoints.ip_version().expect("it was written");
    assert_eq!(packet.len(), ip_len(&segment, version) as usize);
    let carried = &packet[decoded.payload];
    assert_eq!(carried.len(), segment.payload_len as usize);
    assert!(carried.iter().all(|byte| *byte == input.fill));
});
