//! The claims of §3.1, §3.2, §4.3 and §5 that the number of losses decides.

use super::{Cell, FLIGHT, Queue, Scheme};
use crate::claims::{Claim, claim};
use crate::prr::finding::list;
use crate::prr::trace::Step;

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
        let found = self.of(scheme).filter(|cell| is(cell));
        found.map(|cell| cell.lost).collect()
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
    let all = c.of(Scheme::Rfc3517);
    let broken = all.clone().filter(breaks).count();
    let halves = all.clone().all(|cell| cell.last().is_none_or(|step| step.ssthresh == SSTHRESH));
    claim(
        "algorithm-1",
        "3.1, algorithm 1",
        "RFC 3517 sets cwnd to half of the data in flight, retransmits the first segment, and then sends cwnd − pipe segments on every ACK",
        "cwnd = ssthresh = 10 on each ACK of recovery; segments sent = max(0, cwnd − pipe), at least one on the ACK that begins recovery",
        (format!("broken in {broken} of {} flows", all.clone().count()), broken == 0 && halves),
    )
}

fn silent_acks(c: &Cells<'_>) -> Claim {
    let cell = c.of(Scheme::Rfc3517).next();
    let acks = cell.map_or(0, |cell| cell.silent_acks() + 1);
    claim(
        "rfc3517-silent-acks",
        "3.1",
        "RFC 3517 sends nothing after the first retransmission until cwnd − ssthresh ACKs have arrived, half of all",
        "one of 20 segments lost: the second transmission of recovery comes cwnd − ssthresh = 10 ACKs after the first, give or take one",
        (
            format!("{acks} ACKs later"),
            acks.abs_diff(SSTHRESH as usize) <= 1,
        ),
    )
    .paper("cwnd − ssthresh ACKs")
}

fn at_heavy_losses(c: &Cells<'_>) -> Claim {
    let silent = c.losses(Scheme::Rfc3517, |cell| cell.silent_acks() > 1);
    let bursts = c.losses(Scheme::Rfc3517, |cell| cell.trace.largest_burst() > 2);
    let heavy = |losses: &[u32]| losses.iter().all(|lost| 2 * lost >= FLIGHT);
    claim(
        "rfc3517-problems-at-heavy-losses",
        "3.1",
        "Both problems of RFC 3517, silence and bursts, occur when at least half of cwnd is lost",
        "each occurs, and only with ten or more of 20 segments lost: two or more ACKs in a row release nothing, or an ACK releases more than two segments",
        (
            format!(
                "silence with {} lost, bursts with {} lost",
                list(&silent),
                list(&bursts)
            ),
            !silent.is_empty() && !bursts.is_empty() && heavy(&silent) && heavy(&bursts),
        ),
    )
    .note(
        "silence is longest with one loss, and ends when losses bring pipe below ssthresh by themselves: cwnd − ssthresh ACKs must pass less one for each loss",
    )
}

fn larger_bursts(c: &Cells<'_>) -> Claim {
    let bursts = c.bursts(Scheme::Rfc3517);
    let ascends = bursts.is_sorted();
    let (first, last) = (bursts.first().copied(), bursts.last().copied());
    claim(
        "rfc3517-more-losses-larger-bursts",
        "3.1",
        "The more segments are lost, the larger the bursts of RFC 3517",
        "the largest burst on an ACK never falls with the number of losses, from 1 to 19, and is larger at 19 than at 1",
        (list(&bursts), ascends && last > first),
    )
}

/// The numbers of losses that bring pipe below ssthresh, by a burst of RFC 3517.
fn bursting<'a>(c: &Cells<'a>) -> impl Iterator<Item = &'a Cell> + Clone {
    c.of(Scheme::Rfc3517).filter(|cell| cell.trace.largest_burst() > 2)
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
    claim(
        "rfc3517-in-proportion-to-losses",
        "4.3 (4)",
        "Under heavy losses RFC 3517's transmission rate is directly proportional to the extent of losses",
        "where it bursts, each further loss adds exactly one segment to the largest burst",
        (
            format!("{} segments per further loss", list(&slopes)),
            slopes.len() >= 3 && slopes.iter().all(|slope| *slope == 1),
        ),
    )
}

