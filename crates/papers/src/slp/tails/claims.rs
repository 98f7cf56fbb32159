//! Our claims on tails, SYNs and SYN-ACKs: they follow from the paper's window rule and arbitrator.

use super::cell::run;
use super::{Case, PROFILES, RTTS, TailCell};
use crate::prelude::*;
use crate::slp::micro;
use crate::tail_loss::Acks;

/// The gap before the first RTT sample, in ms.
const FIRST_GAP_MS: f64 = 5.0;

/// The `slp.gap` setting: an eighth of SRTT.
const GAP: f64 = 0.125;

/// The profiles without SLP: no mechanism, RTOR, TLP and TLPR.
const WITHOUT: &[&str] = &[PROFILES[0], PROFILES[1], PROFILES[2], PROFILES[3]];
const TLPR: &str = PROFILES[3];
const SLP: &str = PROFILES[4];
const BOTH: &str = PROFILES[5];

/// The cells, found by their settings.
type Cells<'a> = Grid<'a, TailCell>;

impl Cells<'_> {
    fn get(&self, case: Case, acks: Acks, rtt_ms: u64, profile: &'static str) -> &TailCell {
        self.at((case, acks.name(), rtt_ms, profile))
    }

    fn fct(&self, case: Case, acks: Acks, rtt_ms: u64, profile: &'static str) -> f64 {
        self.get(case, acks, rtt_ms, profile).fct_ms.unwrap_or(NAN)
    }
}

/// Evaluates a condition for every receiver and RTT of some cases: the number of groups in which it
/// holds, as text, and whether it holds in all.
fn over(cases: &[Case], holds: impl Fn(Case, Acks, u64) -> bool) -> (String, bool) {
    let groups = cases
        .iter()
        .flat_map(|case| case.receivers().iter().map(move |acks| (*case, *acks)))
        .flat_map(|(case, acks)| RTTS.map(|rtt_ms| (case, acks, rtt_ms)));
    let all: Vec<bool> = groups.map(|(case, acks, rtt_ms)| holds(case, acks, rtt_ms)).collect();
    let count = all.iter().filter(|holds| **holds).count();
    (format!("{count} of {} groups", all.len()), count == all.len() && count > 0)
}

/// Checks the claims.
pub fn all(cells: &[TailCell], setup: &Setup) -> Result<Vec<Claim>> {
    let c = Cells::new(cells);
    Ok(vec![
        first_window(setup)?,
        longer_flows(setup)?,
        claim("withheld-is-no-help").result(over(&[Case::Tail10], |case, acks, rtt_ms| {
            [(SLP, PROFILES[0]), (BOTH, TLPR)].iter().all(|(with, without)| {
                let ours = c.get(case, acks, rtt_ms, with);
                let theirs = c.get(case, acks, rtt_ms, without);
                (ours.copies, ours.withheld) == (0, 1) && (ours.fct_ms, ours.bytes) == (theirs.fct_ms, theirs.bytes)
            })
        })),
        costs_the_gap(&c, setup)?,
        claim("lost-original-pays").result(over(&[Case::Tail8], |case, acks, rtt_ms| {
            let bytes = |profile| c.get(case, acks, rtt_ms, profile).bytes;
            bytes(SLP) <= bytes(PROFILES[0])
        })),
        worth_from(setup)?,
        claim("defaults-pass-tails-by").result(over(&[Case::Default8, Case::Default10], |case, acks, rtt_ms| {
            let ours = c.get(case, acks, rtt_ms, SLP);
            let theirs = c.get(case, acks, rtt_ms, PROFILES[0]);
            let (copied, withheld) = (ours.copied_data(), ours.withheld);
            match (rtt_ms, case) {
                (320, Case::Default8) => copied && ours.fct_ms < theirs.fct_ms,
                (320, _) => !copied && withheld == 1 && ours.fct_ms == theirs.fct_ms,
                _ => !copied && withheld == 0 && ours.fct_ms == theirs.fct_ms,
            }
        })),
        handshake(&c, setup)?,
        claim("handshake-none-other").result(over(&[Case::Syn, Case::SynAck], |case, acks, rtt_ms| {
            let fct = |profile| c.fct(case, acks, rtt_ms, profile);
            WITHOUT.iter().all(|profile| same(fct(profile), fct(PROFILES[0])))
        })),
        claim("together-the-best").result(over(&Case::ALL, |case, acks, rtt_ms| {
            let fct = |profile| c.fct(case, acks, rtt_ms, profile);
            let best = PROFILES.map(fct).into_iter().fold(f64::INFINITY, f64::min);
            same(fct(BOTH), fct(TLPR).min(fct(SLP))) && same(fct(BOTH), best)
        })),
        syn_copy(&c),
    ])
}

/// Runs flows of these lengths without loss: the lengths whose tail is copied, and the number of other
/// flows with a withheld copy.
fn tails_copied(segments: RangeInclusive<u64>, ack: &str, setup: &Setup) -> Result<(Vec<u64>, u64)> {
    let (mut copied, mut withheld) = (Vec::new(), 0);
    for n in segments {
        let counters =
            micro::run(setup, SLP, &format!("segments={n} drop=none ack={ack} slp.q=tail:1"))?.record.counters;
        if counters.copies > 0 {
            copied.push(n);
        }
        withheld += u64::from(counters.copies == 0 && counters.copies_withheld > 0);
    }
    Ok((copied, withheld))
}

