//! Which copies of a piece arrived: the story that takes the fewest mishaps.
//!
//! A story says of each copy whether it arrived, which one was taken first, and what ACK each arrival drew:
//! the first one the ACK that covers the piece, each later one a DSACK. It costs
//!
//! ```text
//! 1  LOST         a packet is lost: a copy, or the ACK that an arrival drew
//! 1  LATE         a copy comes although a segment sent later had come, or when a later copy could have
//! 2  OUTRUN       a copy comes after one sent to replace it
//! 1  FASTER       an arrival is answered sooner than any before
//! 3  DOUBLED      a DSACK that none of the copies drew: the network doubled a packet; 0 if it is known to
//! 2  TOO_OLD      a copy is taken although older than a timestamp echoed before (PAWS)
//! 1  UNEXPLAINED  an ACK that says nothing, which only a copy of this piece can have drawn, and none did
//! 2  COINCIDENCE  the echo is of a copy that was lost: of another segment of the same tick
//! 1  STALE        a copy fills the hole, and is not echoed; 3 if it is the last one (STALE_LAST)
//! ```
//!
//! A copy is spurious if the cheapest story in which an earlier-sent copy arrived costs less than the
//! cheapest in which none did, needed if more, and unknowable if they cost the same. Costs are whole
//! numbers because their meaning is: mishaps of about a percent each. What they leave undecided stays so.
//!
//! What rules a story out, or makes it dearer:
//!
//! - **Time.** Nothing is answered in much less than the least round-trip time, if it is not its own
//!   timestamp that is echoed.
//! - **Timestamps** (RFC 7323 §4.3). At the left edge of the window the segment that fills the hole becomes
//!   TS.Recent, so the ACK of it echoes its timestamp, and an older echo proves that it was not that copy.
//!   Above a hole, and behind another segment in one delayed ACK, the echo says nothing. A duplicate below
//!   the left edge is echoed too, beside its DSACK, as RFC 7323 has it (RFC 1323 had not). Linux leaves
//!   TS.Recent as it is when the segment acknowledges less than an earlier one did (STALE); its request
//!   socket echoes the first SYN it got, whatever comes after, and a client the first SYN-ACK.
//! - **Age** (RFC 7323 §5.3, PAWS). What is older than TS.Recent is refused, see [`mutes`](super::mutes).
//!   Where ACKs come out of order the answer may not be recognized, and costs nothing then.
//! - **Duplicates.** Each arrival but the first draws one DSACK, once: with its ACK it can be lost. A SYN
//!   draws none, nor does anything after the receiver is closed, or after the capture ended. A DSACK of
//!   what went only once shows that the path doubles packets: then a DSACK proves no second copy.

use super::clues::{Clues, Known, LATE, NEVER, OUTRUN, UNEXPLAINED};
use super::mutes::Refusal;
use super::pieces::{MOST_REPORTS, Piece};
use crate::finding::{Evidence, Verdict};

const AMBIGUOUS: (Verdict, Evidence) = (Verdict::Unknowable, Evidence::Ambiguous);

/// The stories that fit a piece.
#[derive(Debug)]
pub(super) struct Story<'a> {
    copies: usize,
    /// `None`: it was never acknowledged.
    clues: Option<Clues<'a>>,
    /// By the copy that is the first-sent one to arrive: the fewest mishaps.
    least: Vec<u32>,
}

/// How a story begins.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    /// The first-sent copy that arrived.
    earliest: usize,
    /// The one that was taken first.
    first: usize,
    /// Whether that drew the ACK that covers the piece; else its ACK was lost.
    drew: bool,
    /// The copy that was refused, and answered by an ACK that says nothing.
    refused: Option<usize>,
}

impl<'a> Story<'a> {
    pub fn new(piece: &'a Piece, refusal: Refusal, known: Known) -> Self {
        let clues = Clues::of(piece, refusal, known);
        let copies = piece.copies.len();
        let least = |clues: &Clues<'_>| (0..copies).map(|m| fewest(clues, m)).collect();
        Self {
            copies,
            least: clues.as_ref().map_or(Vec::new(), least),
            clues,
        }
    }

