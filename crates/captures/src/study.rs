//! The tables and figures of the 2007 loss detection study (§II to §V-A), for any capture.
//!
//! - **In**: each connection with its retransmissions, as it ends.
//! - **Out**: a [`Report`].
//!
//! A [`Study`] uses bounded memory; each thread has its own, and [`Study::merge`] joins them.
//!
//! | the study                            | here                                                   |
//! |--------------------------------------|--------------------------------------------------------|
//! | Table I, parameters                  | [`Parameters`], of the profiles found in the capture   |
//! | Table II, traces                     | [`Capture`]                                            |
//! | Table III, connections               | [`Connections`]                                        |
//! | Table IV, retransmissions            | [`Classification`] and [`Shares`], for each [`Sender`] |
//! | footnote 6, false positives          | [`FalsePositives`]                                     |
//! | Figure 1, bytes of connections       | [`Report::bytes`]                                      |
//! | Figure 2, detection duration         | [`SenderReport::detection`], in RTTs                   |
//! | Figure 3, best-case reduction        | [`Reduction`], in % of the connection's duration       |
//! | §V-A2b, recovery durations           | [`FlightRecovery`], by segments lost in the flight     |
//! | §V-A, statements about these results | [`Claim`]                                              |
//!
//! | module | what it does |
//! | --- | --- |
//! | `sender` | names senders by their profile, and counts what is explained |
//! | `detections` | finds the detections of loss among retransmissions |
//! | `duration` | computes what a detection costs in flight size |
//! | `saving` | computes what ideal loss detection would have saved |
//! | `flights` | counts the segments lost in a flight, and times the recovery |
//! | `distribution` | keeps distributions in bounded memory |

//! | `merge` | adds the totals of parts |
//! | [`slp`] | the analysis of the 2021 paper on selective loss prevention |
//! | [`published`] | holds the figures that the study prints of its own senders |
//! | `tables`, `claims` | make the tables, and compute the study's statements for this capture |
//!
//! `fast` and `early` are the study's FR/R; `rto` and `slow_start` are its RTO. The study knows no
//! tail loss probes and says nothing of SYNs: both have their own columns in Table IV, and do not
//! appear in the figures. Unknowable retransmissions are counted separately everywhere. Of two
//! triggers, the first counts.
//!
//! # The best case (§IV-D, §V-A3)
//! Ideal loss detection retransmits nothing that arrived, and waits for no timeout longer than the
//! connection's largest RTT. Equations (1) and (2) give what an avoided spurious detection saves
//! ([`Model`]).
//!
//! The RTT is the moving average at the time. When the timer expires again in a recovery that it began, its
//! wait counts again, but the flight does not ([`detections()`]).
//!
//! # Deviations
//! - For Table IV and Figures 2 and 3 the study kept only lossy connections. Here all
//!   retransmissions count, and [`FalsePositives`] gives those on connections without loss.
//! - A sender is one end of a connection: both ends may have retransmitted, and may differ.
//! - Bytes are payload, including retransmissions.
//! - The equations assume data without end. No detection saves more than was left of the
//!   connection, and in total no more than 100 % of its duration.
//! - The wait of a needed timeout counts from the latest copy before it, because only that wait
//!   would have been shorter. A wait shorter than the largest RTT saves nothing.

#[macro_use]
mod merge;

mod claims;
mod distribution;
mod flights;
pub mod published;
mod saving;
mod sender;
pub mod slp;
mod tables;
mod views;

pub use claims::Claim;
pub use distribution::{Cdf, Distribution};
pub use flights::{FlightRecovery, MOST_LOST};
pub use merge::Merge;
pub use recoup_whatif::detection_cost::Model;
pub use recoup_whatif::detections::{Detector, LossDetection, detections};
pub use saving::{Split, best_case};
pub use sender::{Explained, Sender};
pub(crate) use tables::percent;
pub use tables::{
    Capture, Classification, Connections, Detection, FalsePositives, Parameters, Portion, Reduction, Report,
    SenderReport, Senders, Shares,
};
pub use views::{Figure, bytes_chart, detection_chart, figures, reduction_chart};

use flights::Recoveries;
use recoup_trace::finding::{Connection, Direction, Retransmission, Tally, Verdict};
use recoup_units::Instant;
use saving::Saving;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Collects what the report is made of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Study {
    /// From the first packet of any connection to the last.
    span: Option<(Instant, Instant)>,
    all: ConnectionVolume,
    lossy: ConnectionVolume,
    /// Lossy connections whose lossy senders were all identified.
    explained: ConnectionVolume,
    /// Connections on which something may have been lost, and nothing is known to be.
    undecided: ConnectionVolume,
    /// The lossy senders of explained connections, by profile.
    explained_senders: BTreeMap<Sender, u64>,
    false_positives: ConnectionVolume,
    false_retransmissions: u64,
    bytes: Distribution,
    /// Senders with several profiles are distinguished by them.
    explained_by_sender: BTreeMap<Sender, Explained>,
    /// Senders with several profiles are one kind.
    senders: BTreeMap<Sender, SenderTotals>,
}