fn first_window(setup: &Setup) -> Result<Claim> {
    let (copied, withheld) = tails_copied(1..=10, "quick", setup)?;
    let expected: Vec<u64> = (1..=8).collect();
    let written = copied.iter().map(u64::to_string);

    Ok(claim!("last-two-of-a-window", "copied with {}; withheld in {withheld}", written.joined(", "))
        .holds(copied == expected && withheld == 2))
}

fn longer_flows(setup: &Setup) -> Result<Claim> {
    const LENGTHS: RangeInclusive<u64> = 11..=200;
    let acks = if setup.is_mutated("delayed-acks") { "delayed:200ms" } else { "quick" };
    let (quick, withheld) = tails_copied(LENGTHS, acks, setup)?;
    let all = LENGTHS.count();
    let (delayed, _) = tails_copied(LENGTHS, "delayed:200ms", setup)?;
    let (linux, _) = tails_copied(LENGTHS, "linux", setup)?;

    Ok(claim!("tail-behind-a-full-window", "copied in {} of {all}, withheld in {withheld}", quick.len())
        .holds(quick.is_empty())
        .fill(&[&(all as u64 - withheld - quick.len() as u64), &delayed.len(), &all, &linux.len()]))
}

fn costs_the_gap(c: &Cells<'_>, setup: &Setup) -> Result<Claim> {
    let mut lossless = Vec::new();
    for rtt_ms in RTTS {
        let flow = run(setup, Case::Tail8, Acks::Quick, rtt_ms, SLP, "drop=none")?;
        lossless.push((rtt_ms, flow.fct_ms.unwrap_or(NAN)));
    }
    let without_loss = |rtt_ms| lossless.iter().find(|(rtt, _)| *rtt == rtt_ms).map_or(NAN, |(_, fct)| *fct);
    let at = |rtt_ms| c.fct(Case::Tail8, Acks::Quick, rtt_ms, SLP);
    let (groups, holds) = over(&[Case::Tail8], |case, acks, rtt_ms| {
        let expected = without_loss(rtt_ms) + GAP * rtt_ms as f64;
        [SLP, BOTH].iter().all(|profile| {
            let cell = c.get(case, acks, rtt_ms, profile);
            same(cell.fct_ms.unwrap_or(NAN), expected) && cell.retransmissions == 0
        })
    });
    let fcts = RTTS.map(|rtt_ms| format!("{} (without loss {})", at(rtt_ms), without_loss(rtt_ms)));
    Ok(claim!("costs-the-gap", "{groups}: {} ms", fcts.join(", ")).holds(holds))
}

fn worth_from(setup: &Setup) -> Result<Claim> {
    const RTTS_TRIED: RangeInclusive<u64> = 100..=300;
    // After the handshake RTO = RTT + max(200 ms, 2·RTT); the arbitrator's threshold is 588 ms.
    const FIRST: u64 = 196;
    let mut copied = Vec::new();
    for rtt_ms in RTTS_TRIED {
        let cell = run(setup, Case::Default8, Acks::Quick, rtt_ms, SLP, "")?;
        if cell.copied_data() {
            copied.push(rtt_ms);
        }
    }
    let expected: Vec<u64> = (FIRST..=*RTTS_TRIED.end()).collect();
    Ok(claim("full-segment-worth-from")
        .shows(copied.first().map_or("never".into(), |rtt_ms| {
            format!("from {rtt_ms} ms on, at {} of {} RTTs", copied.len(), RTTS_TRIED.count())
        }))
        .holds(copied == expected))
}

fn handshake(c: &Cells<'_>, setup: &Setup) -> Result<Claim> {
    let cases = [Case::Syn, Case::SynAck];
    let mut lossless = Vec::new();
    for rtt_ms in RTTS {
        let flow = run(setup, Case::Syn, Acks::Quick, rtt_ms, PROFILES[0], "drop=none")?;
        lossless.push((rtt_ms, flow.fct_ms.unwrap_or(NAN)));
    }
    let delay = |case, rtt_ms, profile: &'static str| {
        let found = lossless.iter().find(|(rtt, _)| *rtt == rtt_ms);
        c.fct(case, Acks::Quick, rtt_ms, profile) - found.map_or(NAN, |(_, fct)| *fct)
    };
    let delays = cases.map(|case| {
        let [without, with] = [PROFILES[0], SLP].map(|profile| delay(case, RTTS[1], profile));
        format!("{} costs {with} ms (without SLP {without})", case.name())
    });
    let (groups, holds) = over(&cases, |case, _, rtt_ms| {
        [SLP, BOTH].iter().all(|profile| same(delay(case, rtt_ms, profile), FIRST_GAP_MS))
            && delay(case, rtt_ms, PROFILES[0]) >= 1000.0 - 1e-3
    });
    Ok(claim!("handshake-costs-the-gap", "{groups}; at 80 ms: {}", delays.join(", ")).holds(holds))
}

/// The paper's own claim among these.
fn syn_copy(c: &Cells<'_>) -> Claim {
    let fct = |rtt_ms, profile| c.fct(Case::Syn, Acks::Quick, rtt_ms, profile);
    let shown = RTTS.map(|rtt_ms| {
        let [with, without] = [SLP, PROFILES[0]].map(|profile| fct(rtt_ms, profile));
        format!("{with} instead of {without} ms")
    });
    let shorter = RTTS.map(|rtt_ms| fct(rtt_ms, PROFILES[0]) - fct(rtt_ms, SLP) > 900.0);
    claim("syn-copy-shortens-setup").shows(shown.join(", ")).holds(shorter.iter().all(|shorter| *shorter))
}