fn gap_at_once(c: &Cells<'_>) -> Claim {
    let gaps = bursting(c).map(|cell| {
        let burst = cell.burst().map(|ack| (ack.sent(), ack.pipe_before_sending()));
        burst.is_some_and(|(sent, pipe)| sent == SSTHRESH - pipe.min(SSTHRESH))
    });
    let (equal, all) = (gaps.clone().filter(|is| *is).count(), gaps.count());
    claim(
        "rfc3517-gap-at-once",
        "4.2, 4.3 (1)",
        "When pipe falls below ssthresh, RFC 3517 sends ssthresh − pipe segments in a single burst",
        "where it bursts, the largest burst equals ssthresh − pipe",
        (format!("{equal} of {all}"), equal == all && all > 0),
    )
}

fn more_aggressive(c: &Cells<'_>) -> Claim {
    let [today, envisioned] = [Scheme::Rfc3517Cubic, Scheme::AsEnvisioned].map(|scheme| c.bursts(scheme));
    let pairs = || today.iter().zip(&envisioned);
    let more = pairs().filter(|(today, then)| today > then).count();
    let less = pairs().filter(|(today, then)| today < then).count();
    claim(
        "rfc3517-more-aggressive",
        "5",
        "FACK and CUBIC make RFC 3517 slightly more aggressive than its authors envisioned",
        "the largest burst with FACK and CUBIC is larger than with IsLost and Reno in some flows, and smaller in none",
        (format!("larger in {more} of {}, smaller in {less}", today.len()), more > 0 && less == 0),
    )
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
    let all = c.of(Scheme::Prr);
    let holding = all.clone().filter(|cell| clocked(cell)).count();
    let most = c.bursts(Scheme::Prr).into_iter().max().unwrap_or(0);
    let rfc = c.bursts(Scheme::Rfc3517).into_iter().max().unwrap_or(0);
    claim(
        "prr-clocked-at-any-loss",
        "4.3 (1)",
        "PRR maintains ACK clocking even when many segments are lost, because its slow-start part bounds what an ACK releases",
        "1 to 19 of 20 segments lost: each ACK releases at most max(prr_delivered − prr_out, DeliveredData) + 1 segments, and never as many as RFC 3517's largest burst",
        (
            format!(
                "in {holding} of {} flows; at most {most} segments on one ACK (RFC 3517 {rfc})",
                all.clone().count()
            ),
            holding == all.count() && most < rfc,
        ),
    )
}

fn prr_few_losses(c: &Cells<'_>) -> Claim {
    let few = c.of(Scheme::Prr).filter(|cell| cell.lost <= FLIGHT - SSTHRESH);
    let off = few.clone().filter(|cell| cell.shortfall() != Some(0));
    let off: Vec<u32> = off.map(|cell| cell.lost).collect();
    claim(
        "prr-converges-after-few-losses",
        "4.3 (2)",
        "If losses ≤ RecoverFS − ssthresh, PRR converges to exactly ssthresh",
        "1 to 10 of 20 segments lost: pipe = ssthresh before the ACK that ends recovery",
        (format!("{} of {}", few.clone().count() - off.len(), few.count()), off.is_empty()),
    )
}

fn rfc_converges(c: &Cells<'_>) -> Claim {
    let ended = || c.of(Scheme::Rfc3517).filter(|cell| cell.last().is_some());
    let short = ended().filter(|cell| cell.shortfall() != Some(0));
    let short: Vec<u32> = short.map(|cell| cell.lost).collect();
    claim(
        "rfc3517-converges-at-any-loss",
        "4.3 (2)",
        "With enough new data RFC 3517 converges to ssthresh regardless of the amount of loss",
        "1 to 19 of 20 segments lost: pipe = ssthresh before the ACK that ends recovery",
        (format!("{} of {}", ended().count() - short.len(), ended().count()), short.is_empty() && ended().count() > 0),
    )
}

