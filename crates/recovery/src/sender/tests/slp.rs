//! Selective loss prevention (2021 paper §II-C). With an RTT of 80 ms the RTO is 280 ms and a copy
//! follows 10 ms after its original; where nothing else is said, what is asked for is always worth one.

mod arbitrator;
mod pacing;
mod reports;
mod window;

use super::super::*;
use super::network::{Fate, Network, copying};
use super::script::{MSS, Script, segments};
use crate::ack::Ack;
use crate::profile::Profile;
use crate::slp::{Kind, Likelihoods, LossRate, SlpRules};
use crate::undo::Proof;
use recoup_units::{BitRate, Ppm};

/// Connected at 80 ms; segments of these kinds are worth a copy.
fn flow(profile: &str, kinds: &[Kind]) -> Script {
    let mut flow = Script::copying(profile, Trigger::Syn, |rules| *rules = copying(kinds));
    if kinds.contains(&Kind::Syn) {
        return flow;
    }
    flow.opens(80);
    flow
}

/// A connection that copies the last segment of each write.
fn pushing(profile: &str) -> Script {
    flow(profile, &[Kind::Psh])
}

/// The paper's q for data alone.
fn push_only() -> Likelihoods {
    Likelihoods::default().with(Kind::Psh, Ppm::percent(10))
}

/// Segments 1 to 9 left at 80 ms, a copy of `n`, which ends a write, at 90 ms.
fn nine_and_a_copy(profile: &str, n: u64) -> Script {
    let mut flow = pushing(profile);
    flow.writes(n).writes(9 - n).sends("1-9");
    flow.expires(Timer::Copy, 90).sends(&format!("copy {n}"));
    flow
}

fn bits(per_second: u64) -> BitRate {
    BitRate::from_bits_per_second(per_second).unwrap()
}
