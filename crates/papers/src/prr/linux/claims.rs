//! The claims of §2.1 and §3.2 that the flows of `linux` decide.

use super::{DUPTHRESH, Data, Entries, FLIGHT};
use crate::claims::{Claim, claim, ours};
use crate::prr::finding::list;
use crate::prr::trace::{Step, Trace};
use recoup_recovery::{LossDetector, Trigger};

/// All claims.
pub fn all(data: &Data) -> Vec<Claim> {
    vec![
        first_sack(data),
        holes_marked(data),
        holes_repaired(data),
        lost_retransmission(data),
        additional_round_trip(data),
        undetected(data),
        reordering_ends_fack(data),
        large_reordering_ends_fack(data),
        alternate_acks(data),
        halves_for_cubic(data),
        follows_pipe(data),
        window_of_one(data),
        slow_start_after_one_loss(data),
    ]
}

fn first_sack(data: &Data) -> Claim {
    let beyond = data.first_sack.iter().filter(|one| one.missing > DUPTHRESH);
    let least = data.first_sack.iter().find(|one| one.with_fack);
    let without = data.first_sack.iter().any(|one| one.without);
    claim(
        "fack-first-sack",
        "3.2",
        "With FACK the very first SACK begins recovery if it shows more than dupthresh segments missing",
        "1 to 8 segments lost: with FACK the first SACK begins recovery whenever more than three are missing; without FACK it never does",
        (
            format!(
                "with FACK from {} missing segments on; without FACK {}",
                least.map_or("no number of".into(), |one| one.missing.to_string()),
                if without { "too" } else { "never" }
            ),
            beyond.clone().count() > 0 && beyond.clone().all(|one| one.with_fack) && !without,
        ),
    )
    .paper("more than dupthresh missing")
    .note("three missing segments suffice, because Linux counts the SACKed segment, too (fackets_out > reordering)")
}

fn holes_marked(data: &Data) -> Claim {
    let not = data.holes.iter().filter(|hole| !hole.is_marked);
    let not: Vec<u64> = not.map(|hole| hole.segment).collect();
    claim(
        "fack-marks-all-holes",
        "3.2",
        "Once in recovery, all holes below the highest SACK are assumed to be lost and marked",
        "segments 1 and n of 20 lost, n from 2 to 19: n is marked lost when all others are SACKed",
        (
            format!(
                "{} of {} marked{}",
                data.holes.len() - not.len(),
                data.holes.len(),
                if not.is_empty() {
                    String::new()
                } else {
                    format!("; not segment {}", list(&not))
                }
            ),
            not.is_empty() && !data.holes.is_empty(),
        ),
    )
    .note(
        "Linux marks the holes that lie at least dupthresh below the highest SACK (tcp_update_scoreboard). It retransmits the others all the \
         same, see holes-repaired",
    )
}

fn holes_repaired(data: &Data) -> Claim {
    let repaired = data.holes.iter().filter(|hole| hole.is_repaired).count();
    claim(
        "holes-repaired",
        "3.2",
        "All holes below the highest SACK are retransmitted in recovery",
        "segments 1 and n of 20 lost, n from 2 to 19, nothing more to send: n is retransmitted, and no timeout occurs",
        (format!("{repaired} of {}", data.holes.len()), repaired == data.holes.len() && repaired > 0),
    )
}

/// When segment 1 was retransmitted, and by what trigger.
fn of_first(trace: &Trace) -> Vec<(f64, Trigger)> {
    let all = trace.retransmissions();
    all.filter(|(_, number, _)| *number == 1).map(|(at, _, trigger)| (at, trigger)).collect()
}

/// The ACK with which this many segments are delivered.
fn after_delivering(trace: &Trace, segments: u32) -> Option<&Step> {
    let mut delivered = 0;
    // The first step delivers the SYN.
    trace.steps.iter().skip(1).find(|step| {
        delivered += step.delivered;
        delivered >= segments
    })
}

