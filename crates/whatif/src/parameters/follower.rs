//! Follows a captured sender with the engine: the engine hears the ACKs of the capture, and learns what was
//! sent and why.

use crate::record::{Record, Seen};
use recoup_recovery::{
    Ack, AckSummary, Mechanisms, Reason, Sender, Timer, Transmission, Trigger,
    rtt::{RtoRules, RttEstimator, Sampling},
};
use recoup_tcp::flow::Host;
use recoup_units::{Instant, Offset, Span};
use std::time::Duration;

/// An RTT sample, and the state of the connection that an estimator takes with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub rtt: Duration,
    pub una: Offset,
    pub nxt: Offset,
}

/// Result of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    pub sample: Option<Sample>,
    /// The handshake ended without a sample, because the SYN was retransmitted.
    pub distrusts_initial: bool,
}

/// The engine in place of a captured sender.
pub(super) struct Follower<'a> {
    record: &'a Record,
    sender: Sender,
    /// Times one segment per flight, where the profile does.
    flights: RttEstimator,
    /// The packets up to here had been written by the application.
    written: usize,
    /// The sender's timestamps, and when each was first and last sent.
    timestamps: Vec<(u32, Instant, Instant)>,
}

/// More segments than any host sends at once.
const MOST_PIECES: u64 = 256;

impl<'a> Follower<'a> {
    pub fn new(record: &'a Record, mechanisms: &Mechanisms) -> Self {
        let agreed = &record.agreed;
        let syn = match record.sender {
            Host::Client => Trigger::Syn,
            Host::Server => Trigger::SynAck,
        };
        let mut sender = Sender::new(mechanisms, agreed.segment_size.into(), syn, false);
        sender.set_sack(agreed.sack);
        sender.set_user_timeout(Duration::from_secs(1 << 30));
        Self { record, sender, flights: RttEstimator::new(mechanisms.rto), written: 0, timestamps: Vec::new() }
    }

    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    pub fn rules(&self) -> RtoRules {
        self.flights.rules()
    }

    /// Data sent within a round trip had been written by the application.
    pub fn write_ahead(&mut self, now: Instant) {
        let until = now + self.sender.rtt().srtt().unwrap_or_default();
        while let Some(packet) = self.record.packets.get(self.written)
            && packet.at <= until
        {
            self.written += 1;
            if packet.is_sent {
                self.write_to(now, packet.span.end);
            }
        }
    }

    fn write_to(&mut self, now: Instant, end: Offset) {
        let more = end.since(self.sender.limit());
        if more > 0 {
            self.sender.on_written(now, more);
        }
    }

    /// A packet was sent. `trigger`: why, if it is a retransmission.
    pub fn on_sent(&mut self, packet: &Seen, trigger: Option<Trigger>) {
        if let Some([value, _]) = packet.timestamps {
            self.on_timestamp(packet.at, value);
        }
        let nxt = self.sender.nxt();
        if packet.span.start < nxt && !packet.span.is_empty() {
            let known = Span::new(packet.span.start, packet.span.end.min(nxt));
            self.on_sent_again(packet.at, known, trigger);
        }
        let new = Span::new(nxt, packet.span.end.max(nxt));
        let size = u64::from(self.record.agreed.segment_size);
        let size = size.max(new.len().div_ceil(MOST_PIECES));
        let mut from = new.start;
        while from < new.end {
            let left = new.end.since(from);
            // A FIN goes with the last segment.
            let len = if left <= size + 1 { left } else { size };
            self.on_sent_new(packet.at, Span::at(from, len));
            from = from + len;
        }
    }

    fn on_sent_new(&mut self, at: Instant, span: Span) {
        self.write_to(at, span.end);
        let what = self.sender.send_for_new(at, span, |due| due <= at);
        self.sender.on_sent(at, what);
        self.flights.on_sent(at, span.start);
    }

    fn on_sent_again(&mut self, at: Instant, span: Span, trigger: Option<Trigger>) {
        let is_timer = |timer: Timer, due: Instant| match (trigger, timer) {
            (Some(Trigger::Rto), Timer::Rto) | (Some(Trigger::Tlp), Timer::Probe) => true,
            (Some(Trigger::Fast | Trigger::Early), Timer::Reorder | Timer::Early) => due <= at,
            (Some(Trigger::Syn | Trigger::SynAck), Timer::Rto) => true,
            _ => false,
        };
        let is_prompted = trigger != Some(Trigger::Rto);
        let reason: Option<Reason> = self.sender.reason_for(at, span, is_prompted, is_timer);
        let trigger = trigger.or(reason.map(|reason| reason.trigger));
        let trigger = trigger.unwrap_or(Trigger::Fast);
        self.sender.on_sent(at, Transmission::Again(span, trigger));
        self.flights.on_sent_again();
    }

    fn on_timestamp(&mut self, at: Instant, value: u32) {
        match self.timestamps.last_mut() {
            Some((latest, _, last)) if *latest == value => *last = at,
            Some((latest, ..)) if value.wrapping_sub(*latest).cast_signed() < 0 => {}
            _ => self.timestamps.push((value, at, at)),
        }
    }

    /// When the timestamp was first and last sent.
    fn sending_of(&self, echo: u32) -> Option<(Instant, Instant)> {
        let known = |(value, ..): &(u32, Instant, Instant)| echo.wrapping_sub(*value).cast_signed() >= 0;
        let last = self.timestamps.partition_point(known).checked_sub(1)?;
        let (_, first, last) = self.timestamps.get(last)?;
        Some((*first, *last))
    }

    /// An ACK arrived.
    pub fn on_heard(&mut self, packet: &Seen) -> Heard {
        let Some(cumulative) = packet.ack else {
            return Heard::default();
        };
        let window = packet.edge.map_or(0, |edge| edge.since(cumulative));
        let mut ack = Ack::new(cumulative, window).with_blocks(packet.sack.as_slice().to_vec());
        ack.carries_data = !packet.span.is_empty();
        if let Some((first, last)) = packet.timestamps.and_then(|[_, echo]| self.sending_of(echo)) {
            ack.timestamp_rtt = Some(packet.at.since(first));
            ack.echo_sent_before = Some(last.plus_nanos(1));
        }
        let before = self.sender.una();
        let initial = self.sender.rtt().rto();
        let summary = self.sender.on_ack(packet.at, &ack);
        let opened = before == Offset::SYN && self.sender.una() > Offset::SYN;
        Heard {
            sample: self.sample(packet.at, &ack, &summary),
            distrusts_initial: opened && self.sender.rtt().srtt().is_none() && self.sender.rtt().rto() != initial,
        }
    }

    /// The sample that the sender took.
    fn sample(&mut self, at: Instant, ack: &Ack, summary: &AckSummary) -> Option<Sample> {
        let una = self.sender.una();
        let rtt = match self.flights.rules().sampling {
            Sampling::Flight | Sampling::FlightOrTimestamps => {
                let timestamp = ack.timestamp_rtt.filter(|_| summary.una_advanced > 0);
                self.flights.flight_sample(at, una, timestamp)
            }
            Sampling::Newest => summary.newest_rtt_sample(at),
            _ => summary.rtt_sample(at, ack),
        };
        rtt.map(|rtt| Sample { rtt, una, nxt: self.sender.nxt() })
    }
}