/// The size of a group of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ConnectionVolume {
    connections: u64,
    bytes: u64,
    packets: u64,
}

impl ConnectionVolume {
    fn of(connection: &Connection) -> Self {
        Self { connections: 1, bytes: connection.directions.iter().map(|d| d.bytes).sum(), packets: connection.packets }
    }
}

merge_fields!(ConnectionVolume: connections, bytes, packets);

/// The results of all senders of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SenderTotals {
    explained: Explained,
    retransmissions: Tally,
    /// In thousandths of an RTT, by FR/R and by RTO.
    detection: [Distribution; 2],
    /// In thousandths of a percent.
    reduction: Distribution,
    saving: Saving,
    recoveries: Recoveries,
}

merge_fields!(SenderTotals: explained, retransmissions, detection, reduction, saving, recoveries);

impl Default for SenderTotals {
    fn default() -> Self {
        Self {
            explained: Explained::default(),
            retransmissions: Tally::default(),
            detection: std::array::from_fn(|_| Distribution::in_steps_of(0.001)),
            reduction: Distribution::in_steps_of(0.001),
            saving: Saving::default(),
            recoveries: Recoveries::default(),
        }
    }
}

impl SenderTotals {
    fn add<'a>(
        &mut self,
        connection: &Connection,
        direction: &Direction,
        retransmissions_of: impl Iterator<Item = &'a Retransmission> + Clone,
    ) {
        self.explained.merge(&Explained::of(direction));
        self.retransmissions.merge(&direction.retransmissions);
        for one in retransmissions_of.clone() {
            let detector = Detector::of(one.triggers.first());
            if let Some((detector, rtts)) = detector.zip(one.detection_rtts()) {
                self.detection[detector as usize].add(rtts);
            }
        }
        self.recoveries.add(connection.sack, retransmissions_of.clone());
        let saving = Saving::of(connection, direction, retransmissions_of);
        let duration = connection.duration().as_secs_f64();
        if duration > 0.0 {
            self.reduction.add((100.0 * saving.time.as_secs_f64() / duration).min(100.0));
        }
        self.saving.merge(&saving);
    }
}

impl Study {
    /// Adds a connection with its retransmissions, ordered by frame. Their verdicts must be final.
    pub fn add(&mut self, connection: &Connection, retransmissions: &[Retransmission]) {
        let volume = ConnectionVolume::of(connection);
        self.all.merge(&volume);
        self.bytes.add_steps(volume.bytes);
        self.span.merge(&Some((connection.begun, connection.ended)));
        let retransmissions_of = |direction: &&Direction| direction.retransmissions.total() > 0;
        if !connection.directions.iter().any(|d| retransmissions_of(&d)) {
            return;
        }
        self.count_losses(connection, &volume);
        let sources = [connection.endpoints.src, connection.endpoints.dst];
        for (direction, source) in connection.directions.iter().zip(sources) {
            if retransmissions_of(&direction) {
                let own = retransmissions.iter();
                let own = own.filter(|one| one.endpoints.src == source);
                let sender = Sender::from(&direction.profile);
                let totals = self.senders.entry(sender.kind());
                let explained = self.explained_by_sender.entry(sender).or_default();
                explained.merge(&Explained::of(direction));
                let totals = totals.or_default();
                totals.add(connection, direction, own);
            }
        }
    }

    /// Counts a connection with retransmissions as lossy, undecided or a false positive.
    fn count_losses(&mut self, connection: &Connection, volume: &ConnectionVolume) {
        let count = |verdict| {
            let of = |d: &Direction| d.retransmissions.of_verdict(verdict);
            connection.directions.iter().map(of).sum::<u64>()
        };
        if count(Verdict::Needed) > 0 {
            self.lossy.merge(volume);
            self.count_explained(connection, volume);
        } else if count(Verdict::Unknowable) > 0 {
            self.undecided.merge(volume);
        } else {
            self.false_positives.merge(volume);
            self.false_retransmissions += count(Verdict::Spurious);
        }
    }

    /// Counts a lossy connection as explained if all its lossy senders are identified.
    fn count_explained(&mut self, connection: &Connection, volume: &ConnectionVolume) {
        let lost = |d: &&Direction| d.retransmissions.of_verdict(Verdict::Needed) > 0;
        let losers = connection.directions.iter().filter(lost);
        let losers: Vec<Sender> = losers.map(|d| Sender::from(&d.profile)).collect();
        if losers.iter().all(|s| matches!(s, Sender::Profile(_))) {
            self.explained.merge(volume);
            for sender in losers {
                *self.explained_senders.entry(sender).or_default() += 1;
            }
        }
    }

    /// Senders that retransmitted something, by profile.
    pub fn senders(&self) -> impl Iterator<Item = (&Sender, &Explained)> {
        self.explained_by_sender.iter()
    }
}

merge_fields!(
    Study: span, all, lossy, explained, undecided, explained_senders, false_positives, false_retransmissions, bytes,
    explained_by_sender, senders
);

#[cfg(test)]
mod tests;
