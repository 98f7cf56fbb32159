//! Hosts of the stack on a network where the fuzzer decides what happens to packets, links and applications. Every byte
//! arrives once and in order, every connection ends, memory stays within its bound.
//!
//! The network is that of the stack's own random tests: `crates/stack/tests/random`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_fuzz::stack::{Network, choices::Choices};

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::Bytes(bytes);
    Network::new(&mut choices).play(&mut choices, 60);
});
