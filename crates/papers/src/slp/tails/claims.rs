//! What the window rule and the arbitrator imply for tails, SYNs and SYN-ACKs.

use super::cell::{run, run_flow};
use super::{Case, Cell, PROFILES, RTTS};
use crate::claims::{Claim, claim};
use crate::same;
use crate::tail_loss::Acks;
use recoup_lab::settings::SettingsError;
use std::ops::RangeInclusive;

/// What no RTT has been measured for waits so long for its copy.
const FIRST_GAP_MS: f64 = 5.0;

/// The `slp.gap` setting: an eighth of SRTT.
const GAP: f64 = 0.125;

/// Nothing, then RTOR, TLP and TLPR.
const WITHOUT: &[&str] = &[PROFILES[0], PROFILES[1], PROFILES[2], PROFILES[3]];
const TLPR: &str = PROFILES[3];
const SLP: &str = PROFILES[4];
const BOTH: &str = PROFILES[5];

/// The cells by what they are.
struct Cells<'a>(&'a [Cell]);

impl Cells<'_> {
    fn get(&self, case: Case, acks: Acks, rtt_ms: u64, profile: &str) -> &Cell {
        let is_it = |c: &&Cell| {
            (c.case, c.ack, c.rtt_ms, c.profile) == (case, acks.name(), rtt_ms, profile)
        };
        self.0.iter().find(is_it).expect("a cell of the grid")
    }

    fn fct(&self, case: Case, acks: Acks, rtt_ms: u64, profile: &str) -> f64 {
        let cell = self.get(case, acks, rtt_ms, profile);
        cell.fct_ms.unwrap_or(f64::NAN)
    }
}

/// A condition over every receiver and RTT of some cases: in how many it holds, and whether in all.
fn over(cases: &[Case], holds: impl Fn(Case, Acks, u64) -> bool) -> (String, bool) {
    let groups = cases
        .iter()
        .flat_map(|case| case.receivers().iter().map(move |acks| (*case, *acks)))
        .flat_map(|(case, acks)| RTTS.map(|rtt_ms| (case, acks, rtt_ms)));
    let all: Vec<bool> = groups
        .map(|(case, acks, rtt_ms)| holds(case, acks, rtt_ms))
        .collect();
    let so = all.iter().filter(|holds| **holds).count();
    (
        format!("{so} of {} groups", all.len()),
        so == all.len() && so > 0,
    )
}

/// The claims decided here.
pub fn all(cells: &[Cell], seed: u64) -> Result<Vec<Claim>, SettingsError> {
    let c = Cells(cells);
    Ok(vec![
        first_window(seed)?,
        longer_flows(seed)?,
        withheld(&c),
        costs_the_gap(&c, seed)?,
        no_dearer(&c),
        worth_from(seed)?,
        defaults(&c),
        handshake(&c, seed)?,
        no_probe_for_a_handshake(&c),
        together(&c),
    ])
}

/// Which flows of so many segments, without loss, have their tail copied, and how many have a copy
/// withheld instead.
fn tails_copied(
    segments: RangeInclusive<u64>,
    ack: &str,
    seed: u64,
) -> Result<(Vec<u64>, u64), SettingsError> {
    let (mut copied, mut withheld) = (Vec::new(), 0);
    for n in segments {
        let length = n.to_string();
        let settings = [
            ("segments", &*length),
            ("drop", "none"),
            ("ack", ack),
            ("slp.q", "tail:1"),
        ];
        let counters = run_flow("tail-loss", &settings, SLP, seed)?.counters;
        if counters.copies > 0 {
            copied.push(n);
        }
        withheld += u64::from(counters.copies == 0 && counters.copies_withheld > 0);
    }
    Ok((copied, withheld))
}

fn first_window(seed: u64) -> Result<Claim, SettingsError> {
    let (copied, withheld) = tails_copied(1..=10, "quick", seed)?;
    let expected: Vec<u64> = (1..=8).collect();
    let written: Vec<String> = copied.iter().map(u64::to_string).collect();
    let mut claim = claim(
        "last-two-of-a-window",
        "II-C2",
        "next + 2·size < high_acked + cwnd leaves no copy to the last two segments of a full window",
        "flows of 1 to 10 segments with a window of 10, q 1 for tails, nothing lost: all to 8 have their tail copied, 9 and 10 have it withheld",
        (
            format!("copied with {}; withheld in {withheld}", written.join(", ")),
            copied == expected && withheld == 2,
        ),
    );
    claim.note = Some("with 9 segments the copy would just fill the window; the inequality is strict, so that the ninth is left out too".into());
    Ok(claim)
}

