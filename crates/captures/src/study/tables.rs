//! The study's tables and distributions, ready to be printed.

use super::Merge;
use super::claims::{self, Claim};
use super::distribution::Cdf;
use super::flights::FlightRecovery;
use super::published::System;
use super::saving::Split;
use super::{ConnectionVolume, Sender, SenderTotals, Study};
use crate::wording::in_ms;
use recoup_recovery::{Profile, Trigger};
use recoup_trace::finding::{Tally, Verdict};
use recoup_whatif::detections::Detector;
use serde::Serialize;

/// All tables and figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Table I: the profiles found, by name.
    pub parameters: Vec<Parameters>,
    /// Table II.
    pub capture: Capture,
    /// Table III.
    pub connections: Connections,
    /// Footnote 6.
    pub false_positives: FalsePositives,
    /// Figure 1: payload bytes of each connection, in both directions.
    pub bytes: Cdf,
    /// Table IV, Figures 2 and 3: profiles by name, then senders with several profiles, senders without a
    /// profile, and unidentified senders.
    pub senders: Vec<SenderReport>,
    /// All senders together.
    pub all: SenderReport,
}

/// A row of Table I: the parameters of loss detection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameters {
    /// The profile.
    pub profile: String,
    /// The clock granularity that the RTO is rounded up to, in ms; 0 for an exact clock.
    pub granularity_ms: f64,
    /// The initial RTO, in ms.
    pub initial_rto_ms: f64,
    /// The minimum of the RTO or, as in Linux, of its variance term, in ms.
    pub min_rto_ms: f64,
    /// The weight of a sample in RTTVAR.
    pub a: f64,
    /// The weight of a sample in SRTT.
    pub b: f64,
    /// The factor of SRTT in the RTO.
    pub m: f64,
    /// The factor of RTTVAR in the RTO.
    pub k: f64,
    /// The initial number of duplicate ACKs that mean a loss. Profiles that detect losses by time
    /// use it until they see reordering.
    pub dupthresh: u64,
    /// The unit whose RTT is measured: `segment`, `flight`, `flight_or_timestamps`, `newest`.
    pub sampling: &'static str,
    /// The RTO's formula.
    pub rto: String,
    /// When a segment counts as lost.
    pub loss_detection: String,
}

/// Table II.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Capture {
    /// From the first TCP packet to the last, in seconds.
    pub duration_s: f64,
    /// Payload divided by that time, in Mbit/s.
    pub load_mbit_s: Option<f64>,
    /// TCP connections.
    pub connections: u64,
    /// Payload bytes, including retransmissions.
    pub bytes: u64,
    /// TCP packets.
    pub packets: u64,
}

/// Some of the connections, and their share of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Portion {
    /// The number of connections.
    pub connections: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Their packets.
    pub packets: u64,
    /// In % of all connections.
    pub connections_percent: Option<f64>,
    /// In % of all bytes.
    pub bytes_percent: Option<f64>,
    /// In % of all packets.
    pub packets_percent: Option<f64>,
}

/// Lossy senders of explained connections with one profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Senders {
    /// The profile.
    pub profile: String,
    /// The number of senders.
    pub senders: u64,
    /// In % of all lossy senders of explained connections.
    pub percent: f64,
}

/// Table III.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Connections {
    /// Connections with a needed retransmission.
    pub lossy: Portion,
    /// Lossy connections whose lossy senders were all identified.
    pub explained: Portion,
    /// Connections with retransmissions for which it is unknown whether any was needed.
    pub undecided: Portion,
    /// The lossy senders of explained connections, by profile.
    pub profiles: Vec<Senders>,
}

/// Losses that were detected and had not happened (footnote 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FalsePositives {
    /// Connections without loss: all their retransmissions, if any, were spurious.
    pub loss_free: u64,
    /// Those of them with retransmissions.
    pub connections: u64,
    /// In % of the connections without loss.
    pub percent: Option<f64>,
    /// The retransmissions on them.
    pub retransmissions: u64,
}

/// A row of Table IV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Classification {
    /// All retransmissions.
    pub total: u64,
    /// The study's RTO: `rto` and `slow_start`.
    pub rto: Split,
    /// The study's FR/R: `fast` and `early`.
    pub fast_retransmit: Split,
    /// Tail loss probes.
    pub tlp: Split,
    /// Segments too large for the path: `pmtu` and `mtu_probe`.
    pub path_mtu: Split,
    /// SYNs.
    pub syn: Split,
    /// SYN-ACKs.
    pub syn_ack: Split,
    /// Unknown trigger.
    pub unknown: Split,
}

