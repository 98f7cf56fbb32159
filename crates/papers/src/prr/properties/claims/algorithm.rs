//! The claims of §1, §3.1, §4 and §4.2: the parts of algorithm 2, and DeliveredData.

use super::{Cells, PAPER};
use crate::claims::{Claim, ClaimVerdict, claim};
use crate::prr::properties::{Network, Property, PropertyCell, Scheme};
use recoup_support::stats::Share;

/// All claims.
pub fn all(c: &Cells<'_>) -> Vec<Claim> {
    vec![
        window_as_intended(c),
        slow_start_part(c),
        inhibits(c),
        progress(c),
        observed(c),
        observed_anywhere(c),
        linux_pipe(c),
        rfc_banks(c),
        rfc_sends_nothing(c),
        rfc_timeouts(c),
    ]
}

/// A count of the flows of some schemes on all networks.
fn total(c: &Cells<'_>, schemes: &[Scheme], of: fn(&PropertyCell) -> u64) -> u64 {
    c.of(schemes).map(of).sum()
}

fn window_as_intended(c: &Cells<'_>) -> Claim {
    let share = |schemes: &[Scheme]| {
        let complete = total(c, schemes, |cell| cell.complete);
        (total(c, schemes, |cell| cell.at_ssthresh), complete)
    };
    let [prr, cubic, linux] = [Scheme::Prr, Scheme::PrrCubic, Scheme::Linux].map(|scheme| share(&[scheme]));
    claim(
        "window-as-intended",
        "1, 4",
        "With any congestion control, PRR ends recovery with the window that the congestion control chose",
        "Reno and CUBIC: cwnd is ssthresh after each recovery that completes; ssthresh may have fallen in recovery, by HyStart",
        (
            format!("Reno {} of {}, CUBIC {} of {} (Linux {} of {})", prr.0, prr.1, cubic.0, cubic.1, linux.0, linux.1),
            prr.0 == prr.1 && cubic.0 == cubic.1 && prr.1 > 0 && cubic.1 > 0,
        ),
    )
}

fn slow_start_part(c: &Cells<'_>) -> Claim {
    claim(
        "slow-start-part",
        "4.2, algorithm 2",
        "With pipe at most ssthresh, an ACK undoes past reductions (prr_delivered − prr_out), or lets pipe grow as in slow start, until pipe is ssthresh",
        "with data to send, the segments sent on each ACK = min(ssthresh − pipe, max(prr_delivered − prr_out, DeliveredData) + 1), at least one on the ACK that \
         begins recovery; Reno and CUBIC",
        c.sum(PAPER, Property::SlowStarts).ours("ACKs"),
    )
}

fn inhibits(c: &Cells<'_>) -> Claim {
    let others = c.sum(&[Scheme::Linux], Property::Inhibits);
    let (ours, holds) = c.sum(PAPER, Property::Inhibits).ours("ACKs");
    claim(
        "inhibits-reductions",
        "4",
        "Once pipe is below ssthresh, the second part inhibits further reductions, if there are new data to send",
        "pipe ≤ ssthresh, data to send, no further loss shown: after the ACK pipe is at least as large as before, or at ssthresh; Reno and CUBIC",
        (format!("{ours} (Linux {} of {})", others.broken, others.cases), holds),
    )
}

fn progress(c: &Cells<'_>) -> Claim {
    claim(
        "delivered-is-progress",
        "4.2",
        "The sum of DeliveredData agrees with the forward progress over the same time",
        "after each ACK of recovery: prr_delivered = the progress of snd_una + that of the SACKed segments since recovery began; Reno and CUBIC",
        c.sum(PAPER, Property::Progress).ours("ACKs"),
    )
}

fn observed(c: &Cells<'_>) -> Claim {
    claim(
        "delivered-observed",
        "4.2",
        "With SACK, DeliveredData can be computed precisely by inspecting the returning ACKs",
        "each ACK of recovery: an observer who sees only the ACK numbers and SACK blocks that arrive finds the sender's DeliveredData; Reno and CUBIC",
        c.sum(PAPER, Property::Observed).ours("ACKs"),
    )
}

