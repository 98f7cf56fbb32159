//! The claims of §3.1, §3.2, §4.3 and §5 that the number of losses decides.

use super::{Cell, FLIGHT, Queue, Scheme};
use crate::prelude::*;
use crate::prr::finding::list;
use crate::prr::trace::Step;
use Scheme::{AsEnvisioned, Linux, Prr, Rfc3517, Rfc3517Cubic};

/// ssthresh of Reno after 20 segments.
const SSTHRESH: u32 = FLIGHT / 2;

/// The flows of a scheme by the number of losses.
struct Cells<'a>(&'a [Cell]);

impl<'a> Cells<'a> {
    fn of(&self, scheme: Scheme) -> impl Iterator<Item = &'a Cell> + Clone {
        self.0.iter().filter(move |cell| cell.scheme == scheme)
    }

    fn bursts(&self, scheme: Scheme) -> Vec<u32> {
        self.of(scheme).map(|cell| cell.trace.largest_burst()).collect()
    }

    /// The numbers of losses at which `is` holds.
    fn losses(&self, scheme: Scheme, is: impl Fn(&Cell) -> bool) -> Vec<u32> {
        self.of(scheme).filter(|cell| is(cell)).map(|cell| cell.lost).collect()
    }
}

/// All claims.
pub fn all(cells: &[Cell], queues: &[Queue]) -> Vec<Claim> {
    let c = Cells(cells);
    vec![
        algorithm_1(&c),
        silent_acks(&c),
        at_heavy_losses(&c),
        larger_bursts(&c),
        in_proportion_to_losses(&c),
        gap_at_once(&c),
        more_aggressive(&c),
        prr_bursts(&c),
        prr_few_losses(&c),
        rfc_converges(&c),
        linux_does_not(&c),
        linux_pipe(&c),
        linux_prolonged(&c),
        bursts_are_dropped(queues),
    ]
}

fn algorithm_1(c: &Cells<'_>) -> Claim {
    let breaks = |cell: &&Cell| {
        let mut acks = cell.trace.recovery_acks().enumerate();
        acks.any(|(i, ack): (usize, &Step)| {
            let room = ack.cwnd.saturating_sub(ack.pipe_before_sending());
            let forced = u32::from(i == 0);
            ack.cwnd != ack.ssthresh || ack.sent() != room.max(forced)
        })
    };
    let all = c.of(Rfc3517);
    let broken = all.clone().filter(breaks).count();
    let halves = all.clone().all(|cell| cell.last().is_none_or(|step| step.ssthresh == SSTHRESH));
    claim!("algorithm-1", "broken in {broken} of {} flows", all.clone().count()).holds(broken == 0 && halves)
}

fn silent_acks(c: &Cells<'_>) -> Claim {
    let cell = c.of(Rfc3517).next();
    let acks = cell.map_or(0, |cell| cell.silent_acks() + 1);
    claim!("rfc3517-silent-acks", "{acks} ACKs later").holds(acks.abs_diff(SSTHRESH as usize) <= 1)
}

fn at_heavy_losses(c: &Cells<'_>) -> Claim {
    let silent = c.losses(Rfc3517, |cell| cell.silent_acks() > 1);
    let bursts = c.losses(Rfc3517, |cell| cell.trace.largest_burst() > 2);
    let heavy = |losses: &[u32]| losses.iter().all(|lost| 2 * lost >= FLIGHT);
    claim!(
        "rfc3517-problems-at-heavy-losses",
        "silence with {} lost, bursts with {} lost",
        list(&silent),
        list(&bursts)
    )
    .holds(!silent.is_empty() && !bursts.is_empty() && heavy(&silent) && heavy(&bursts))
}

fn larger_bursts(c: &Cells<'_>) -> Claim {
    let bursts = c.bursts(Rfc3517);
    let ascends = bursts.is_sorted();
    let (first, last) = (bursts.first().copied(), bursts.last().copied());
    claim("rfc3517-more-losses-larger-bursts").shows(list(&bursts)).holds(ascends && last > first)
}

/// The numbers of losses that bring pipe below ssthresh, by a burst of RFC 3517.
fn bursting<'a>(c: &Cells<'a>) -> impl Iterator<Item = &'a Cell> + Clone {
    c.of(Rfc3517).filter(|cell| cell.trace.largest_burst() > 2)
}

fn in_proportion_to_losses(c: &Cells<'_>) -> Claim {
    let cells: Vec<&Cell> = bursting(c).collect();
    let slopes: Vec<i64> = cells
        .windows(2)
        .map(|pair| {
            let [a, b] = [pair[0], pair[1]].map(|cell| i64::from(cell.trace.largest_burst()));
            b - a
        })
        .collect();
    claim!("rfc3517-in-proportion-to-losses", "{} segments per further loss", list(&slopes))
        .holds(slopes.len() >= 3 && slopes.iter().all(|slope| *slope == 1))
}