fn lost_retransmission(data: &Data) -> Claim {
    let trace = &data.lost_again[0];
    let mark = trace.steps.iter().find(|step| {
        let mut marked = step.marked.iter();
        marked.any(|one| *one == (1, LossDetector::LostRetransmission))
    });
    // What was sent by the time of the retransmission but for segment 1, and one segment more.
    let again = trace.steps.iter().position(|step| !step.again.is_empty());
    let sent_before = &trace.steps[..=again.unwrap_or(0)];
    let sent_before = sent_before.iter().map(|step| step.new).sum();
    let reported = after_delivering(trace, sent_before).map(|step| step.at_ms);
    let found = mark.map(|step| step.at_ms);
    let again = of_first(trace).get(1).copied();
    claim(
        "lost-retransmission",
        "3.2",
        "If new data sent after a retransmission is SACKed, Linux takes the retransmission for lost",
        "segment 1 and its retransmission lost: it is marked lost by the first ACK that reports data sent later, and retransmitted at once",
        (
            format!(
                "marked at {}, first report of later data at {}",
                found.map_or("no time".into(), |ms| format!("{ms:.1} ms")),
                reported.map_or("no time".into(), |ms| format!("{ms:.1} ms")),
            ),
            found.is_some()
                && found == reported
                && again.is_some_and(|(at, trigger)| trigger == Trigger::Fast && Some(at) == found),
        ),
    )
}

fn additional_round_trip(data: &Data) -> Claim {
    let [with, _, without] = &data.lost_again;
    let longer = with.recovery_ms().zip(without.recovery_ms()).map(|(with, without)| with - without);
    claim(
        "lost-retransmission-rtts",
        "2.1",
        "With detection of lost retransmissions, a lost one costs additional RTTs in recovery, and no timeout",
        "segment 1 and its retransmission lost: recovery is at least one RTT (100 ms) longer than with segment 1 lost alone, without a timeout",
        (
            format!("{} longer, {} timeouts", longer.map_or("not".into(), |ms| format!("{ms:.0} ms")), with.timeouts()),
            longer.is_some_and(|ms| ms >= 100.0) && with.timeouts() == 0,
        ),
    )
}

fn undetected(data: &Data) -> Claim {
    let timeouts = data.lost_again[1].timeouts();
    claim(
        "undetected-timeout",
        "2.1",
        "Without detection of lost retransmissions, a lost one causes a timeout",
        "the same without FACK, and so without the detection: at least one timeout",
        (format!("{timeouts} timeouts"), timeouts > 0),
    )
}

fn entries(entries: Entries) -> String {
    format!("{} of {}", entries.by_fack, entries.all)
}

fn reordering_ends_fack(data: &Data) -> Claim {
    let found = data.reordering;
    let after = found.small.by_fack + found.large.by_fack;
    let cases = found.small.all.min(found.large.all);
    claim(
        "reordering-ends-fack",
        "3.2",
        "If any reordering is detected, FACK is disabled for the connection",
        "random losses and reordering: no recovery begins with fewer than dupthresh SACKed segments once a segment was late; some do before",
        (
            format!(
                "begun by FACK: {} before, {} after a segment late by at most dupthresh, {} after a later one",
                entries(found.none),
                entries(found.small),
                entries(found.large)
            ),
            after == 0 && cases > 0 && found.none.by_fack > 0,
        ),
    )
    .note(
        "Linux disables FACK when it raises dupthresh, for which a segment must be late by more than dupthresh (tcp_update_reordering); \
         dupthresh is then that distance, and not the conventional three",
    )
}

fn large_reordering_ends_fack(data: &Data) -> Claim {
    let found = data.reordering;
    ours(claim(
        "large-reordering-ends-fack",
        "3.2",
        "If a segment is late by more than dupthresh, FACK is disabled for the connection",
        "the same flows: no recovery begins with fewer than dupthresh SACKed segments after such reordering; some do before any",
        (
            format!("begun by FACK: {} before, {} after", entries(found.none), entries(found.large)),
            found.large.by_fack == 0 && found.large.all > 0 && found.none.by_fack > 0,
        ),
    ))
}

fn alternate_acks(data: &Data) -> Claim {
    let sent = data.one_lost.sent_per_ack();
    // The ACKs of the first flight alone: those that show the loss are three.
    let first: Vec<u32> = sent.into_iter().take(FLIGHT as usize - 5).collect();
    let alternates = first.windows(2).all(|pair| (pair[0] == 0) != (pair[1] == 0));
    claim(
        "linux-alternate-acks",
        "3.2",
        "In recovery Linux sends data in response to alternate ACKs",
        "segment 1 of 20 lost, plenty to send: of the first 15 ACKs of recovery, every second one releases a segment",
        (list(&first), alternates && first.len() == FLIGHT as usize - 5 && first.iter().all(|sent| *sent <= 1)),
    )
}