/// A row of Table IV in %, as the study prints it: of the retransmissions by RTO and FR/R. Unknowable
/// retransmissions are left out, so the four shares add up to 100 %. `None` without retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Retransmissions by RTO and FR/R whose verdict is known: 100 %.
    pub retransmissions: u64,
    /// Needed retransmissions by RTO.
    pub rto_needed: Option<f64>,
    /// Needed retransmissions by FR/R.
    pub fast_retransmit_needed: Option<f64>,
    /// Spurious retransmissions by RTO.
    pub rto_spurious: Option<f64>,
    /// Spurious retransmissions by FR/R.
    pub fast_retransmit_spurious: Option<f64>,
}

/// Figure 2: the time from the original to the retransmission, in RTTs (moving average, weight ¼).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Detection {
    /// Retransmissions by FR/R.
    pub fast_retransmit: Cdf,
    /// Retransmissions by RTO.
    pub rto: Cdf,
}

/// Figure 3: the best-case reduction of connection duration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reduction {
    /// In % of the connection's duration, one value per sender.
    pub percent: Cdf,
    /// The total time saved, in seconds.
    pub seconds: f64,
    /// Losses detected by FR/R, whether real or not. The spurious ones save time.
    pub fast_retransmits: Split,
    /// Losses detected by RTO, whether real or not. The needed and the spurious ones save time.
    pub timeouts: Split,
    /// Detections left out because the capture holds no RTT or no original transmission.
    pub unmeasured: u64,
}

/// The results of one kind of senders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SenderReport {
    /// The profile's name, `several`, `none` or `unidentified`; `all` for all senders.
    pub sender: String,
    /// Ends of connections that retransmitted something.
    pub senders: u64,
    /// Retransmissions that the best profile explains.
    pub explained: u64,
    /// Retransmissions that the best profile should explain.
    pub explained_of: u64,
    /// Table IV.
    pub retransmissions: Classification,
    /// Table IV in %.
    pub retransmissions_percent: Shares,
    /// Figure 2.
    pub detection: Detection,
    /// §V-A2b: recoveries by the number of segments lost in the flight.
    pub recoveries: Vec<FlightRecovery>,
    /// Flights whose recovery was left out because the capture does not show enough of it.
    pub recoveries_unmeasured: u64,
    /// Figure 3.
    pub reduction: Reduction,
    /// The statements of §V-A for these senders.
    pub claims: Vec<Claim>,
}

/// `part` in % of `whole`; `None` if `whole` is 0.
pub(crate) fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

impl Study {
    /// The results so far.
    pub fn report(&self) -> Report {
        let mut all = SenderTotals::default();
        self.senders.values().for_each(|some| all.merge(some));
        let senders = self.senders.iter();
        Report {
            parameters: self.parameters(),
            capture: self.capture(),
            connections: self.connections(),
            false_positives: self.false_positives(),
            bytes: self.bytes.cdf(),
            senders: senders.map(|(sender, some)| some.report(sender.to_string())).collect(),
            all: all.report("all".into()),
        }
    }

    fn parameters(&self) -> Vec<Parameters> {
        let profiles = self.senders.keys().filter_map(|sender| match sender {
            Sender::Profile(name) => name.parse().ok(),
            _ => None,
        });
        profiles.map(|profile| Parameters::of(&profile)).collect()
    }

    fn capture(&self) -> Capture {
        let span = self.span.map(|(first, last)| last.since(first));
        let duration_s = span.unwrap_or_default().as_secs_f64();
        let mbit = self.all.bytes as f64 * 8.0 / 1e6;
        Capture {
            duration_s,
            load_mbit_s: (duration_s > 0.0).then(|| mbit / duration_s),
            connections: self.all.connections,
            bytes: self.all.bytes,
            packets: self.all.packets,
        }
    }

    fn connections(&self) -> Connections {
        let portion = |some: &ConnectionVolume| Portion {
            connections: some.connections,
            bytes: some.bytes,
            packets: some.packets,
            connections_percent: percent(some.connections, self.all.connections),
            bytes_percent: percent(some.bytes, self.all.bytes),
            packets_percent: percent(some.packets, self.all.packets),
        };
        let senders: u64 = self.explained_senders.values().sum();
        let profiles = self.explained_senders.iter().map(|(sender, n)| Senders {
            profile: sender.to_string(),
            senders: *n,
            percent: percent(*n, senders).unwrap_or_default(),
        });
        Connections {
            lossy: portion(&self.lossy),
            explained: portion(&self.explained),
            undecided: portion(&self.undecided),
            profiles: profiles.collect(),
        }
    }

