//! Our claims on tails, SYNs and SYN-ACKs: they follow from the paper's window rule and arbitrator.

use super::cell::run;
use super::{Case, PROFILES, RTTS, TailCell};
use crate::claims::{Claim, claim, ours};
use crate::experiment::Setup;
use crate::grid::Grid;
use crate::same;
use crate::slp::micro;
use crate::tail_loss::Acks;
use recoup_lab::settings::SettingsError;
use std::ops::RangeInclusive;

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
        let cell = self.get(case, acks, rtt_ms, profile);
        cell.fct_ms.unwrap_or(f64::NAN)
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
pub fn all(cells: &[TailCell], setup: &Setup) -> Result<Vec<Claim>, SettingsError> {
    let c = Cells::new(cells);
    let all = [
        first_window(setup)?,
        longer_flows(setup)?,
        withheld(&c),
        costs_the_gap(&c, setup)?,
        no_extra_bytes(&c),
        worth_from(setup)?,
        defaults(&c),
        handshake(&c, setup)?,
        no_probe_for_a_handshake(&c),
        together(&c),
    ];
    let mut claims: Vec<Claim> = all.into_iter().map(ours).collect();
    claims.push(syn_copy(&c));
    Ok(claims)
}

/// Runs flows of these lengths without loss: the lengths whose tail is copied, and the number of other
/// flows with a withheld copy.
fn tails_copied(segments: RangeInclusive<u64>, ack: &str, setup: &Setup) -> Result<(Vec<u64>, u64), SettingsError> {
    let (mut copied, mut withheld) = (Vec::new(), 0);
    for n in segments {
        let length = n.to_string();
        let settings = [("segments", &*length), ("drop", "none"), ("ack", ack), ("slp.q", "tail:1")];
        let counters = micro::run(setup, SLP, &settings)?.record.counters;
        if counters.copies > 0 {
            copied.push(n);
        }
        withheld += u64::from(counters.copies == 0 && counters.copies_withheld > 0);
    }
    Ok((copied, withheld))
}

fn first_window(setup: &Setup) -> Result<Claim, SettingsError> {
    let (copied, withheld) = tails_copied(1..=10, "quick", setup)?;
    let expected: Vec<u64> = (1..=8).collect();
    let written: Vec<String> = copied.iter().map(u64::to_string).collect();
    let mut claim = claim(
        "last-two-of-a-window",
        "II-C2",
        "By the rule next + 2·size < high_acked + cwnd, SLP copies neither of the last two segments of a full window",
        "flows of 1 to 10 segments with a window of 10, q 1 for tails, no loss: SLP copies the tails of flows of 1 to 8 segments and withholds the copies for 9 and 10",
        (format!("copied with {}; withheld in {withheld}", written.join(", ")), copied == expected && withheld == 2),
    );
    claim.note = Some("with 9 segments the copy would just fill the window. The inequality is strict, so SLP withholds the ninth segment's copy too".into());
    Ok(claim)
}

fn longer_flows(setup: &Setup) -> Result<Claim, SettingsError> {
    const LENGTHS: RangeInclusive<u64> = 11..=200;
    let acks = match setup.is_mutated("delayed-acks") {
        true => "delayed:200ms",
        false => "quick",
    };
    let (quick, withheld) = tails_copied(LENGTHS, acks, setup)?;
    let all = LENGTHS.count();
    let (delayed, _) = tails_copied(LENGTHS, "delayed:200ms", setup)?;
    let (linux, _) = tails_copied(LENGTHS, "linux", setup)?;
    let mut claim = claim(
        "tail-behind-a-full-window",
        "II-C2",
        "With an ACK per segment SLP copies no tail of a longer transfer, because a segment that waited for an ACK is sent at the edge of the window",
        "flows of 11 to 200 segments written at once, q 1 for tails, an ACK per segment, RTT 80 ms, no loss: SLP copies no tail",
        (format!("copied in {} of {all}, withheld in {withheld}", quick.len()), quick.is_empty()),
    );
    claim.note = Some(format!(
        "for the other {} tails the arbitrator favours no copy: when they are sent, only the first window has been measured, 10 segments in 80 ms, and at this rate a copy takes longer than p·RTO. An ACK that covers several segments makes room for more than the rest of the flow: with delayed ACKs SLP copies {} of {all} tails, with Linux's ACKs {}",
        all as u64 - withheld - quick.len() as u64,
        delayed.len(),
        linux.len(),
    ));
    Ok(claim)
}