/// Segments sent per ACK while pipe is above ssthresh.
fn rate_while_falling(trace: &Trace) -> f64 {
    let falling = trace.recovery_acks().skip(1).take_while(|step| step.pipe > step.ssthresh);
    let (acks, sent) = falling.fold((0.0, 0.0), |(acks, sent), step| (acks + 1.0, sent + f64::from(step.sent())));
    sent / acks
}

fn halves_for_cubic(data: &Data) -> Claim {
    let [linux, prr] = [0, 1].map(|i| rate_while_falling(&data.cubic[i]));
    let end = data.cubic[0].recovery().and_then(|(steps, _)| steps.last());
    claim(
        "halving-for-cubic",
        "3.2",
        "Rate halving halves the rate, although CUBIC reduces the window by less than 50 %",
        "CUBIC, one segment of 100 lost, plenty to send: while pipe is above ssthresh, Linux sends 0.45 to 0.55 segments per ACK and PRR 0.65 to 0.75",
        (
            format!("Linux {linux:.2}, PRR {prr:.2} segments per ACK"),
            (0.45..=0.55).contains(&linux) && (0.65..=0.75).contains(&prr),
        ),
    )
    .paper("one segment per two ACKs")
    .note(end.map_or(String::new(), |end| {
        format!(
            "the window does not halve: with CUBIC, Linux stops at ssthresh (cwnd {}, ssthresh {} before the last ACK), because CUBIC sets no smaller minimum",
            end.cwnd, end.ssthresh
        )
    }))
}

fn follows_pipe(data: &Data) -> Claim {
    let acks = || data.heavy.iter().flat_map(Trace::recovery_acks);
    let above = acks().filter(|step| step.cwnd > step.pipe_before_sending() + 1);
    let (above, all) = (above.count(), acks().count());
    claim(
        "linux-follows-pipe",
        "3.2",
        "On every ACK that reduces pipe, Linux reduces cwnd to pipe + 1",
        "the first 1 to 12 of 20 segments lost, nothing more to send: cwnd ≤ pipe + 1 after each ACK of recovery",
        (format!("broken by {above} of {all} ACKs"), above == 0 && all > 0),
    )
}

fn window_of_one(data: &Data) -> Claim {
    let calm = data.lonely.iter().filter(|one| one.timeouts == 0);
    let least = calm.map(|one| one.cwnd).min();
    claim(
        "linux-window-of-one",
        "3.2",
        "Without new data cwnd can be one by the end of recovery, although only one segment is lost",
        "each segment but the last three of flows of 5, 10 and 20 segments lost: the smallest window after recovery, without a timeout, is one",
        (
            least.map_or("no recovery".into(), |least| least.to_string()),
            least == Some(1),
        ),
    )
    .note(
        "it is one where the last duplicate ACK begins recovery, with nothing in flight; elsewhere it is two, as in figure 2: the retransmission is in \
         flight when the window is reduced for the last time",
    )
}

fn slow_start_after_one_loss(data: &Data) -> Claim {
    let ends = |trace: &Trace| {
        let end = trace.recovery().and_then(|(_, end)| end);
        end.map_or((0, 0), |end| (end.cwnd, end.ssthresh))
    };
    let took = |trace: &Trace| trace.acked_ms(30).map_or(f64::NAN, |ms| ms - 500.0);
    let [linux, prr] = &data.next_write;
    let (cwnd, ssthresh) = ends(linux);
    let timeouts = linux.timeouts();
    claim(
        "linux-slow-start-after-one-loss",
        "3.2",
        "After recovery Linux slow starts from a very small window, although only one segment was lost and no timeout occurred",
        "segment 1 of 20 lost, ten more written at 500 ms: cwnd after recovery is at most 3 and below ssthresh, no timeout; the ten take Linux at least \
         one RTT (100 ms) longer than PRR",
        (
            format!(
                "cwnd {cwnd}, ssthresh {ssthresh}, {timeouts} timeouts; ten segments in {:.0} ms (PRR {:.0} ms)",
                took(linux),
                took(prr)
            ),
            cwnd <= 3 && cwnd < ssthresh && timeouts == 0 && took(linux) - took(prr) >= 100.0,
        ),
    )
}