fn observed_anywhere(c: &Cells<'_>) -> Claim {
    let found = c.sum(PAPER, Property::ObservedAnywhere);
    let networks = c.networks(PAPER, Property::ObservedAnywhere);
    claim(
        "delivered-anywhere",
        "4.2",
        "With SACK, the sum of DeliveredData is the same anywhere in the network",
        "after each ACK of recovery: the data delivered are those that an observer at the receiver has seen up to the newest ACK that arrived, although he also \
         sees the ACKs that are lost later; Reno and CUBIC",
        found.ours("ACKs"),
    )
    .note(match networks.as_str() {
        "" => "it holds although some ACKs were lost, because each SACK block covers all that arrived next to it".into(),
        networks => format!(
            "networks with failures: {networks}. An ACK has room for three or four SACK blocks. With more gaps, the blocks of lost ACKs are missing until the \
             cumulative ACK passes them"
        ),
    })
}

fn linux_pipe(c: &Cells<'_>) -> Claim {
    let of = |network| c.get(network, Scheme::Linux).check(Property::Shrinks);
    let [heavy, stalls] = [Network::Bursts, Network::Stalls].map(of);
    claim(
        "linux-pipe-shrinks",
        "4.3 (2)",
        "With heavy losses or a stalled application, Linux's pipe does not grow until recovery ends",
        "bursts of losses, and stalls: no ACK of recovery leaves pipe larger than before it",
        (
            format!("broken by {} of {} and {} of {} ACKs", heavy.broken, heavy.cases, stalls.broken, stalls.cases),
            heavy.broken + stalls.broken == 0 && heavy.cases > 0 && stalls.cases > 0,
        ),
    )
}

fn rfc_banks(c: &Cells<'_>) -> Claim {
    let most = |scheme| c.get(Network::Stalls, scheme).most_with_a_write;
    let [rfc, linux] = [Scheme::Rfc3517, Scheme::Linux].map(most);
    claim(
        "rfc3517-banks",
        "4.3 (3)",
        "RFC 3517 also banks missed sending opportunities, through ssthresh − pipe",
        "with application stalls: its largest burst on a write in recovery is several segments, and larger than Linux's",
        (format!("{rfc} segments (Linux {linux})"), rfc > 1 && rfc > linux),
    )
}

fn apart(more: Share, less: Share) -> ClaimVerdict {
    if more.low > less.high {
        ClaimVerdict::Holds
    } else if more.high < less.low {
        ClaimVerdict::Fails
    } else {
        ClaimVerdict::Undecided
    }
}

fn rfc_sends_nothing(c: &Cells<'_>) -> Claim {
    let share = |scheme| {
        let sent_one = total(c, &[scheme], |cell| cell.sent_one);
        Share::of(sent_one, total(c, &[scheme], |cell| cell.recoveries))
    };
    let [rfc, prr] = [Scheme::Rfc3517, Scheme::Prr].map(share);
    claim(
        "rfc3517-sends-nothing",
        "3.1",
        "RFC 3517's half RTT of silence sometimes results in nothing being sent in recovery",
        "recoveries with data to send in which only the first retransmission is sent: a larger share of RFC 3517's than of PRR's, intervals apart",
        (format!("RFC 3517 {rfc}, PRR {prr}"), false),
    )
    .verdict(apart(rfc, prr))
    .note("it happens with both; the difference is too small for these flows to decide")
}

fn rfc_timeouts(c: &Cells<'_>) -> Claim {
    let share = |scheme| {
        let timed_out = total(c, &[scheme], |cell| cell.timed_out);
        Share::of(timed_out, total(c, &[scheme], |cell| cell.recoveries))
    };
    let [rfc, prr] = [Scheme::Rfc3517, Scheme::Prr].map(share);
    claim(
        "rfc3517-silence-timeouts",
        "3.1",
        "RFC 3517's silence increases the chances of timeouts",
        "all networks: a larger share of RFC 3517's recoveries ends in a timeout than of PRR's, intervals apart",
        (format!("RFC 3517 {rfc}, PRR {prr}"), false),
    )
    .verdict(apart(rfc, prr))
    .note("both have about as many; the difference is too small for these flows to decide")
}
