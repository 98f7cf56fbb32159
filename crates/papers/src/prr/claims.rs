//! Claims of figures 2 to 4 (§3 and §4) alone: every other experiment has its `claims` in its own module.

use super::cell::{Acks, Flow, Scheme, SchemeCell, run_cell};
use super::trace::Step;
use super::{Id, SECOND_WRITE};
use crate::prelude::*;

/// The cells of a figure, found by their settings.
type Cells<'a> = Grid<'a, SchemeCell>;

impl Cells<'_> {
    fn get(&self, scheme: Scheme, acks: Acks) -> &SchemeCell {
        self.at(Flow { scheme, acks })
    }

    /// The cells of a scheme with both receivers.
    fn both(&self, scheme: Scheme) -> [&SchemeCell; 2] {
        Acks::ALL.map(|acks| self.get(scheme, acks))
    }
}

fn ms(time: Option<f64>) -> String {
    time.map_or("never".into(), |time| format!("{time:.1} ms"))
}

/// Numbers separated by spaces.
fn list(numbers: impl IntoIterator<Item = u32>) -> String {
    numbers.into_iter().map(|n| n.to_string()).joined(" ")
}

/// The times of retransmissions, in ms.
fn retransmission_times(cell: &SchemeCell) -> Vec<f64> {
    cell.retransmissions().map(|sent| sent.at_ms).collect()
}

fn times(times: &[f64]) -> String {
    times.iter().map(|time| format!("{time:.0}")).joined(", ")
}

/// Segments sent on each ACK of recovery.
fn sent_per_ack(cell: &SchemeCell) -> Vec<u32> {
    cell.recovery(true).map(Step::sent).collect()
}

/// Checks the claims that figure 2 decides.
pub fn fig2(cells: &[SchemeCell], setup: &Setup) -> Result<Vec<Claim>> {
    let c = Cells::new(cells);
    Ok(vec![
        first_dupack(&c),
        alternate_acks(&c),
        leaves_at_ssthresh(&c),
        end_of_recovery(&c, setup)?,
        one_round_trip(&c),
        similar_timings(&c),
        leaves_with_pipe_and_one(&c),
        four_round_trips(&c),
        half_round_trip_of_silence(&c),
        second_after_half(&c),
    ])
}

fn first_dupack(c: &Cells<'_>) -> Claim {
    let entered = |cell: &&SchemeCell| {
        cell.steps
            .iter()
            .find(|step| step.on_ack && step.at_ms > 0.0)
            .is_some_and(|step| step.is_recovery() && step.ssthresh == 10)
    };
    let holding = c.0.iter().filter(entered).count();
    claim!("first-dupack", "{holding} of {}, at {}", c.0.len(), ms(c.0[0].entered_ms)).holds(holding == c.0.len())
}

fn alternate_acks(c: &Cells<'_>) -> Claim {
    let acks = sent_per_ack(c.get(Scheme::Prr, Acks::Quick));
    let alternate = acks.iter().take(8).eq(&[1, 0, 1, 0, 1, 0, 1, 0]);
    claim("prr-alternate-acks").shows(list(acks.into_iter().take(8))).holds(alternate)
}

fn leaves_at_ssthresh(c: &Cells<'_>) -> Claim {
    let exits = c.both(Scheme::Prr).map(|cell| cell.exit.clone());
    let as_claimed = exits
        .iter()
        .all(|exit| exit.as_ref().is_some_and(|e| (e.cwnd, e.ssthresh) == (10, 10) && e.at_ms < SECOND_WRITE));
    let ours = exits[0]
        .as_ref()
        .map_or("never".into(), |e| format!("cwnd {}, ssthresh {} at {:.1} ms", e.cwnd, e.ssthresh, e.at_ms));
    claim("prr-leaves-at-ssthresh").shows(ours).holds(as_claimed)
}

/// The text's 460 ms, and an RTT that gives them.
fn end_of_recovery(c: &Cells<'_>, setup: &Setup) -> Result<Claim> {
    let near = |time: Option<f64>| time.is_some_and(|time| (455.0..465.0).contains(&time));
    let end = |cell: &SchemeCell| cell.exit.as_ref().map(|exit| exit.at_ms);
    let ours = end(c.get(Scheme::Prr, Acks::Delayed));
    let mut twice = setup.clone();
    twice.base.settings.set("rtt", "200ms", Path::new(""))?;
    let (cell, _) = run_cell(
        &twice,
        Scheme::Prr,
        Acks::Delayed,
        &format!("drop={} writes={}", Id::Fig2.drop(), Id::Fig2.writes()),
    )?;

    Ok(claim("recovery-ends-at-460").shows(ms(ours)).holds(near(ours)).fill(&[&ms(end(&cell))]))
}

fn one_round_trip(c: &Cells<'_>) -> Claim {
    let cells = c.both(Scheme::Prr);
    claim!(
        "prr-one-rtt",
        "{} segments in one round trip, acknowledged after {}",
        cells[0].rounds(),
        ms(cells[0].second_write_ms)
    )
    .holds(cells.iter().all(|cell| cell.second_write_rounds.len() == 1))
}

