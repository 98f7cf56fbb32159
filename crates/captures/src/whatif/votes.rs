//! Connections of a listener vote for its base: a few of them are rerun under every known profile.

use super::bases::Bases;
use super::candidates::{Listener, mixed};
use recoup_support::threads::in_parallel_with;
use recoup_whatif::{Recorded, Rerunner};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// So many connections of a listener vote at most, and so many of all listeners of a batch.
const MOST_VOTERS: usize = 16;
const MOST_VOTERS_OF_ALL: usize = 96;

/// A connection of a batch that retransmitted, so that it may vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Eligible {
    /// Its place in the batch.
    pub place: usize,
    pub listener: Listener,
    /// Its number in the capture.
    pub connection: u64,
}

/// A connection that votes.
pub(crate) type Voter<'a> = (Listener, &'a Arc<Recorded>);

/// The connections that vote: a sample of each listener that did not vote before, the same in each run.
pub(crate) fn voters(bases: &Bases, eligible: impl Iterator<Item = Eligible>) -> Vec<Eligible> {
    let mut of_listeners: BTreeMap<Listener, Vec<Eligible>> = BTreeMap::new();
    for one in eligible.filter(|one| bases.asks(&one.listener)) {
        of_listeners.entry(one.listener).or_default().push(one);
    }
    let voters = of_listeners.into_values().flat_map(|mut all| {
        all.sort_unstable_by_key(|one| mixed(one.connection));
        all.truncate(MOST_VOTERS);
        all
    });
    voters.take(MOST_VOTERS_OF_ALL).collect()
}

/// Has these connections say which profiles reproduce them.
pub(crate) fn take_votes(bases: &mut Bases, voters: &[Voter<'_>], threads: usize, goes_on: &(dyn Fn() -> bool + Sync)) {
    let vote = |rerunner: &mut Rerunner, i: usize| {
        let (listener, recorded) = voters[i];
        let goes_on = goes_on();
        let mut reproduces =
            |number| goes_on && rerunner.is_by_own_window(recorded, &bases.mechanisms(number, listener.0));
        Ok::<_, Infallible>((0..bases.known().len()).map(&mut reproduces).collect::<Vec<bool>>())
    };
    let Ok(ballots) = in_parallel_with(voters.len(), threads, Rerunner::new, vote);
    bases.take_votes(voters.iter().map(|(listener, _)| *listener).zip(ballots));
}