fn withheld(c: &Cells<'_>) -> Claim {
    claim(
        "withheld-is-no-help",
        "II-C2",
        "If the window has no room for the copy, SLP withholds it, and the flow takes as long as without SLP",
        "10 segments, q 1 for tails: one copy withheld, none sent; FCT and bytes of +slp equal the first profile's, those of +tlpr+slp equal +tlpr's",
        over(&[Case::Tail10], |case, acks, rtt_ms| {
            [(SLP, PROFILES[0]), (BOTH, TLPR)].iter().all(|(with, without)| {
                let ours = c.get(case, acks, rtt_ms, with);
                let theirs = c.get(case, acks, rtt_ms, without);
                (ours.copies, ours.withheld) == (0, 1) && (ours.fct_ms, ours.bytes) == (theirs.fct_ms, theirs.bytes)
            })
        }),
    )
}

fn costs_the_gap(c: &Cells<'_>, setup: &Setup) -> Result<Claim, SettingsError> {
    let mut lossless = Vec::new();
    for rtt_ms in RTTS {
        let nothing_lost = [("drop", "none")];
        let flow = run(setup, Case::Tail8, Acks::Quick, rtt_ms, SLP, &nothing_lost)?;
        lossless.push((rtt_ms, flow.fct_ms.unwrap_or(f64::NAN)));
    }
    let without_loss = |rtt_ms| {
        let found = lossless.iter().find(|(rtt, _)| *rtt == rtt_ms);
        found.map_or(f64::NAN, |(_, fct)| *fct)
    };
    let at = |rtt_ms| c.fct(Case::Tail8, Acks::Quick, rtt_ms, SLP);
    let (groups, holds) = over(&[Case::Tail8], |case, acks, rtt_ms| {
        let expected = without_loss(rtt_ms) + GAP * rtt_ms as f64;
        [SLP, BOTH].iter().all(|profile| {
            let cell = c.get(case, acks, rtt_ms, profile);
            same(cell.fct_ms.unwrap_or(f64::NAN), expected) && cell.retransmissions == 0
        })
    });
    let fcts = RTTS.map(|rtt_ms| format!("{} (without loss {})", at(rtt_ms), without_loss(rtt_ms)));
    Ok(claim(
        "costs-the-gap",
        "II-C",
        "If the original is lost but its copy arrives, the loss costs the gap between them and no timeout",
        "8 segments, q 1 for tails: FCT of +slp and of +tlpr+slp = FCT without loss + SRTT/8, no retransmission",
        (format!("{groups}: {} ms", fcts.join(", ")), holds),
    ))
}

fn no_extra_bytes(c: &Cells<'_>) -> Claim {
    claim(
        "lost-original-pays",
        None,
        "If the original is lost, the copy adds no bytes, because it replaces the retransmission",
        "8 segments, q 1 for tails: IP bytes of +slp are no more than those of the first profile",
        over(&[Case::Tail8], |case, acks, rtt_ms| {
            let bytes = |profile| c.get(case, acks, rtt_ms, profile).bytes;
            bytes(SLP) <= bytes(PROFILES[0])
        }),
    )
}

fn worth_from(setup: &Setup) -> Result<Claim, SettingsError> {
    const RTTS_TRIED: RangeInclusive<u64> = 100..=300;
    // After the handshake RTO = RTT + max(200 ms, 2·RTT); the arbitrator's threshold is 588 ms.
    const FIRST: u64 = 196;
    let mut copied = Vec::new();
    for rtt_ms in RTTS_TRIED {
        let cell = run(setup, Case::Default8, Acks::Quick, rtt_ms, SLP, &[])?;
        if cell.copied_data() {
            copied.push(rtt_ms);
        }
    }
    let expected: Vec<u64> = (FIRST..=*RTTS_TRIED.end()).collect();
    Ok(claim(
        "full-segment-worth-from",
        "II-C1",
        "With q 10 % and 10 Mbit/s SLP copies a PSH segment of 1500 bytes from an RTO of 0.98·12000/(0.02·0.1·10⁷) s = 588 ms on, which is an RTT of 196 ms",
        "8 segments, the paper's q, RTTs of 100 to 300 ms in steps of 1 ms: SLP copies the tail from 196 ms on and never below",
        (
            copied.first().map_or("never".into(), |rtt_ms| {
                format!("from {rtt_ms} ms on, at {} of {} RTTs", copied.len(), RTTS_TRIED.count())
            }),
            copied == expected,
        ),
    ))
}