fn linux_does_not(c: &Cells<'_>) -> Claim {
    let heavy = c.of(Scheme::Linux).filter(|cell| cell.lost > FLIGHT - SSTHRESH);
    let below = heavy.clone().filter(|cell| cell.shortfall().is_none_or(|gap| gap < 0));
    let (below, heavy) = (below.count(), heavy.count());
    claim(
        "linux-does-not-converge",
        "4.3 (2)",
        "Linux does not converge when losses are heavy",
        "more than ten of 20 segments lost: pipe is below ssthresh before the ACK that ends recovery, or a timeout ends it",
        (format!("{below} of {heavy}"), below == heavy && heavy > 0),
    )
}

fn linux_pipe(c: &Cells<'_>) -> Claim {
    let grows = |cell: &&Cell| {
        let acks: Vec<&Step> = cell.trace.recovery_acks().collect();
        acks.windows(2).any(|pair| pair[1].pipe > pair[0].pipe)
    };
    let heavy = c.of(Scheme::Linux).filter(|cell| cell.lost > FLIGHT - SSTHRESH);
    let growing = heavy.clone().filter(grows).count();
    claim(
        "linux-pipe-does-not-grow",
        "4.3 (2)",
        "After heavy losses Linux's pipe does not grow until recovery ends",
        "more than ten of 20 segments lost: pipe never grows from one ACK of recovery to the next",
        (format!("grows in {growing} of {}", heavy.clone().count()), growing == 0 && heavy.count() > 0),
    )
}

fn linux_prolonged(c: &Cells<'_>) -> Claim {
    let pairs = c.of(Scheme::Linux).zip(c.of(Scheme::Prr));
    let heavy = pairs.filter(|(linux, _)| linux.lost > FLIGHT - SSTHRESH);
    let worse = heavy.clone().filter(|(linux, prr)| {
        let longer = linux.trace.recovery_ms().zip(prr.trace.recovery_ms());
        linux.trace.timeouts() > prr.trace.timeouts() || longer.is_some_and(|(linux, prr)| linux > prr)
    });
    let worse: Vec<u32> = worse.map(|(linux, _)| linux.lost).collect();
    let all: Vec<u32> = heavy.map(|(linux, _)| linux.lost).collect();
    claim(
        "linux-prolonged",
        "3.2",
        "After heavy losses Linux's recovery is prolonged, or ends in a timeout",
        "more than ten of 20 segments lost: its recovery takes longer than PRR's, or has more timeouts",
        (
            format!("with {} of {} numbers of losses", worse.len(), all.len()),
            !all.is_empty() && worse.len() == all.len(),
        ),
    )
}

fn bursts_are_dropped(queues: &[Queue]) -> Claim {
    let rfc: u64 = queues.iter().map(|one| one.dropped[1]).sum();
    let prr: u64 = queues.iter().map(|one| one.dropped[0]).sum();
    let more = queues.iter().filter(|one| one.dropped[1] > one.dropped[0]);
    claim(
        "rfc3517-bursts-lose-retransmissions",
        "5.3",
        "When pipe falls far below ssthresh, RFC 3517 sends most retransmissions in a burst, which makes their loss more likely",
        "the first 50 to 95 of 100 segments lost before a bottleneck with a queue of 20 packets: it drops more of RFC 3517's segments than of PRR's in most \
         flows, and in all flows together",
        (
            format!("RFC 3517 {rfc}, PRR {prr} segments; more in {} of {} flows", more.clone().count(), queues.len()),
            rfc > prr && 2 * more.count() > queues.len(),
        ),
    )
}
