//! The claims of §3.3.
//!
//! The paper selects by a retransmission in one of the last four segments of an object. With a mechanism that
//! retransmits often without need, these are other objects than with the baseline. So each claim about OCTs is checked
//! for the objects with a loss in these segments, too; those are nearly the same with all mechanisms. Mechanisms are compared by
//! the geometric means of the OCTs, the reduction in percent. An arithmetic mean would depend on a few objects: while the channel
//! is bad, a retransmission is lost too, and each loss doubles the timeout, so that the mean of the time lost is not bounded.
//! A difference whose 95 % confidence interval contains zero is undecided.

mod setup;
mod spurious;

use super::{Selection, WebCell, difference};
use crate::prelude::*;
use crate::tail_loss::cell::{MECHANISMS, Mechanism};
use Mechanism::{Baseline, Rtor, Tlp, Tlpr};

/// The paper's shares of OCTs of the newspaper below 1 s at 160 ms (figure 4f), in percent.
const PAPERS_BELOW_1_S: [(Mechanism, f64); 3] = [(Rtor, 84.0), (Tlp, 74.0), (Baseline, 70.0)];

/// All claims.
///
/// # Errors
/// Never with the committed files of the sites.
pub fn all(cells: &[WebCell]) -> Result<Vec<Claim>> {
    let [paper, by_loss] = [Selection::Object, Selection::ObjectByLoss].map(|selection| Cells { cells, selection });
    let mut claims = vec![setup::sites()?, setup::loss_rate(cells), setup::selection_shows_more(paper)];
    claims.extend(paper.about_octs());
    claims.extend([paper.less_pronounced(), paper.newspaper()]);
    claims.extend(paper.newspaper_shares());
    claims.extend(by_loss.about_octs());
    claims.extend([spurious::probes(cells), spurious::order(cells)]);
    claims.extend(spurious::shares_are_the_papers(cells));
    claims.push(spurious::costs_no_time(cells));
    Ok(claims)
}

/// What it costs and saves if an overdue probe waits for a full probe timeout, at 10 ms: `full` has the cells of that variant.
pub fn full_restart(cells: &[WebCell], full: &[WebCell]) -> Claim {
    let near = Cells { cells, selection: Selection::Object };
    let tlpr: Vec<&WebCell> = near.by_page(10).map(|group| group[Tlpr as usize]).collect();
    let share = |cells: &mut dyn Iterator<Item = &WebCell>| {
        let add = |(sent, of): (u64, u64), (more, spurious): (u64, u64)| (sent + more, of + spurious);
        let (sent, of) = cells.map(WebCell::spurious).fold((0, 0), add);
        Share::of(of, sent)
    };
    let [usual, waiting] = [share(&mut tlpr.iter().copied()), share(&mut full.iter())];
    let slower = tlpr.iter().zip(full).map(|(tlpr, full)| {
        let longer = difference(full, tlpr, Selection::ObjectByLoss, f64::ln);
        (
            full.site.clone(),
            Estimate { mean: 100.0 * longer.mean.exp_m1(), half: 100.0 * longer.mean.exp() * longer.half },
        )
    });
    let slower: Vec<(String, Estimate)> = slower.collect();
    let times = slower.iter().map(|(site, longer)| format!("{site} {longer} %")).joined(", ");
    claim!(
        "web-full-restart-is-less-spurious",
        "spurious {:.2e}, {:.2e} at once; OCT of objects with a loss: {times}",
        waiting.share,
        usual.share
    )
    .needs(usual.above(waiting))
}

/// The cells of the figure, and the OCTs to compare.
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
            Selection::ObjectByLoss | Selection::ConnectionByLoss => by_loss,
            Selection::Object | Selection::Connection => paper,
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

    /// The newspaper's cells of figure 4f.
    fn newspaper_cells(&self) -> Option<[&WebCell; MECHANISMS.len()]> {
        self.by_page(160).last()
    }

    fn newspaper(&self) -> Claim {
        let below = |oct: f64| f64::from(u8::from(oct < 1000.0));
        let newspaper = self.newspaper_cells();
        let more = |one: Mechanism, other: Mechanism| {
            newspaper.map_or(ClaimVerdict::Undecided, |group| {
                let [one, other] = [one, other].map(|mechanism| group[mechanism as usize]);
                difference(one, other, self.selection, below).above(0.0)
            })
        };
        let shown = self.shares_below_1_s().map(|(mechanism, paper, share)| {
            format!("{} {:.0} % (paper: {paper})", mechanism.name(), 100.0 * share.mean)
        });
        claim("web-newspaper-1s").shows(shown.join(", ")).needs(more(Rtor, Tlp)).needs(more(Tlp, Baseline))
    }

    /// The newspaper's shares below 1 s: the paper's in percent, and ours.
    fn shares_below_1_s(&self) -> [(Mechanism, f64, Estimate); 3] {
        let newspaper = self.newspaper_cells();
        PAPERS_BELOW_1_S.map(|(mechanism, paper)| {
            let share = newspaper.map(|group| group[mechanism as usize].below_1_s(self.selection));
            (mechanism, paper, share.unwrap_or(Estimate::UNKNOWN))
        })
    }

    /// The paper's shares of OCTs below 1 s, to five points.
    fn newspaper_shares(&self) -> [Claim; 3] {
        self.shares_below_1_s().map(|(mechanism, paper, share)| {
            let id = match mechanism {
                Rtor => "web-newspaper-rtor",
                Tlp => "web-newspaper-tlp",
                _ => "web-newspaper-baseline",
            };
            let near = share.within((paper - 5.0) / 100.0..(paper + 5.0) / 100.0);
            claim!(id, "{} %", share * 100.0).needs(near)
        })
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