fn defaults(c: &Cells<'_>) -> Claim {
    claim(
        "defaults-pass-tails-by",
        "II-C1",
        "With the paper's q a lost tail costs as much as without SLP, unless the RTT is long and the window has room",
        "RTT 20 and 80 ms: no data copied, FCT of +slp = the first profile's. RTT 320 ms: with 8 segments the tail is copied and the flow faster, with 10 the copy is withheld",
        over(&[Case::Default8, Case::Default10], |case, acks, rtt_ms| {
            let ours = c.get(case, acks, rtt_ms, SLP);
            let theirs = c.get(case, acks, rtt_ms, PROFILES[0]);
            let (copied, withheld) = (ours.copied_data(), ours.withheld);
            match (rtt_ms, case) {
                (320, Case::Default8) => copied && ours.fct_ms < theirs.fct_ms,
                (320, _) => !copied && withheld == 1 && ours.fct_ms == theirs.fct_ms,
                _ => !copied && withheld == 0 && ours.fct_ms == theirs.fct_ms,
            }
        }),
    )
}

fn handshake(c: &Cells<'_>, setup: &Setup) -> Result<Claim, SettingsError> {
    let cases = [Case::Syn, Case::SynAck];
    let nothing_lost = [("drop", "none")];
    let mut lossless = Vec::new();
    for rtt_ms in RTTS {
        let flow = run(setup, Case::Syn, Acks::Quick, rtt_ms, PROFILES[0], &nothing_lost)?;
        lossless.push((rtt_ms, flow.fct_ms.unwrap_or(f64::NAN)));
    }
    let delay = |case, rtt_ms, profile: &'static str| {
        let found = lossless.iter().find(|(rtt, _)| *rtt == rtt_ms);
        c.fct(case, Acks::Quick, rtt_ms, profile) - found.map_or(f64::NAN, |(_, fct)| *fct)
    };
    let delays = cases.map(|case| {
        let [without, with] = [PROFILES[0], SLP].map(|profile| delay(case, RTTS[1], profile));
        format!("{} costs {with} ms (without SLP {without})", case.name())
    });
    let (groups, holds) = over(&cases, |case, _, rtt_ms| {
        [SLP, BOTH].iter().all(|profile| same(delay(case, rtt_ms, profile), FIRST_GAP_MS))
            && delay(case, rtt_ms, PROFILES[0]) >= 1000.0 - 1e-3
    });
    Ok(claim(
        "handshake-costs-the-gap",
        "II-C1",
        "With q 1 for SYN, and for SYN-ACK by our extension, the loss of either costs the gap instead of the initial RTO of 1 s",
        "FCT of +slp and of +tlpr+slp = FCT without loss + 5 ms; FCT of the first profile ≥ FCT without loss + 1 s",
        (format!("{groups}; at 80 ms: {}", delays.join(", ")), holds),
    ))
}

/// The paper's own claim among these.
fn syn_copy(c: &Cells<'_>) -> Claim {
    let fct = |rtt_ms, profile| c.fct(Case::Syn, Acks::Quick, rtt_ms, profile);
    let shown = RTTS.map(|rtt_ms| {
        let [with, without] = [SLP, PROFILES[0]].map(|profile| fct(rtt_ms, profile));
        format!("{with} instead of {without} ms")
    });
    let shorter = RTTS.map(|rtt_ms| fct(rtt_ms, PROFILES[0]) - fct(rtt_ms, SLP) > 900.0);
    claim(
        "syn-copy-shortens-setup",
        "IV",
        "A SYN duplicated along the same path avoids the timeout and shortens the connection setup",
        "first SYN lost: at every RTT the flow with SLP completes at least 0.9 s sooner, of an initial RTO of 1 s",
        (shown.join(", "), shorter.iter().all(|shorter| *shorter)),
    )
}

fn no_probe_for_a_handshake(c: &Cells<'_>) -> Claim {
    claim(
        "handshake-none-other",
        None,
        "RTO restart and tail loss probes do nothing for a lost SYN or SYN-ACK",
        "FCT of RTOR, TLP and TLPR = the first profile's",
        over(&[Case::Syn, Case::SynAck], |case, acks, rtt_ms| {
            let fct = |profile| c.fct(case, acks, rtt_ms, profile);
            WITHOUT.iter().all(|profile| same(fct(profile), fct(PROFILES[0])))
        }),
    )
}

fn together(c: &Cells<'_>) -> Claim {
    claim(
        "together-the-best",
        None,
        "SLP and TLPR together are as fast as the faster of the two",
        "in every group, FCT of +tlpr+slp = the smaller of +tlpr's and +slp's, and the smallest of all profiles",
        over(&Case::ALL, |case, acks, rtt_ms| {
            let fct = |profile| c.fct(case, acks, rtt_ms, profile);
            let best = PROFILES.map(fct).into_iter().fold(f64::INFINITY, f64::min);
            same(fct(BOTH), fct(TLPR).min(fct(SLP))) && same(fct(BOTH), best)
        }),
    )
}
