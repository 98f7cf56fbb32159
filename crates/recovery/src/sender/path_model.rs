//! The delivery rate, and a congestion control that models the path.

use super::acks::BeforeAck;
use super::*;
use crate::ack::AckSummary;
use crate::congestion::{PathSample, PathTotals, RateSample, Start};
use crate::delivery::Delivery;

impl<C: CongestionControl> Sender<C> {
    /// Whether the congestion control models the path, and sets window and pacing rate by itself.
    #[inline]
    pub(super) fn models_path(&self) -> bool {
        self.congestion.control.models_path()
    }

    /// The application is about to write: until now the connection may have waited for it (Linux
    /// `tcp_rate_check_app_limited`).
    pub(super) fn note_application_limit(&mut self) {
        let room = self.room();
        let Some(delivery) = &mut self.delivery else {
            return;
        };
        let nothing_waits = self.board.nxt() >= self.stream.limit && self.board.next_lost().is_none();
        if nothing_waits && room > Segments::ZERO {
            delivery.on_application_limited(self.board.pipe());
        }
    }

    /// Measures the delivery rate by an ACK.
    #[inline]
    pub(super) fn sample_delivery(&mut self, now: Instant, summary: &AckSummary) -> Option<RateSample> {
        let delivery = self.delivery.as_mut()?;
        let ack = Delivery {
            delivered: summary.delivered,
            newest: summary.newest_delivered,
            una: self.board.una(),
            min_rtt: self.rtt.min().unwrap_or_default(),
            mss: self.peer.full,
        };
        delivery.on_ack(now, &ack)
    }

    /// Lets the model set the window after an ACK.
    pub(super) fn follow_path(
        &mut self,
        now: Instant,
        summary: &AckSummary,
        before: &BeforeAck,
        rate: Option<RateSample>,
    ) {
        let lost = self.board.marks() - before.marks;
        let partial = summary.una_advanced < u64::from(self.peer.full);
        let sample = PathSample {
            now,
            state: self.episode.state,
            delivered: summary.delivered,
            totals: self.path_totals(),
            lost: Segments(u32::try_from(lost).unwrap_or(u32::MAX)),
            prior_in_flight: before.pipe,
            in_flight: self.board.pipe(),
            cwnd: self.congestion.cwnd,
            rtt: summary.newest_rtt_sample(now),
            may_be_delayed: summary.newly_acked == Segments::ONE
                && partial
                && rate.is_some_and(|rate| rate.delivered == 1),
            srtt: self.rtt.srtt(),
            rate,
            departs_in: self.next_departure(now).since(now),
            mss: self.peer.mss,
        };
        let verdict = self.congestion.control.on_path_sample(&sample);
        self.congestion.cwnd = verdict.cwnd.max(Segments::ONE);
        self.congestion.ssthresh = verdict.ssthresh.max(congestion::MIN_SSTHRESH);
        if verdict.discounts_flight
            && let Some(delivery) = &mut self.delivery
        {
            delivery.on_application_limited(self.board.pipe());
        }
    }

    /// The segments of the connection delivered and lost so far.
    pub(super) fn path_totals(&self) -> PathTotals {
        let delivery = self.delivery.as_deref();
        let (delivered, at) = delivery.map_or((0, Instant::ZERO), DeliveryRate::delivered);
        PathTotals { delivered, lost: self.board.marks(), at }
    }

    /// The model begins: the connection is established.
    pub(super) fn begin_model(&mut self, now: Instant) {
        let (start, min_rtt) = (self.model_start(now), self.rtt.min());
        self.congestion.control.on_established(&start, min_rtt);
    }

    /// A segment goes while nothing is in flight: the model of a sender that the application limited begins again.
    pub(super) fn restart_model(&mut self, now: Instant) {
        let limited = |delivery: &DeliveryRate| delivery.is_application_limited();
        if self.board.pipe() == Segments::ZERO && self.delivery.as_deref().is_some_and(limited) {
            let start = self.model_start(now);
            let cwnd = self.congestion.control.on_restart(&start);
            self.congestion.cwnd = cwnd.max(Segments::ONE);
        }
    }

    fn model_start(&self, now: Instant) -> Start {
        Start { now, cwnd: self.congestion.cwnd, srtt: self.rtt.srtt(), mss: self.peer.mss }
    }
}
