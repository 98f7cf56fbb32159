//! §3.2, figure 3: short flows on a congested bottleneck, whose full queue decides what is lost.
//!
//! The world is the built-in scenario `tail-loss-dumbbell` with the rates of the fit of the same name. The foreground is flows of 4, 10 or 100
//! segments, one after another; the background is Tmix traffic in both directions, whose connections begin at the same times whatever
//! the mechanism. Its load is adjusted until the bottleneck loses 1.5 ± 0.1 % of its packets.
//!
//! The paper's distributions are "for flows that have at least one loss in the four last segments". It does not say
//! how a loss was noticed. We ask which segments were lost when they were first sent. A choice by retransmission would
//! depend on the mechanism, because some retransmissions are spurious; how many flows it takes is printed beside it.
//!
//! The network of two mechanisms is never the same, because the background reacts to the foreground. So no flow of one
//! can be compared with a flow of the other, and differences have the confidence intervals of independent samples.
//!
//! Deviations from the paper: many pairs of hosts run flows at once, each one flow after another, which gives more flows for the
//! same background; a flow begins a random time after the last has ended, 500 ms on average, because a fixed
//! interval cannot be shorter than a flow; worlds last 40 s and not ten minutes, and there are several. The paper gives the loss rate
//! and the delay of the queue, but no rate. The rates of the bottleneck and of the hosts' links, and how much of the background
//! goes the other way, are fitted to what the paper prints of its environment and its baseline (fit `tail-loss-dumbbell`): the
//! shares of loss episodes that are tails, and the baseline's spurious retransmissions. Completion times were held out. That
//! bursts must reach the queue nearly undivided fits hosts with segmentation offload, and dummynet, which releases packets at ticks
//! of 1 ms. The foreground's hosts have the timers of Linux 3.17 (jiffies at 250 Hz, [`recoup_sim::TimerModel`]). The 100-segment
//! panels have 5 ms and 160 ms, the first of which the stored text of the paper does not show.

mod claims;
mod columns;
mod run;
mod watch;

pub use watch::{Flow, Segments};

use super::NAME;
use super::cell::{Acks, MECHANISMS, Mechanism};
use crate::distribution;
use crate::prelude::*;
use recoup_lab::world::{Calibration, LinkResult};
use run::{Amount, Calibrated, LOSS, calibrated, run_foreground};
use watch::Watch;

/// The figure's name.
pub const ID: &str = "fig3";

/// The fit of the environment.
pub const FIT: Fitted = Fitted {
    name: "tail-loss-dumbbell",
    toml: include_str!("../../fits/tail-loss-dumbbell.toml"),
    measure: run::measure_baseline,
};

/// The world's name among the built-in scenarios.
pub const WORLD: &str = "tail-loss-dumbbell";

/// The sizes of foreground flows, in segments.
pub const SIZES: [u64; 3] = [4, 10, 100];

/// The one-way delays of foreground flows, in ms.
pub const DELAYS: [u64; 3] = [5, 40, 160];

/// The settings that a foreground flow's cell or its world sets.
pub const OWN_SETTINGS: [&str; 14] = [
    "rtt",
    "rate",
    "queue",
    "link",
    "drop",
    "reorder",
    "duplicate",
    "corrupt",
    "request",
    "segments",
    "writes",
    "exchanges",
    "ack",
    "close",
];

/// The flows of one mechanism in one network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreground {
    /// Segments of a flow.
    pub size: u64,
    /// The one-way delay without queueing, in ms.
    pub owd_ms: u64,
    /// The receiver.
    pub acks: Acks,
}

/// The panels of the paper's figure 3, a to f.
pub const PANELS: [(char, Foreground); 6] = {
    const fn flows(size: u64, owd_ms: u64, acks: Acks) -> Foreground {
        Foreground { size, owd_ms, acks }
    }
    [
        ('a', flows(4, 5, Acks::Quick)),
        ('b', flows(4, 5, Acks::Delayed)),
        ('c', flows(100, 5, Acks::Quick)),
        ('d', flows(4, 160, Acks::Quick)),
        ('e', flows(4, 160, Acks::Delayed)),
        ('f', flows(100, 160, Acks::Quick)),
    ]
};

