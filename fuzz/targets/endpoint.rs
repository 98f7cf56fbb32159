//! Two endpoints on a network that does anything. Nothing panics, the sender's state is consistent after
//! every step, and the window bounds the output. If all forged segments are outside the window, every byte
//! arrives exactly once.

#![no_main]

use libfuzzer_sys::{
    arbitrary::{self, Arbitrary},
    fuzz_target,
};
use recoup_fuzz::network::{AnyHost, Network, Step};

#[derive(Arbitrary, Debug)]
struct Input {
    client: AnyHost,
    server: AnyHost,
    /// How often all segments in flight arrive before the first step.
    calm: u8,
    steps: Vec<Step>,
}

fuzz_target!(|input: Input| {
    let mut network = Network::new(&input.client, &input.server);
    network.exchange(input.calm);
    for step in input.steps.iter().take(300) {
        network.take(step);
    }
    network.finish();
});
