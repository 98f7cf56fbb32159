//! The claims of §4.3 (3) that figure 4 decides: what PRR banks while the application stalls.
//!
//! The paper does not give the time of the second write. So each claim is checked with a write at every millisecond of recovery.

use super::Id;
use super::cell::{Acks, Scheme, run_cell};
use super::finding::list;
use super::trace::Step;
use crate::prelude::*;
use std::fmt::Write as _;

/// RecoverFS: the flight of figure 4.
const RECOVER_FS: u32 = 20;

/// The writes tried, in ms after the first one.
const WRITES: std::ops::Range<u32> = 115..260;

/// A write in recovery.
struct Release {
    /// The time of the write, in ms.
    at: u32,
    /// Segments sent on the write.
    sent: u32,
    /// Segments sent on each later ACK of recovery.
    later: Vec<u32>,
    /// `prr_delivered` and `prr_out` before the write.
    delivered: u32,
    out: u32,
    ssthresh: u32,
    /// Whether pipe was above ssthresh, so that PRR's proportional part applied.
    proportional: bool,
}

impl Release {
    /// prr_delivered − prr_out.
    fn behind(&self) -> u32 {
        self.delivered.saturating_sub(self.out)
    }

    /// Segments that the proportional part has banked: ⌈prr_delivered · ssthresh / RecoverFS⌉ − prr_out.
    fn banked(&self) -> u32 {
        let due = (self.delivered * self.ssthresh).div_ceil(RECOVER_FS);
        due.saturating_sub(self.out)
    }

    /// Whether it sends at most ratio · (prr_delivered − prr_out), ratio being ssthresh / RecoverFS.
    fn keeps_to_ratio(&self) -> bool {
        self.sent * RECOVER_FS <= self.behind() * self.ssthresh
    }
}

/// Runs figure 4 with the second write at every millisecond of recovery, with an ACK per segment.
fn releases(setup: &Setup, scheme: Scheme) -> Result<Vec<Release>> {
    let mut releases = vec![];
    for at in WRITES {
        let (cell, _) =
            run_cell(setup, scheme, Acks::Quick, &format!("drop={} writes=20kB@0,10kB@{at}ms", Id::Fig4.drop()))?;
        let Some(write) = cell.recovery(false).next() else {
            continue;
        };
        let before = || cell.recovery(true).filter(|step| step.at_ms < write.at_ms);
        let later = cell.recovery(true).filter(|step| step.at_ms > write.at_ms);
        // Each ACK delivers one segment.
        let (delivered, out) = before().fold((0, 0), |(d, out), step| (d + 1, out + step.sent()));
        releases.push(Release {
            at,
            sent: write.sent(),
            later: later.map(Step::sent).collect(),
            delivered,
            out,
            ssthresh: write.ssthresh,
            proportional: before().last().is_some_and(|step| step.pipe > step.ssthresh),
        });
    }
    Ok(releases)
}

/// The burst on a write at every millisecond, if nothing is lost.
fn without_loss(setup: &Setup) -> Result<Vec<(u32, u32)>> {
    let mut bursts = vec![];
    for at in WRITES {
        let (cell, _) = run_cell(setup, Scheme::Prr, Acks::Quick, &format!("drop=none writes=20kB@0,10kB@{at}ms"))?;
        let mut steps = cell.steps.iter();
        let write = steps.find(|step| !step.on_ack && step.at_ms > 0.0 && step.sent() > 0);
        bursts.extend(write.map(|write| (at, write.sent())));
    }
    Ok(bursts)
}

/// Checks the claims that figure 4 decides.
pub fn claims(setup: &Setup) -> Result<Vec<Claim>> {
    let prr = releases(setup, Scheme::Prr)?;
    let rfc = releases(setup, Scheme::Rfc3517)?;
    let linux = releases(setup, Scheme::Linux)?;
    Ok(vec![
        banks(&prr),
        at_most_three(&prr),
        then_spread(&prr),
        rfc_gap(&rfc),
        linux_banks_nothing(&linux),
        outside_recovery(&prr, &without_loss(setup)?),
    ])
}

fn proportional(releases: &[Release]) -> impl Iterator<Item = &Release> + Clone {
    releases.iter().filter(|release| release.proportional)
}

/// The burst by the time of the write.
fn by_time(releases: &[Release]) -> String {
    let mut text = String::from("the burst by the time of the write:");
    let mut last = None;
    for release in releases {
        if last != Some(release.sent) {
            let separator = if last.is_none() { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator} {} from {} ms on", release.sent, release.at);
        }
        last = Some(release.sent);
    }
    let slow_start = releases.iter().find(|release| !release.proportional);
    if let Some(release) = slow_start {
        let _ = write!(text, ". From {} ms on pipe is not above ssthresh, and the slow-start part applies", release.at);
    }
    text
}

fn banks(releases: &[Release]) -> Claim {
    let all = proportional(releases);
    let exact = all.clone().filter(|one| one.sent == one.banked()).count();
    let most = all.clone().map(|one| one.sent).max().unwrap_or(0);
    let all = all.count();
    claim!("banks-at-any-time", "{exact} of {all}; up to {most} segments").holds(exact == all && most > 1)
}

fn at_most_three(releases: &[Release]) -> Claim {
    let all = proportional(releases);
    let beyond = all.clone().filter(|one| !one.keeps_to_ratio()).count();
    let most = all.clone().map(|one| one.sent).max().unwrap_or(0);
    claim!("bank-at-most-three", "at most {most}; {beyond} of {} exceed the bound", all.count())
        .holds(beyond == 0 && most == 3)
        .note(by_time(releases))
}

fn then_spread(releases: &[Release]) -> Claim {
    let all = proportional(releases).filter(|one| one.sent > 0);
    let burst = all.clone().filter(|one| one.later.is_empty() || one.later.iter().any(|sent| *sent > 1));
    let example = all.clone().max_by_key(|one| one.sent);
    claim!(
        "then-spread",
        "{} of {}; after the largest burst {}",
        all.clone().count() - burst.clone().count(),
        all.clone().count(),
        example.map_or(String::new(), |one| list(&one.later))
    )
    .holds(burst.count() == 0 && all.count() > 0)
}

fn rfc_gap(releases: &[Release]) -> Claim {
    let bursts = releases.iter().filter(|one| one.sent > 0);
    let most = bursts.clone().map(|one| one.sent).max().unwrap_or(0);
    claim!("rfc3517-banks-gap", "up to {most} segments, some in {} of {} writes", bursts.count(), releases.len())
        .holds(most > 1)
}

fn linux_banks_nothing(releases: &[Release]) -> Claim {
    let most = releases.iter().map(|one| one.sent).max().unwrap_or(0);
    claim!("linux-banks-nothing", "at most {most} on {} writes", releases.len())
        .holds(most <= 1 && !releases.is_empty())
}

fn outside_recovery(releases: &[Release], without_loss: &[(u32, u32)]) -> Claim {
    let pairs = releases.iter().filter_map(|inside| {
        without_loss.iter().find(|(at, _)| *at == inside.at).map(|(_, sent)| (inside.sent, *sent))
    });
    let larger = pairs.clone().filter(|(inside, outside)| inside > outside);
    let most = pairs.clone().map(|(_, outside)| outside).max().unwrap_or(0);
    let (larger, all) = (larger.count(), pairs.count());
    claim!("same-burst-outside-recovery", "fewer in {larger} of {all} writes; up to {most} segments")
        .holds(larger == 0 && all > 0)
}
