//! Two endpoints on a network that does anything: no panic, a sound sender after every step, output
//! bounded by the window; and as long as no segment is forged but such as lie beyond the window,
//! every byte comes through once.

#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use recoup_fuzz::network::{AnyHost, Network, Step};

#[derive(Arbitrary, Debug)]
struct Input {
    client: AnyHost,
    server: AnyHost,
    /// How often all that is under way arrives before anything else happens.
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