fn gap_at_once(c: &Cells<'_>) -> Claim {
    let gaps = bursting(c).map(|cell| {
        cell.burst()
            .map(|ack| (ack.sent(), ack.pipe_before_sending()))
            .is_some_and(|(sent, pipe)| sent == SSTHRESH - pipe.min(SSTHRESH))
    });
    let (equal, all) = (gaps.clone().filter(|is| *is).count(), gaps.count());
    claim("rfc3517-gap-at-once").every(equal, all, "")
}

fn more_aggressive(c: &Cells<'_>) -> Claim {
    let [today, envisioned] = [Rfc3517Cubic, AsEnvisioned].map(|scheme| c.bursts(scheme));
    let pairs = || today.iter().zip(&envisioned);
    let more = pairs().filter(|(today, then)| today > then).count();
    let less = pairs().filter(|(today, then)| today < then).count();
    claim!("rfc3517-more-aggressive", "larger in {more} of {}, smaller in {less}", today.len())
        .holds(more > 0 && less == 0)
}

fn prr_bursts(c: &Cells<'_>) -> Claim {
    let clocked = |cell: &Cell| {
        let mut acks = cell.trace.recovery_acks();
        let (mut delivered, mut sent) = (0, 0);
        acks.all(|ack| {
            delivered += ack.delivered;
            let most = delivered.saturating_sub(sent).max(ack.delivered) + 1;
            sent += ack.sent();
            ack.sent() <= most
        })
    };
    let all = c.of(Prr);
    let holding = all.clone().filter(|cell| clocked(cell)).count();
    let most = c.bursts(Prr).into_iter().max().unwrap_or(0);
    let rfc = c.bursts(Rfc3517).into_iter().max().unwrap_or(0);
    claim!(
        "prr-clocked-at-any-loss",
        "in {holding} of {} flows; at most {most} segments on one ACK (RFC 3517 {rfc})",
        all.clone().count()
    )
    .holds(holding == all.count() && most < rfc)
}

fn prr_few_losses(c: &Cells<'_>) -> Claim {
    let few = c.of(Prr).filter(|cell| cell.lost <= FLIGHT - SSTHRESH);
    let off: Vec<u32> = few.clone().filter(|cell| cell.shortfall() != Some(0)).map(|cell| cell.lost).collect();
    claim!("prr-converges-after-few-losses", "{} of {}", few.clone().count() - off.len(), few.count())
        .holds(off.is_empty())
}

fn rfc_converges(c: &Cells<'_>) -> Claim {
    let ended = || c.of(Rfc3517).filter(|cell| cell.last().is_some());
    let short: Vec<u32> = ended().filter(|cell| cell.shortfall() != Some(0)).map(|cell| cell.lost).collect();
    claim!("rfc3517-converges-at-any-loss", "{} of {}", ended().count() - short.len(), ended().count())
        .holds(short.is_empty() && ended().count() > 0)
}

fn linux_does_not(c: &Cells<'_>) -> Claim {
    let heavy = c.of(Linux).filter(|cell| cell.lost > FLIGHT - SSTHRESH);
    let below = heavy.clone().filter(|cell| cell.shortfall().is_none_or(|gap| gap < 0));
    let (below, heavy) = (below.count(), heavy.count());
    claim("linux-does-not-converge").every(below, heavy, "")
}

fn linux_pipe(c: &Cells<'_>) -> Claim {
    let grows = |cell: &&Cell| {
        let acks: Vec<&Step> = cell.trace.recovery_acks().collect();
        acks.windows(2).any(|pair| pair[1].pipe > pair[0].pipe)
    };
    let heavy = c.of(Linux).filter(|cell| cell.lost > FLIGHT - SSTHRESH);
    let growing = heavy.clone().filter(grows).count();
    claim!("linux-pipe-does-not-grow", "grows in {growing} of {}", heavy.clone().count())
        .holds(growing == 0 && heavy.count() > 0)
}

fn linux_prolonged(c: &Cells<'_>) -> Claim {
    let heavy = c.of(Linux).zip(c.of(Prr)).filter(|(linux, _)| linux.lost > FLIGHT - SSTHRESH);
    let worse: Vec<u32> = heavy
        .clone()
        .filter(|(linux, prr)| {
            let longer = linux.trace.recovery_ms().zip(prr.trace.recovery_ms());
            linux.trace.timeouts() > prr.trace.timeouts() || longer.is_some_and(|(linux, prr)| linux > prr)
        })
        .map(|(linux, _)| linux.lost)
        .collect();
    let all: Vec<u32> = heavy.map(|(linux, _)| linux.lost).collect();
    claim!("linux-prolonged", "with {} of {} numbers of losses", worse.len(), all.len())
        .holds(!all.is_empty() && worse.len() == all.len())
}

fn bursts_are_dropped(queues: &[Queue]) -> Claim {
    let rfc: u64 = queues.iter().map(|one| one.dropped[1]).sum();
    let prr: u64 = queues.iter().map(|one| one.dropped[0]).sum();
    let more = queues.iter().filter(|one| one.dropped[1] > one.dropped[0]);
    claim!(
        "rfc3517-bursts-lose-retransmissions",
        "RFC 3517 {rfc}, PRR {prr} segments; more in {} of {} flows",
        more.clone().count(),
        queues.len()
    )
    .holds(rfc > prr && 2 * more.count() > queues.len())
}