fn similar_timings(c: &Cells<'_>) -> Claim {
    let [prr, linux] = [Scheme::Prr, Scheme::Linux].map(|scheme| retransmission_times(c.get(scheme, Acks::Delayed)));
    let close = prr.len() == linux.len() && prr.iter().zip(&linux).all(|(prr, linux)| (prr - linux).abs() < 25.0);
    claim!("linux-timings", "PRR {} ms, Linux {} ms", times(&prr), times(&linux)).holds(close)
}

fn leaves_with_pipe_and_one(c: &Cells<'_>) -> Claim {
    let exits = c.both(Scheme::Linux).map(|cell| cell.exit.clone());
    let as_claimed =
        |exit: &Option<super::Exit>| exit.as_ref().is_some_and(|e| e.pipe_before == 1 && e.cwnd == e.pipe_before + 1);
    let ours = exits[0].as_ref().map_or("never".into(), |e| format!("pipe {}, then cwnd {}", e.pipe_before, e.cwnd));
    claim("linux-pipe-plus-one").shows(ours).holds(exits.iter().all(as_claimed))
}

fn four_round_trips(c: &Cells<'_>) -> Claim {
    let [delayed, quick] = c.both(Scheme::Linux);

    claim!(
        "linux-four-rtts",
        "{} segments with delayed ACKs, {} with an ACK per segment",
        delayed.rounds(),
        quick.rounds()
    )
    .holds(delayed.second_write_rounds.len() == 4)
}

fn half_round_trip_of_silence(c: &Cells<'_>) -> Claim {
    let cell = c.get(Scheme::Rfc3517, Acks::Delayed);
    let times = retransmission_times(cell);
    let gap = times.get(1).zip(times.first()).map(|(second, first)| second - first);
    let silent = sent_per_ack(cell).iter().skip(1).take_while(|sent| **sent == 0).count();
    claim!("rfc3517-silence", "{}, {silent} ACKs on which nothing is sent", ms(gap))
        .holds(gap.is_some_and(|gap| (40.0..=60.0).contains(&gap)))
}

fn second_after_half(c: &Cells<'_>) -> Claim {
    let acks = sent_per_ack(c.get(Scheme::Rfc3517, Acks::Quick));
    // The flight of 20 less the four lost.
    let flight = 16;
    let silent = acks.iter().skip(1).take_while(|sent| **sent == 0).count();
    let share = (silent + 1) as f64 / f64::from(flight);
    claim!("rfc3517-second-after-half", "after {} of {flight}", silent + 1).holds((0.4..=0.6).contains(&share))
}

/// Checks the claims that figure 3 decides.
pub fn fig3(cells: &[SchemeCell]) -> Vec<Claim> {
    let c = Cells::new(cells);
    let prr = c.get(Scheme::Prr, Acks::Delayed);
    let acks: Vec<&Step> = prr.recovery(true).collect();
    // Segments 5 to 10 arrive before the ACKs show the second gap, 17 to 20 after.
    let (first, second) = acks.split_at(acks.len().min(6));
    let sent = |steps: &[&Step]| steps.iter().map(|step| step.sent()).collect::<Vec<_>>();
    let (first, second) = (sent(first), sent(&second[..second.len().min(4)]));
    let lost = 4 + 6;
    let left = lost - first.iter().sum::<u32>().min(lost);
    // Two per ACK while two lost segments are left.
    let expected: Vec<u32> = (0..4).map(|i| left.saturating_sub(2 * i).min(2)).collect();
    let rfc = c.get(Scheme::Rfc3517, Acks::Delayed);
    let linux = sent_per_ack(c.get(Scheme::Linux, Acks::Delayed));
    let linux_most = linux.iter().copied().max().unwrap_or(0);
    vec![
        claim("prr-alternate-first").shows(list(first.clone())).holds(first == [1, 0, 1, 0, 1, 0]),
        claim("prr-two-an-ack").shows(list(second.clone())).holds(!second.is_empty() && second == expected),
        rfc_burst(rfc, second.iter().copied().max().unwrap_or(0)),
        claim!(
            "linux-one-an-ack",
            "{linux_most}; from {} to {}",
            ms(prr.exit.as_ref().map(|e| e.at_ms)),
            ms(c.get(Scheme::Linux, Acks::Delayed).exit.as_ref().map(|e| e.at_ms))
        )
        .holds(linux_most == 1 && later(c.get(Scheme::Linux, Acks::Delayed), prr)),
    ]
}

fn rfc_burst(rfc: &SchemeCell, prr: u32) -> Claim {
    let burst = rfc.recovery(true).reduce(|most, ack| if ack.sent() > most.sent() { ack } else { most });
    // The burst fills pipe up to ssthresh.
    let fills = burst.is_some_and(|ack| ack.pipe == ack.ssthresh);
    let sent = burst.map_or(0, |ack| ack.sent());
    claim!("rfc3517-burst", "{sent} on one ACK (PRR {prr})").holds(fills && sent > prr)
}

fn later(cell: &SchemeCell, than: &SchemeCell) -> bool {
    let ends = [cell, than].map(|cell| cell.exit.as_ref().map(|exit| exit.at_ms));
    matches!(ends, [Some(ours), Some(other)] if ours > other)
}