    /// What is to be said of copy `number`, from 1.
    pub fn verdict(&self, number: usize) -> (Verdict, Evidence) {
        let Some(clues) = &self.clues else {
            return (Verdict::Unknowable, Evidence::NotAcknowledged);
        };
        let (before, from) = self.least.split_at(number.min(self.least.len()));
        let cheapest = |stories: &[u32]| stories.iter().copied().min().unwrap_or(NEVER);
        let (spurious, needed) = (cheapest(before), cheapest(from));
        let named = (number..self.copies).any(|copy| clues.is_named(copy));
        let reports = clues.known.facts.reports_duplicates;
        if spurious < needed {
            let why = why_spurious(clues, number);
            why.map_or(AMBIGUOUS, |why| (Verdict::Spurious, why))
        } else if needed < spurious && named {
            (Verdict::Needed, Evidence::TimestampEcho)
        } else if !reports {
            (Verdict::Unknowable, Evidence::NoReports)
        } else if needed < spurious {
            (Verdict::Needed, Evidence::NoDuplicate)
        } else {
            AMBIGUOUS
        }
    }

    /// How many steps it takes to tell the stories of a piece, about: some ns each.
    pub fn steps(piece: &Piece, refusal: Refusal) -> u64 {
        let (copies, reports) = (piece.copies.len() as u64, piece.reports.len() as u32);
        let refused = if refusal.echo.is_some() { copies } else { 1 };
        let beginnings = copies * (copies + 1) * refused;
        beginnings * copies * (1 + u64::from(reports) * (1 << reports) / 2)
    }
}

/// `None`: that packets come more often than they are lost is no evidence.
fn why_spurious(clues: &Clues<'_>, number: usize) -> Option<Evidence> {
    if !clues.piece.reports.is_empty() {
        Some(Evidence::Dsack)
    } else if !clues.is_in_time(number) {
        Some(Evidence::AckTooEarly)
    } else {
        let told = clues.echoes_another(number) || clues.refusal.echo.is_some();
        told.then_some(Evidence::TimestampEcho)
    }
}

/// The fewest mishaps when no copy before `earliest` arrived and that one did.
fn fewest(clues: &Clues<'_>, earliest: usize) -> u32 {
    let copies = earliest..clues.piece.copies.len();
    let beginnings = copies.clone().flat_map(|first| {
        let refused = (copies.clone()).filter(move |&c| c != first && clues.was_refused(c));
        let refused = refused.map(Some).chain([None]);
        refused.flat_map(move |refused| {
            [true, false].map(|drew| Beginning {
                earliest,
                first,
                drew,
                refused,
            })
        })
    });
    beginnings.fold(NEVER, |least, beginning| {
        mishaps(clues, beginning, least).min(least)
    })
}

/// The fewest of stories that begin so, where that is less than `least`.
fn mishaps(clues: &Clues<'_>, beginning: Beginning, least: u32) -> u32 {
    let Beginning {
        earliest,
        first,
        drew,
        refused,
    } = beginning;
    let taken = if drew {
        clues.drew_cover(first)
    } else {
        clues.drew_lost(first)
    };
    let unexplained = clues.must_be_refused() && refused.is_none();
    let known = (0..earliest).map(|copy| clues.lost(copy)).sum::<u32>()
        + taken
        + if unexplained { UNEXPLAINED } else { 0 };
    if known >= least {
        return least;
    }
    known + others(clues, beginning)
}

/// The fewest of the copies after the earliest, but the first taken: each was lost, refused, or drew one of
/// the reports, seen or not.
fn others(clues: &Clues<'_>, beginning: Beginning) -> u32 {
    let Beginning {
        earliest,
        first,
        drew,
        refused,
    } = beginning;
    // By the set of reports accounted for so far.
    let reports = &clues.piece.reports;
    let sets = 1 << reports.len().min(MOST_REPORTS);
    let mut least = [NEVER; 1 << MOST_REPORTS];
    least[0] = 0;
    for copy in (earliest..clues.piece.copies.len()).filter(|&copy| copy != first) {
        if refused == Some(copy) {
            least.iter_mut().for_each(|so_far| *so_far += LATE);
            continue;
        }
        let outrun = if copy < first { OUTRUN } else { 0 };
        let mut unseen = outrun + clues.unreported(copy, first, drew);
        unseen = unseen.min(clues.refused_unseen(copy));
        if copy != earliest {
            unseen = unseen.min(clues.lost(copy));
        }
        let mut next = least.map(|so_far| so_far + unseen);
        for (number, report) in reports.iter().enumerate().take(MOST_REPORTS) {
            let drawn = outrun + clues.drew_report(copy, report);
            for set in (0..sets).filter(|set| set >> number & 1 == 0) {
                let with = &mut next[set | 1 << number];
                *with = (*with).min(least[set] + drawn);
            }
        }
        least = next;
    }
    let unaccounted = |set: usize| reports.len() as u32 - set.count_ones();
    (least.iter().enumerate().take(sets))
        .map(|(set, mishaps)| mishaps + unaccounted(set) * clues.doubled())
        .min()
        .unwrap_or(NEVER)
}