    fn false_positives(&self) -> FalsePositives {
        let loss_free = self.all.connections - self.lossy.connections - self.undecided.connections;
        FalsePositives {
            loss_free,
            connections: self.false_positives.connections,
            percent: percent(self.false_positives.connections, loss_free),
            retransmissions: self.false_retransmissions,
        }
    }
}

impl Parameters {
    fn of(profile: &Profile) -> Self {
        let mechanisms = profile.mechanisms();
        let rto = mechanisms.rto;
        let settings = mechanisms.describe();
        let setting = |name: &str| {
            let found = settings.iter().find(|setting| setting.name == name);
            found.map(|setting| setting.value.clone()).unwrap_or_default()
        };
        Self {
            profile: profile.name().into(),
            granularity_ms: in_ms(rto.granularity),
            initial_rto_ms: in_ms(rto.initial),
            min_rto_ms: in_ms(rto.min.max(rto.min_variance)),
            a: rto.rttvar_weight.as_f64(),
            b: rto.srtt_weight.as_f64(),
            m: rto.srtt_factor.as_f64(),
            k: rto.rttvar_factor.as_f64(),
            dupthresh: mechanisms.detection.dupthresh.0.into(),
            sampling: rto.sampling.name(),
            rto: setting("RTO"),
            loss_detection: setting("loss detection"),
        }
    }
}

impl SenderTotals {
    fn report(&self, sender: String) -> SenderReport {
        let [fast_retransmit, rto] =
            [Detector::FastRetransmit, Detector::Timeout].map(|d| self.detection[d as usize].cdf());
        let retransmissions = Classification::of(&self.retransmissions);
        SenderReport {
            senders: self.explained.senders,
            explained: self.explained.explained,
            explained_of: self.explained.of,
            claims: claims::of(
                System::of_profile(&sender),
                &retransmissions,
                &self.detection,
                &self.recoveries,
                &self.reduction,
            ),
            sender,
            retransmissions_percent: retransmissions.shares(),
            retransmissions,
            detection: Detection { fast_retransmit, rto },
            recoveries: self.recoveries.table(),
            recoveries_unmeasured: self.recoveries.unmeasured,
            reduction: Reduction {
                percent: self.reduction.cdf(),
                seconds: self.saving.time.as_secs_f64(),
                fast_retransmits: self.saving.fast_retransmits,
                timeouts: self.saving.timeouts,
                unmeasured: self.saving.unmeasured,
            },
        }
    }
}

impl Classification {
    fn of(tally: &Tally) -> Self {
        let mut row = Self { total: tally.total(), ..Self::default() };
        let triggers = Trigger::ALL.into_iter().map(Some).chain([None]);
        for trigger in triggers {
            row.place(trigger).merge(&Split {
                needed: tally.count(trigger, Verdict::Needed),
                spurious: tally.count(trigger, Verdict::Spurious),
                unknowable: tally.count(trigger, Verdict::Unknowable),
            });
        }
        row
    }

    /// RTO and FR/R in % of their sum.
    pub(super) fn shares(&self) -> Shares {
        let (rto, fast) = (&self.rto, &self.fast_retransmit);
        let judged = [rto, fast].map(|split| split.needed + split.spurious);
        let all = judged.iter().sum();
        Shares {
            retransmissions: all,
            rto_needed: percent(rto.needed, all),
            fast_retransmit_needed: percent(fast.needed, all),
            rto_spurious: percent(rto.spurious, all),
            fast_retransmit_spurious: percent(fast.spurious, all),
        }
    }

    fn place(&mut self, trigger: Option<Trigger>) -> &mut Split {
        match (Detector::of(trigger), trigger) {
            (Some(Detector::FastRetransmit), _) => &mut self.fast_retransmit,
            (Some(Detector::Timeout), _) => &mut self.rto,
            (None, Some(Trigger::Syn)) => &mut self.syn,
            (None, Some(Trigger::SynAck)) => &mut self.syn_ack,
            (None, Some(Trigger::Pmtu | Trigger::MtuProbe)) => &mut self.path_mtu,
            (None, Some(_)) => &mut self.tlp,
            (None, None) => &mut self.unknown,
        }
    }
}