fn longer_flows(seed: u64) -> Result<Claim, SettingsError> {
    const LENGTHS: RangeInclusive<u64> = 11..=200;
    let (quick, withheld) = tails_copied(LENGTHS, "quick", seed)?;
    let all = LENGTHS.count();
    let (delayed, _) = tails_copied(LENGTHS, "delayed:200ms", seed)?;
    let (linux, _) = tails_copied(LENGTHS, "linux", seed)?;
    let mut claim = claim(
        "tail-behind-a-full-window",
        "II-C2",
        "With an ACK a segment no tail of a longer transfer is copied: what a full window held back until an ACK made room goes at the window's edge",
        "flows of 11 to 200 segments written at once, q 1 for tails, an ACK a segment, RTT 80 ms, nothing lost: no tail copied",
        (
            format!("copied in {} of {all}, withheld in {withheld}", quick.len()),
            quick.is_empty(),
        ),
    );
    claim.note = Some(format!(
        "the other {} tails are not worth a copy: all that has been measured when they go is the first window, 10 segments in 80 ms, and at that rate a copy takes longer than p·RTO. Where an ACK stands for several segments it makes room for more than is left: with delayed ACKs {} of {all} tails are copied, with Linux's {}",
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
        "What the window has no room for is not sent, and the flow fares as without",
        "10 segments, q 1 for tails: one copy withheld, none sent; FCT and bytes of +slp those of the first profile, of +tlpr+slp those of +tlpr",
        over(&[Case::Tail10], |case, acks, rtt_ms| {
            [(SLP, PROFILES[0]), (BOTH, TLPR)]
                .iter()
                .all(|(with, without)| {
                    let ours = c.get(case, acks, rtt_ms, with);
                    let theirs = c.get(case, acks, rtt_ms, without);
                    (ours.copies, ours.withheld) == (0, 1)
                        && (ours.fct_ms, ours.bytes) == (theirs.fct_ms, theirs.bytes)
                })
        }),
    )
}

fn costs_the_gap(c: &Cells<'_>, seed: u64) -> Result<Claim, SettingsError> {
    let mut lossless = Vec::new();
    for rtt_ms in RTTS {
        let nothing_lost = [("drop", "none")];
        let flow = run(Case::Tail8, Acks::Quick, rtt_ms, SLP, seed, &nothing_lost)?;
        lossless.push((rtt_ms, flow.fct_ms.unwrap_or(f64::NAN)));
    }
    let without_loss = |rtt_ms| {
        let found = lossless.iter().find(|(rtt, _)| *rtt == rtt_ms);
        found.map_or(f64::NAN, |(_, fct)| *fct)
    };
    let at = |rtt_ms| c.fct(Case::Tail8, Acks::Quick, rtt_ms, SLP);
    let (so, holds) = over(&[Case::Tail8], |case, acks, rtt_ms| {
        let due = without_loss(rtt_ms) + GAP * rtt_ms as f64;
        [SLP, BOTH].iter().all(|profile| {
            let cell = c.get(case, acks, rtt_ms, profile);
            same(cell.fct_ms.unwrap_or(f64::NAN), due) && cell.retransmissions == 0
        })
    });
    let fcts = RTTS.map(|rtt_ms| format!("{} for {}", at(rtt_ms), without_loss(rtt_ms)));
    Ok(claim(
        "costs-the-gap",
        "II-C",
        "With a copy, the loss of the original costs the gap between them and no timeout",
        "8 segments, q 1 for tails: FCT of +slp and of +tlpr+slp = FCT without loss + SRTT/8, nothing retransmitted",
        (format!("{so}: {} ms", fcts.join(", ")), holds),
    ))
}

fn no_dearer(c: &Cells<'_>) -> Claim {
    claim(
        "lost-original-pays",
        "ours",
        "Where the original is lost its copy costs no byte: it goes in the retransmission's place",
        "8 segments, q 1 for tails: IP bytes of +slp are no more than those of the first profile",
        over(&[Case::Tail8], |case, acks, rtt_ms| {
            let bytes = |profile| c.get(case, acks, rtt_ms, profile).bytes;
            bytes(SLP) <= bytes(PROFILES[0])
        }),
    )
}

fn worth_from(seed: u64) -> Result<Claim, SettingsError> {
    const RTTS_TRIED: RangeInclusive<u64> = 100..=300;
    // RTO = RTT + max(200 ms, 2·RTT) after the handshake, and 588 ms is the arbitrator's border.
    const FIRST: u64 = 196;
    let mut copied = Vec::new();
    for rtt_ms in RTTS_TRIED {
        let cell = run(Case::Default8, Acks::Quick, rtt_ms, SLP, seed, &[])?;
        if cell.copied_data() {
            copied.push(rtt_ms);
        }
    }
    let expected: Vec<u64> = (FIRST..=*RTTS_TRIED.end()).collect();
    Ok(claim(
        "full-segment-worth-from",
        "II-C1",
        "With q 10 % and 10 Mbit/s a PSH segment of 1500 bytes is worth a copy from an RTO of 0.98·12000/(0.02·0.1·10⁷) s = 588 ms on, which is an RTT of 196 ms",
        "8 segments, the paper's q, RTTs of 100 to 300 ms in steps of one: copied from 196 ms on and nowhere below",
        (
            copied.first().map_or("never".into(), |rtt_ms| {
                format!(
                    "from {rtt_ms} ms on, {} of {}",
                    copied.len(),
                    RTTS_TRIED.count()
                )
            }),
            copied == expected,
        ),
    ))
}

fn defaults(c: &Cells<'_>) -> Claim {
    claim(
        "defaults-pass-tails-by",
        "II-C1",
        "With the paper's q a lost tail costs what it costs without SLP, unless the RTT is long and the window has room",
        "FCT of +slp = the first profile's, no data copied, at RTT 20 and 80 ms; at 320 ms copied and faster with 8 segments, withheld with 10",
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

fn handshake(c: &Cells<'_>, seed: u64) -> Result<Claim, SettingsError> {
    let cases = [Case::Syn, Case::SynAck];
    let nothing_lost = [("drop", "none")];
    let mut lossless = Vec::new();
    for rtt_ms in RTTS {
        let flow = run(
            Case::Syn,
            Acks::Quick,
            rtt_ms,
            PROFILES[0],
            seed,
            &nothing_lost,
        )?;
        lossless.push((rtt_ms, flow.fct_ms.unwrap_or(f64::NAN)));
    }
    let late = |case, rtt_ms, profile: &str| {
        let found = lossless.iter().find(|(rtt, _)| *rtt == rtt_ms);
        c.fct(case, Acks::Quick, rtt_ms, profile) - found.map_or(f64::NAN, |(_, fct)| *fct)
    };
    let told = cases.map(|case| {
        let late = [PROFILES[0], SLP].map(|profile| late(case, RTTS[1], profile));
        format!("{} {} ms late for {}", case.name(), late[1], late[0])
    });
    let (so, holds) = over(&cases, |case, _, rtt_ms| {
        [SLP, BOTH]
            .iter()
            .all(|profile| same(late(case, rtt_ms, profile), FIRST_GAP_MS))
            && late(case, rtt_ms, PROFILES[0]) >= 1000.0 - 1e-3
    });
    Ok(claim(
        "handshake-costs-the-gap",
        "II-C1",
        "With q 1 for SYN and SYN-ACK the loss of either costs the gap instead of the initial timeout of a second",
        "FCT of +slp and of +tlpr+slp = FCT without loss + 5 ms, of the first profile at least 1 s more",
        (format!("{so}; at 80 ms {}", told.join(", ")), holds),
    ))
}

fn no_probe_for_a_handshake(c: &Cells<'_>) -> Claim {
    claim(
        "handshake-none-other",
        "ours",
        "RTO restart and tail loss probes do nothing for a lost SYN or SYN-ACK",
        "FCT of RTOR, TLP and TLPR = the first profile's",
        over(&[Case::Syn, Case::SynAck], |case, acks, rtt_ms| {
            let fct = |profile| c.fct(case, acks, rtt_ms, profile);
            WITHOUT
                .iter()
                .all(|profile| same(fct(profile), fct(PROFILES[0])))
        }),
    )
}

fn together(c: &Cells<'_>) -> Claim {
    claim(
        "together-the-best",
        "ours",
        "SLP and TLPR do not get in each other's way: together they are as fast as the faster of both",
        "FCT of +tlpr+slp = the lower of +tlpr's and +slp's, and the lowest of all, in every group",
        over(&Case::ALL, |case, acks, rtt_ms| {
            let fct = |profile| c.fct(case, acks, rtt_ms, profile);
            let best = PROFILES.map(fct).into_iter().fold(f64::INFINITY, f64::min);
            same(fct(BOTH), fct(TLPR).min(fct(SLP))) && same(fct(BOTH), best)
        }),
    )
}
