//! The flows of one cell, and differences between cells.

use super::DEADLINE;
use super::grid::{Copied, Setup};
use super::watch::{Pairs, Watch};
use crate::experiment;
use crate::prelude::*;

/// The flows of one cell.
#[derive(Debug, Default)]
pub struct Trial {
    /// Flow completion times by flow, at most [`DEADLINE`], in ms.
    pub fcts: Vec<f64>,
    /// Flows that took longer or never completed.
    pub late: u64,
    /// IP bytes by flow, both directions.
    pub bytes: Vec<f64>,
    /// The counters of both hosts over all flows.
    pub counters: Counters,
    /// Packets sent, both directions.
    pub packets: u64,
    /// Packets lost.
    pub lost: u64,
    /// Flows' first packets, both directions.
    pub firsts: u64,
    /// First packets lost.
    pub firsts_lost: u64,
    /// Lost originals and copies.
    pub pairs: Pairs,
}

impl Trial {
    /// Runs a cell's flows.
    pub fn run(setup: &Setup, run: &experiment::Setup, flows: u64) -> Result<Self> {
        match setup.copied {
            Copied::Nothing => Self::watched(setup, run, flows, Watch::<false>::default()),
            _ => Self::watched(setup, run, flows, Watch::<true>::default()),
        }
    }

    fn watched<const EVENTS: bool>(
        setup: &Setup,
        run: &experiment::Setup,
        flows: u64,
        mut watch: Watch<EVENTS>,
    ) -> Result<Self> {
        let mut bench = Bench::over(run, &setup.profile(), &setup.settings(run)?, |chains| chains)?;
        let mut trial = Self::default();
        for flow in 0..flows {
            let record = bench.observe(flow, &mut watch);
            watch.end_flow();
            let in_time = record.fct.filter(|fct| *fct <= DEADLINE);
            trial.late += u64::from(in_time.is_none());
            let fct = in_time.unwrap_or(DEADLINE);
            trial.fcts.push(fct.as_secs_f64() * 1e3);
            trial.bytes.push(record.bytes_sent as f64);
            trial.counters.merge(&record.counters);
        }
        Ok(Self {
            packets: watch.packets,
            lost: watch.lost,
            firsts: watch.firsts,
            firsts_lost: watch.firsts_lost,
            pairs: watch.pairs,
            ..trial
        })
    }

    /// How much faster these flows were than `other`'s, flow by flow, in ms.
    pub fn faster_than(&self, other: &Self) -> Estimate {
        difference(&other.fcts, &self.fcts)
    }

    /// How many more bytes these flows sent than `other`'s, flow by flow.
    pub fn bytes_more_than(&self, other: &Self) -> Estimate {
        difference(&self.bytes, &other.bytes)
    }

    /// For each share, the smallest FCT that at least this share of flows does not exceed, in ms.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [f64; N] {
        let mut fcts = self.fcts.clone();
        fcts.sort_unstable_by(f64::total_cmp);
        shares.map(|share| quantile(&fcts, share).unwrap_or(NAN))
    }
}

fn difference(a: &[f64], b: &[f64]) -> Estimate {
    Estimate::of(a.iter().zip(b).map(|(a, b)| a - b))
}
