//! Stacks that read the clock themselves, the kernel's among them: over the emulator, in real time, with the same hops.
//!
//! The path makes the same random choices for the same seed, but when packets leave is up to the machine. So a run cannot be
//! repeated exactly, and it is known only when the data arrived.

use super::{
    case::{Case, Chosen},
    trial::Trial,
};
use crate::{
    network::Network,
    process::SenderProcess,
    receiver::{connect, read_answer},
    senders::{Options, Sender},
};
use recoup_path::{DropRules, HopSpec};
use recoup_units::Direction;
use std::time::Instant;

/// The payload of a full segment, with timestamps in the TCP header or without, is at least this long (bytes).
const SEGMENT: u64 = 1448;

/// Runs `sender` in one case.
///
/// # Errors
/// In one line: what this machine lacks.
pub fn run(sender: Sender, case: Case, seed: u64) -> Result<Trial, String> {
    let mut path = case.path()?;
    if let Chosen::Last(count) = case.chosen() {
        let segments = case.response().div_ceil(SEGMENT);
        let rule = format!("data:{}-{segments}", segments + 1 - count as u64);
        let rules: DropRules = rule.parse().map_err(|error| format!("{error}"))?;
        let hops: Vec<HopSpec> = rules.hops(Direction::Down).collect();
        path.down.splice(0..0, hops);
    }
    let in_words = |error: crate::senders::Failed| error.to_string();
    let network = Network::with_hops(&path.down, &path.up, seed).map_err(in_words)?;
    let process = SenderProcess::start(&network, sender, Options::PLAIN).map_err(in_words)?;
    let (to, response) = (process.address, case.response());
    let flow = move || {
        let began = Instant::now();
        read_answer(&mut connect(to)?, response)?;
        Ok::<_, crate::senders::Failed>(began.elapsed())
    };
    let took = network.run_at_receiver(flow).map_err(in_words)?;
    // A sender that is silent for long is stuck, which is a result.
    let completion = took.ok().map(|took| took.as_secs_f64() * 1e3);
    Ok(Trial { completion, ..Trial::default() })
}