impl Foreground {
    /// Every combination of size, delay and receiver.
    pub fn all() -> impl Iterator<Item = Self> {
        SIZES
            .into_iter()
            .flat_map(|size| DELAYS.map(|owd_ms| (size, owd_ms)))
            .flat_map(|(size, owd_ms)| [Acks::Quick, Acks::Delayed].map(|acks| Self { size, owd_ms, acks }))
    }

    /// The panel that shows it.
    pub fn panel(self) -> Option<char> {
        PANELS.into_iter().find(|(_, flows)| *flows == self).map(|(letter, _)| letter)
    }

    /// The last four segments of a flow.
    const fn tail(self) -> Segments {
        0b1111 << (self.size - 4)
    }

    /// The last segment of a flow.
    const fn last(self) -> Segments {
        1 << (self.size - 1)
    }
}

/// Which of the last four segments were lost when first sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Only the last one.
    One,
    /// The last two.
    Two,
    /// The last three.
    Three,
    /// All four, or with gaps, or other segments too.
    Other,
}

/// The flows of one mechanism in one network.
#[derive(Clone, Debug)]
pub struct DumbbellCell {
    /// The flows and their network.
    pub foreground: Foreground,
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Pairs of hosts that ran flows at once.
    pub pairs: u64,
    /// Worlds run.
    pub worlds: usize,
    /// The flows that completed.
    pub flows: Vec<Flow>,
    /// The bottleneck, on the way of the flows' data.
    pub bottleneck: LinkResult,
    /// Connections of the background in each world.
    pub background: Vec<u64>,
}

impl Keyed for DumbbellCell {
    type Key = (Option<char>, Mechanism);

    fn key(&self) -> Self::Key {
        (self.foreground.panel(), self.mechanism)
    }
}

impl DumbbellCell {
    /// The flows with a loss among the first transmissions of their last four segments.
    pub fn selected(&self) -> impl Iterator<Item = &Flow> {
        let tail = self.foreground.tail();
        self.flows.iter().filter(move |flow| flow.lost & tail != 0)
    }

    /// The completion times of all flows, in ms, in ascending order.
    pub fn all_fcts(&self) -> Vec<f64> {
        sorted(self.flows.iter())
    }

    /// The flows that lost nothing when they sent it first.
    pub fn unharmed(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| flow.lost == 0)
    }

    /// The completion times of the selected flows that lost an earlier segment too, in ms, in ascending order.
    pub fn fcts_after_earlier_losses(&self) -> Vec<f64> {
        let tail = self.foreground.tail();
        sorted(self.selected().filter(|flow| flow.lost & !tail != 0))
    }

    /// The flows that sent one of their last four segments more than once.
    pub fn selected_by_retransmission(&self) -> impl Iterator<Item = &Flow> {
        let tail = self.foreground.tail();
        self.flows.iter().filter(move |flow| flow.again & tail != 0)
    }

    /// The completion times of the selected flows, in ms, in ascending order.
    pub fn fcts(&self) -> Vec<f64> {
        sorted(self.selected())
    }

    /// The completion times of the selected flows that lost one of these tails and nothing else, in ms, in ascending
    /// order.
    pub fn fcts_of(&self, tails: &[Tail]) -> Vec<f64> {
        sorted(self.selected().filter(|flow| tails.contains(&self.tail_of(flow))))
    }

    fn tail_of(&self, flow: &Flow) -> Tail {
        let last = self.foreground.last();
        let [two, three] = [last | last >> 1, last | last >> 1 | last >> 2];
        match flow.lost {
            lost if lost == last => Tail::One,
            lost if lost == two => Tail::Two,
            lost if lost == three => Tail::Three,
            _ => Tail::Other,
        }
    }

    /// The mean completion time of the selected flows, in ms.
    pub fn mean(&self) -> Estimate {
        Estimate::of(self.fcts().into_iter())
    }

    /// The selected flows that lost more than one of their last four segments.
    pub fn with_several_at_tail(&self) -> Share {
        let lost = |flow: &&Flow| (flow.lost & self.foreground.tail()).count_ones() > 1;
        let several = self.selected().filter(lost).count();
        Share::of(several as u64, self.selected().count() as u64)
    }

    /// Loss episodes: "one or more consecutive losses in a flow", among first transmissions. How many there are,
    /// how many segments were lost in them, and how many include the last segment.
    pub fn episodes(&self) -> Episodes {
        let mut all = Episodes::default();
        for flow in &self.flows {
            // A bit that begins a run of set bits has an unset one below it.
            let begins = flow.lost & !(flow.lost << 1);
            all.episodes += u64::from(begins.count_ones());
            all.lost += u64::from(flow.lost.count_ones());
            all.at_tail += u64::from(flow.lost & self.foreground.last() != 0);
        }
        all
    }

    /// The median completion time of the selected flows, in ms.
    pub fn median(&self) -> Estimate {
        Estimate::of_median(&self.fcts())
    }

    /// Data segments sent in the first `worlds` worlds, and spurious retransmissions among them.
    pub fn spurious(&self, worlds: u64) -> (u64, u64) {
        let sum = |(sent, spurious): (u64, u64), flow: &Flow| (sent + flow.segments_sent, spurious + flow.spurious);
        self.flows.iter().filter(|flow| flow.world < worlds).fold((0, 0), sum)
    }
}

