//! The claims of §3.3.
//!
//! The paper selects downloads with a retransmission in one of the last four segments of an object. With a mechanism that
//! retransmits often without need, these are other downloads than with the baseline. So each claim about OCTs is checked
//! for the downloads with a loss in these segments, too; those are nearly the same with all mechanisms. Mechanisms are compared by the geometric means of the downloads' OCTs, the reduction in percent. An arithmetic
//! mean would depend on a few downloads: while the channel is bad, half of the retransmissions are lost, and each loss
//! doubles the timeout, so that the mean of the time lost is not bounded. A difference whose 95 % confidence interval
//! contains zero is undecided.

mod setup;
mod spurious;

use super::columns::share_below;
use super::{PAPERS_DOWNLOADS, Selection, WebCell, difference};
use crate::prelude::*;
use crate::tail_loss::cell::{MECHANISMS, Mechanism};
use Mechanism::{Baseline, Rtor, Tlp, Tlpr};
use std::fmt::Write;

/// The paper's shares of downloads of the newspaper below 1 s at 160 ms (figure 4f), in percent.
const PAPERS_BELOW_1_S: [(Mechanism, f64); 3] = [(Rtor, 84.0), (Tlp, 74.0), (Baseline, 70.0)];

/// All claims.
pub fn all(cells: &[WebCell]) -> Vec<Claim> {
    let [paper, by_loss] = Selection::ALL.map(|selection| Cells { cells, selection });
    let [better, probes, halved, tlpr, rtor] = paper.about_octs();
    let mut claims = vec![
        setup::sites(),
        setup::loss_rate(cells),
        setup::selection_shows_more(paper),
        better,
        probes,
        halved,
        paper.less_pronounced(),
        tlpr,
        rtor,
        paper.newspaper(),
        paper.newspaper_shares(),
    ];
    let [better, probes, halved, tlpr, rtor] = by_loss.about_octs();
    let better = if cells.iter().all(|cell| cell.downloads.len() >= PAPERS_DOWNLOADS) {
        better
    } else {
        better.noted("newspaper-needs-more")
    };
    claims.extend([better, probes, halved, tlpr, rtor]);
    claims.push(spurious::probes(cells));
    claims.push(spurious::order(cells));
    claims.push(spurious::shares_are_the_papers(cells));
    claims.push(spurious::costs_no_time(cells));
    claims
}

/// The cells of the figure, and the downloads to compare.
#[derive(Clone, Copy)]
struct Cells<'a> {
    cells: &'a [WebCell],
    selection: Selection,
}

