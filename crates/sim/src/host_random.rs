//! Random choices of hosts: each a function of (seed, flow, what it is for).

use recoup_units::FlowId;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// What a draw decides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    ClientIsn,
    ServerIsn,
    WheelPhase,
}

/// 64 uniform bits.
pub(crate) fn draw(seed: u64, flow: FlowId, purpose: Purpose) -> u64 {
    // Told apart from the path's draws by the second key ("hosts" in ASCII).
    let mut hasher = SipHasher13::new_with_keys(seed, 0x68_6f73_7473);
    hasher.write_u64(flow.0);
    hasher.write_u64(purpose as u64);
    hasher.finish()
}