/// Loss episodes of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Episodes {
    /// Runs of consecutive segments lost.
    pub episodes: u64,
    /// Segments lost.
    pub lost: u64,
    /// Runs that include the flow's last segment.
    pub at_tail: u64,
}

impl Episodes {
    /// These and others.
    const fn and(self, other: Self) -> Self {
        Self {
            episodes: self.episodes + other.episodes,
            lost: self.lost + other.lost,
            at_tail: self.at_tail + other.at_tail,
        }
    }
}

/// Spurious retransmissions among the data segments of these cells, in the first `worlds` worlds of each, as if one pair of hosts had
/// run in each. The interval is that of as many spurious retransmissions as there are.
fn spurious<'a>(cells: impl Iterator<Item = &'a DumbbellCell>, worlds: u64) -> Share {
    let (mut all, mut sent, mut spurious) = (0, 0.0, 0.0);
    let mut unweighted = 0;
    for cell in cells {
        let (more, of) = cell.spurious(worlds);
        all += of;
        unweighted += more;
        sent += more as f64 / cell.pairs as f64;
        spurious += of as f64 / cell.pairs as f64;
    }
    let trials = if all == 0 { unweighted } else { (all as f64 * sent / spurious).round() as u64 };
    Share::of(all, trials)
}

fn sorted<'a>(flows: impl Iterator<Item = &'a Flow>) -> Vec<f64> {
    let mut fcts: Vec<f64> = flows.filter_map(|flow| flow.fct_ms).collect();
    fcts.sort_by(f64::total_cmp);
    fcts
}

/// Runs all cells and checks the claims.
///
/// # Errors
/// A file that cannot be read, or traffic that cannot be made to lose 1.5 %.
pub fn figure(setup: &Setup) -> Result<(Figure<DumbbellCell>, Calibration)> {
    let amount = Amount::of(setup.effort);
    let Calibrated { world, load } = calibrated(setup, &setup.fitted(FIT.name), amount)?;
    let mut cells = vec![];
    for foreground in Foreground::all() {
        cells.extend(run_foreground(setup, &world, foreground, amount)?);
    }
    let title = format!("FCT of flows that lose one of their last four segments to congestion, seed {}", setup.seed());
    Ok((Figure::new(NAME, ID, title, claims::all(&cells), chart(&cells), cells), load))
}

/// The cells as [`figure`] computes them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let (figure, load) = figure(setup)?;
    let cells = figure.cells.clone();
    let sheet = figure.sheet(|cells| columns::text(cells, &load), &columns::cells());
    Ok(sheet.with_rows("distributions", &columns::distributions(), &columns::points(&cells)))
}

/// The cells of a foreground, in the order of the mechanisms.
fn cells_of(cells: &[DumbbellCell], foreground: Foreground) -> Vec<&DumbbellCell> {
    cells.iter().filter(|cell| cell.foreground == foreground).collect()
}

fn chart(cells: &[DumbbellCell]) -> LineChart {
    let chart = LineChart::new(
        "FCT of flows that lose one of their last four segments to congestion",
        "FCT (ms)",
        "share of the flows",
        MECHANISMS.map(Mechanism::name),
    );
    PANELS.into_iter().fold(chart.logarithmic().up_to(1.0).steps(), |chart, (letter, flows)| {
        let title = format!("({letter}) {} segments, {} ms one way, {}", flows.size, flows.owd_ms, flows.acks.title());
        chart.panel(title, cells_of(cells, flows).into_iter().map(|cell| distribution::steps(&cell.fcts())))
    })
}

#[cfg(test)]
mod tests;
