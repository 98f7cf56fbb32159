//! Random choices of hosts: each is a function of (seed, flow, purpose).

use recoup_units::FlowId;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// The purpose of a random choice.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    ClientIsn,
    ServerIsn,
    WheelPhase,
    ServerPhase,
}

/// 64 uniformly distributed bits.
pub(crate) fn random_bits(seed: u64, flow: FlowId, purpose: Purpose) -> u64 {
    // The second key ("hosts" in ASCII) makes these choices independent of the path's.
    let mut hasher = SipHasher13::new_with_keys(seed, 0x68_6f73_7473);
    hasher.write_u64(flow.0);
    hasher.write_u64(purpose as u64);
    hasher.finish()
}
