//! A host of the stack with listeners, sockets and connections in all states, and IP packets of any kind to it: with
//! options, extension headers and fragments, TCP, UDP and ICMP, with correct checksums or not. Nothing panics, memory stays
//! within its bound, and answers are about as many and as large as packets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_fuzz::stack::{choices::Choices, stranger::meet};

fuzz_target!(|bytes: &[u8]| meet(&mut Choices::Bytes(bytes), 200));