impl Cells<'_> {
    fn about_octs(self) -> [Claim; 5] {
        [
            self.better_than_baseline(),
            self.probes_gain_most(),
            self.halved(),
            self.restart_and_probe_is_best(),
            self.restart_beats_probe(),
        ]
    }

    /// One of these by the selection.
    fn either<T>(self, paper: T, by_loss: T) -> T {
        match self.selection {
            Selection::Retransmission => paper,
            Selection::Loss => by_loss,
        }
    }

    /// The cells with this round-trip time, by page.
    fn by_page(&self, rtt_ms: u64) -> impl Iterator<Item = [&WebCell; MECHANISMS.len()]> {
        self.cells
            .chunks_exact(MECHANISMS.len())
            .filter(move |group| group[0].rtt_ms == rtt_ms)
            .map(|group| std::array::from_fn(|i| &group[i]))
    }

    /// By how much `better` reduces the OCT of `worse` on each page, in percent of the geometric mean.
    fn saved(&self, rtt_ms: u64, better: Mechanism, worse: Mechanism) -> Vec<(String, Estimate)> {
        let saved = |group: [&WebCell; MECHANISMS.len()]| {
            let [worse, better] = [worse, better].map(|one| group[one as usize]);
            let saved = in_percent(difference(worse, better, self.selection, f64::ln));
            let pair = format!("{} {} over {}", worse.site, better.mechanism.name(), worse.mechanism.name());
            (pair, saved)
        };
        self.by_page(rtt_ms).map(saved).collect()
    }

    /// Several of these.
    fn all_saved(&self, rtt_ms: u64, pairs: &[(Mechanism, Mechanism)]) -> Vec<(String, Estimate)> {
        let saved = |(better, worse): &(Mechanism, Mechanism)| self.saved(rtt_ms, *better, *worse);
        pairs.iter().flat_map(saved).collect()
    }

    fn better_than_baseline(&self) -> Claim {
        let better = [Rtor, Tlp, Tlpr];
        let saved = self.all_saved(10, &better.map(|one| (one, Baseline)));
        claim(self.either("web-10ms-better", "web-10ms-better-by-loss"))
            .shows(shown(&saved))
            .needs_all(positive(&saved))
    }

    fn probes_gain_most(&self) -> Claim {
        let probes = [Tlp, Tlpr];
        let saved = self.all_saved(10, &probes.map(|one| (one, Rtor)));
        claim(self.either("web-10ms-probes", "web-10ms-probes-by-loss"))
            .shows(shown(&saved))
            .needs_all(positive(&saved))
    }

    /// The reduction is read off the figure as a reader does: at equal shares of the downloads.
    fn halved(&self) -> Claim {
        let (mut halved, mut all, mut most) = (0, 0, 0.0_f64);
        for group in self.by_page(10) {
            let octs = group.map(|cell| cell.octs(self.selection));
            for probe in [Tlp, Tlpr] {
                for decile in 1..10 {
                    let at = |mechanism: Mechanism| {
                        let octs = &octs[mechanism as usize];
                        octs.get((octs.len() * decile).div_ceil(10).saturating_sub(1))
                    };
                    let Some((with, without)) = at(probe).zip(at(Baseline)) else {
                        continue;
                    };
                    let reduction = 1.0 - with / without;
                    all += 1;
                    halved += usize::from(reduction > 0.5);
                    most = most.max(reduction);
                }
            }
        }
        claim!(
            self.either("web-10ms-halved", "web-10ms-halved-by-loss"),
            "{halved} of {all} deciles; largest reduction {:.0} %",
            most * 100.0
        )
        .holds(all > 0 && 4 * halved >= all)
    }

    fn restart_and_probe_is_best(&self) -> Claim {
        let others = [Baseline, Rtor, Tlp];
        let saved = self.all_saved(160, &others.map(|one| (Tlpr, one)));
        claim(self.either("web-160ms-tlpr", "web-160ms-tlpr-by-loss")).shows(shown(&saved)).needs_all(positive(&saved))
    }

    /// "On average": the mean of the three sites' differences. Their downloads have the same seeds, so their errors may
    /// go together, and the half widths are added.
    fn restart_beats_probe(&self) -> Claim {
        let saved = self.saved(160, Rtor, Tlp);
        let n = saved.len().max(1) as f64;
        let mean = Estimate {
            mean: saved.iter().map(|(_, one)| one.mean).sum::<f64>() / n,
            half: saved.iter().map(|(_, one)| one.half).sum::<f64>() / n,
        };
        claim!(self.either("web-160ms-rtor", "web-160ms-rtor-by-loss"), "{mean} % ({})", shown(&saved))
            .needs(mean.above(0.0))
    }

    fn newspaper(&self) -> Claim {
        let below = |oct: f64| f64::from(u8::from(oct < 1000.0));
        let newspaper = self.by_page(160).last();
        let more = |one: Mechanism, other: Mechanism| {
            newspaper.map_or(ClaimVerdict::Undecided, |group| {
                let [one, other] = [one, other].map(|mechanism| group[mechanism as usize]);
                difference(one, other, self.selection, below).above(0.0)
            })
        };
        let mut ours = String::new();
        for (mechanism, papers) in PAPERS_BELOW_1_S {
            let octs = newspaper.map(|group| group[mechanism as usize].octs(self.selection));
            let share = octs.and_then(|octs| share_below(&octs, 1000.0));
            let share = share.map_or("-".into(), |share| format!("{:.0}", share * 100.0));
            let separator = if ours.is_empty() { "" } else { ", " };
            // Writing to memory cannot fail.
            let _ = write!(ours, "{separator}{} {share} % (paper: {papers})", mechanism.name());
        }
        claim("web-newspaper-1s").shows(ours).needs(more(Rtor, Tlp)).needs(more(Tlp, Baseline))
    }

    /// The paper's shares of OCTs below 1 s, to five points.
    fn newspaper_shares(&self) -> Claim {
        let newspaper = self.by_page(160).last();
        let shares = PAPERS_BELOW_1_S.map(|(mechanism, papers)| {
            let octs = newspaper.map(|group| group[mechanism as usize].octs(self.selection)).unwrap_or_default();
            let below = octs.iter().filter(|oct| **oct < 1000.0).count();
            (mechanism, papers, Share::of(below as u64, octs.len() as u64))
        });
        let near = shares.map(|(_, papers, share)| share.within((papers - 5.0) / 100.0..(papers + 5.0) / 100.0));
        let shown = shares.map(|(mechanism, _, share)| format!("{} {share}", mechanism.name()));
        claim("web-newspaper-shares").shows(shown.join(", ")).needs_all(near)
    }

    /// The largest gain of a mechanism on each page, at both RTTs.
    fn less_pronounced(&self) -> Claim {
        let gains = |rtt_ms| {
            let saved = [Rtor, Tlp, Tlpr].map(|one| self.saved(rtt_ms, one, Baseline));
            let pages = saved[0].len();
            let of_page = |page: usize| {
                saved
                    .iter()
                    .map(|saved| saved[page].1)
                    .reduce(|one, other| if other.mean > one.mean { other } else { one })
            };
            (0..pages).filter_map(of_page).collect::<Vec<Estimate>>()
        };
        let [near, far] = [10, 160].map(gains);
        let sites = self.by_page(10).map(|group| group[0].site.clone());
        let (mut shown, mut parts) = (Vec::new(), Vec::new());
        for ((site, near), far) in sites.zip(&near).zip(&far) {
            shown.push(format!("{site} {near} % at 10 ms, {far} % at 160 ms"));
            parts.push(near.above(*far));
        }
        claim("web-160ms-less-pronounced").shows(shown.join("; ")).needs_all(parts)
    }
}

/// By how much the mechanism lengthens the baseline's OCTs of all objects of a download, as a difference of logarithms.
/// Download n has the same seed with both, so these are pairs.
fn of_all_downloads(baseline: &WebCell, other: &WebCell) -> Estimate {
    let longer = baseline
        .downloads
        .iter()
        .zip(&other.downloads)
        .filter_map(|(one, other)| Some(other.oct_ms?.ln() - one.oct_ms?.ln()));
    Estimate::of(longer.collect::<Vec<_>>().into_iter())
}

/// The reduction, in percent, of which this is the difference of logarithms.
fn in_percent(of_logarithms: Estimate) -> Estimate {
    let ratio = (-of_logarithms.mean).exp();
    Estimate { mean: 100.0 * (1.0 - ratio), half: 100.0 * ratio * of_logarithms.half }
}

/// Whether each of these is positive.
fn positive(saved: &[(String, Estimate)]) -> impl Iterator<Item = ClaimVerdict> {
    saved.iter().map(|(_, one)| one.above(0.0))
}

/// Reductions by pair, in percent.
fn shown(saved: &[(String, Estimate)]) -> String {
    let shown = saved.iter().map(|(pair, saved)| format!("{pair} {saved} %"));
    shown.joined("; ")
}
