//! Decodes any bytes as a packet. Nothing panics, and encoding and decoding the result changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_wire::{Payload, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let decoded = match decode(bytes) {
        Ok(decoded) => decoded,
        Err(error) => {
            assert!(!error.to_string().contains('\n'));
            return;
        }
    };
    let _ = format!("{} {}", decoded.endpoints, decoded.segment);
    assert!(decoded.payload.end <= bytes.len());
    let payload = &bytes[decoded.payload.clone()];
    assert!(payload.len() <= decoded.segment.payload_len as usize);

    // The captured part as a packet of its own.
    let mut segment = decoded.segment;
    segment.payload_len = payload.len() as u32;
    // Another encoder may pack options more tightly.
    let fit = segment.options.sack_blocks_that_fit();
    segment.options.sack = segment.options.sack.iter().take(fit).collect();
    let mut packet = Vec::new();
    let id = decoded.ip_id.unwrap_or_default();
    let payload = Payload::Bytes(payload);
    if encode(&segment, &decoded.endpoints, id, payload, &mut packet).is_err() {
        // Only near 64 KiB, other options leave another payload length.
        assert!(bytes.len() > 60_000);
        return;
    }
    let again = decode(&packet).expect("what we wrote");
    assert_eq!(again.segment, segment);
    assert_eq!((again.endpoints, again.ip_id), (decoded.endpoints, decoded.ip_id));
    assert!(again.ip_checksum_ok && again.options_complete);
    let Payload::Bytes(bytes) = payload else {
        return;
    };
    assert_eq!(&packet[again.payload], bytes);
});
