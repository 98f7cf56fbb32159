//! A captured connection: everything that a rerun needs.

use crate::{
    application::{NewData, PeerData},
    bottleneck::Bottleneck,
    delays::Delays,
    loss::LossCounts,
    network::Queueing,
    policing::Policing,
    receiver::{AckDelays, AckHabit, Windows},
    record::{Agreed, ConnectionPackets, FirstFlight, Record},
    transmission::{Fate, MOST_TRANSMISSIONS, Transmission, Transmissions, transmissions},
    unsuitable::Unsuitable,
};
use recoup_path::Policer;
use recoup_tcp::flow::{Host, Script};
use recoup_trace::finding::Retransmission;
use recoup_units::{Instant, Offset, Span};
use std::time::Duration;

/// A captured connection.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The end whose loss recovery is replaced.
    pub(crate) sender: Host,
    pub(crate) agreed: Agreed,
    /// In the order of sending.
    pub(crate) transmissions: Vec<Transmission>,
    /// In the order of the stream.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) delays: Delays,
    pub(crate) habit: AckHabit,
    pub(crate) windows: Windows,
    pub(crate) losses: LossCounts,
    /// The bottleneck, if one is known.
    pub(crate) queueing: Option<Queueing>,
    /// The policer, if one is known.
    pub(crate) policing: Option<Policing>,
    /// A bottleneck that is as slow as the path can be, where none is known.
    slowest: Option<Bottleneck>,
    /// Data that the sender's application wrote, packet by packet.
    pub(crate) new_data: Vec<NewData>,
    pub(crate) peer: PeerData,
    /// The time that the way back takes.
    pub(crate) back: Duration,
    /// When the last of the sender's data arrived, by its echo.
    pub(crate) last_echo: Instant,
    /// Where the sender's data ends.
    pub(crate) data_end: Offset,
    pub(crate) first_flight: FirstFlight,
}

/// A part of the stream that was sent as one segment.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub span: Span,
    /// Its transmissions, by index, from the first.
    copies: Vec<u32>,
}

impl Piece {
    /// The index of its transmission number `copy`, from 1.
    pub fn transmission(&self, copy: u16) -> Option<usize> {
        let copy = usize::from(copy).checked_sub(1)?;
        self.copies.get(copy).map(|index| *index as usize)
    }
}

/// Reads what the packets of a connection show. `rows`: the retransmissions that the analysis of the capture
/// found on it.
///
/// # Errors
/// When the capture does not show what a rerun needs.
pub fn record(packets: &ConnectionPackets, sender: Host, rows: &[Retransmission]) -> Result<Recorded, Unsuitable> {
    Recorded::new(&Record::new(packets, sender)?, rows)
}

impl Recorded {
    fn new(record: &Record, rows: &[Retransmission]) -> Result<Self, Unsuitable> {
        let una = record.acknowledged();
        if record.data_end() <= Offset::DATA {
            return Err(Unsuitable::NoData);
        }
        if una <= Offset::DATA {
            return Err(Unsuitable::NothingAcknowledged);
        }
        let Transmissions { all: transmissions, longest_wait } = transmissions(record, rows);
        if transmissions.len() > MOST_TRANSMISSIONS {
            return Err(Unsuitable::TooLong);
        }
        let pieces = pieces(&transmissions);
        let missing = pieces.windows(2).any(|pair| pair[0].span.end < pair[1].span.start);
        if missing || pieces.first().is_none_or(|first| first.span.start != Offset::SYN) {
            return Err(Unsuitable::PacketsMissing);
        }
        let delays = Delays::new(&transmissions, record.handshake());
        let mut losses = LossCounts::default();
        losses.observe(&transmissions);
        let data_end = record.data_end();
        let arrivals = transmissions.iter().filter(|sent| sent.span.end > Offset::DATA && sent.span.start < data_end);
        let echoes = arrivals.filter_map(|sent| Some(sent.arrival()?.echo));
        Ok(Self {
            sender: record.sender,
            agreed: record.agreed,
            habit: AckHabit::new(&transmissions, longest_wait, record.agreed.segment_size),
            windows: Windows::new(record),
            losses,
            queueing: None,
            policing: None,
            slowest: None,
            new_data: NewData::all(record, una),
            peer: PeerData::new(record, &transmissions, delays.least()),
            back: delays.least() / 2,
            data_end,
            last_echo: echoes.max().unwrap_or(Instant::ZERO),
            first_flight: record.first_flight(),
            delays,
            transmissions,
            pieces,
        })
    }

    /// The time by the capture of an instant of a rerun. A rerun begins when the client sends its SYN.
    pub(crate) fn by_capture(&self, now: Instant) -> Instant {
        now.minus_nanos(self.offset())
    }

    /// The instant of a rerun at this time by the capture.
    pub(crate) fn by_simulation(&self, at: Instant) -> Instant {
        at.plus_nanos(self.offset())
    }

    /// When the capture's first packet is captured in a rerun, in ns.
    pub(crate) fn offset(&self) -> u64 {
        match self.sender {
            Host::Client => 0,
            Host::Server => crate::network::nanos(self.back),
        }
    }

    /// The echo of a packet that is sent `at`, by the capture, and leaves the bottleneck at `departure`; at
    /// once, if no bottleneck is known. It is no quicker than all others: RACK ignores the SACK of a
    /// retransmission that comes within less than the smallest round trip (RFC 8985 §6.2, step 2).
    pub(crate) fn echo(&self, at: Instant, departure: Instant) -> Instant {
        let behind = self.queueing.as_ref().map(|queueing| &queueing.delays);
        let echo = behind.unwrap_or(&self.delays).echo(departure);
        echo.max(at + self.delays.least())
    }

    /// Packets after which a rerun goes nowhere: those of a sender that probes a window which stays closed.
    pub(crate) fn most_packets(&self) -> u64 {
        64 * self.transmissions.len() as u64 + 10_000
    }

    /// How long a packet without data takes to the receiver.
    pub(crate) fn forth(&self) -> Duration {
        self.delays.least().saturating_sub(self.back)
    }

    /// Delays the ACKs of reruns as receivers of the same path or capture did, if the connection does not show for
    /// itself how long.
    pub fn set_ack_delays(&mut self, others: &AckDelays) {
        self.habit.learn(others);
    }

    /// Lets the packets of reruns pass this bottleneck, which connections of the same path show. What its queue
    /// dropped counts no longer among the [`losses`](Self::losses).
    pub fn set_bottleneck(&mut self, bottleneck: &Bottleneck) {
        self.set_limits(Some(bottleneck), None);
    }

    /// As [`set_bottleneck`](Self::set_bottleneck), with the policer of the path, if connections show one.
    pub fn set_limits(&mut self, bottleneck: Option<&Bottleneck>, policer: Option<Policer>) {
        if bottleneck.is_none() && policer.is_none() {
            return;
        }
        self.queueing = bottleneck.map(|bottleneck| Queueing::new(bottleneck, &self.transmissions));
        self.policing = policer.map(|policer| Policing::new(policer, &self.transmissions));
        let is_explained = |index| {
            self.queueing.as_ref().is_some_and(|queueing| queueing.dropped(index))
                || self.policing.as_ref().is_some_and(|policing| policing.dropped(index))
        };
        let by_chance = self.transmissions.iter().enumerate().map(|(index, sent)| {
            let fate = if is_explained(index) { Fate::Unknown } else { sent.fate };
            Transmission { fate, ..*sent }
        });
        let by_chance: Vec<_> = by_chance.collect();
        self.losses = LossCounts::default();
        self.losses.observe(&by_chance);
    }

    /// The path is not slower than this bottleneck.
    pub fn set_slowest(&mut self, bottleneck: Bottleneck) {
        self.slowest = Some(bottleneck);
    }

    /// The same connection over a path that is as slow as it can be; `None` if the path's rate is known, or nothing shows it.
    pub fn over_slowest_path(&self) -> Option<Self> {
        let slowest = self.slowest.filter(|_| self.queueing.is_none())?;
        let mut slow = self.clone();
        slow.set_bottleneck(&slowest);
        Some(slow)
    }

    /// The losses of its packets.
    pub fn losses(&self) -> &LossCounts {
        &self.losses
    }

    /// Whether the network lost a packet of the sender, as far as the ACKs show it.
    pub fn has_loss(&self) -> bool {
        self.transmissions.iter().any(|sent| sent.fate == Fate::Lost)
    }

    /// Whether the sender retransmitted anything.
    pub fn has_retransmissions(&self) -> bool {
        self.transmissions.iter().any(|sent| sent.copy > 1)
    }

    /// The smallest round-trip time.
    pub fn rtt(&self) -> Duration {
        self.delays.least()
    }

    /// From the connection's first packet until the last of the sender's data was acknowledged.
    pub fn duration(&self) -> Duration {
        self.last_echo.since(Instant::ZERO)
    }

    /// The end whose loss recovery is replaced: the sender.
    pub fn sender(&self) -> Host {
        self.sender
    }

    /// The payload of a full segment of the sender, in bytes.
    pub fn segment_size(&self) -> u16 {
        self.agreed.segment_size
    }

    /// Segments that the sender sent before it heard of the first data.
    pub fn first_flight(&self) -> u32 {
        self.first_flight.segments
    }

    /// Writes of the application of the other end. Its times are those of the sender.
    pub fn peer_script(&self) -> &Script {
        &self.peer.script
    }

    /// How the receiver acknowledges.
    pub fn habit(&self) -> AckHabit {
        self.habit
    }

    /// Every transmission of the sender.
    pub fn transmissions(&self) -> &[Transmission] {
        &self.transmissions
    }
}

fn pieces(all: &[Transmission]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (index, sent) in (0_u32..).zip(all) {
        if sent.copy == 1 {
            pieces.push(Piece { span: sent.span, copies: vec![index] });
            continue;
        }
        let first = pieces.partition_point(|piece| piece.span.end <= sent.span.start);
        let of_it = pieces[first..].iter_mut().take_while(|piece| piece.span.start < sent.span.end);
        of_it.for_each(|piece| piece.copies.push(index));
    }
    pieces
}
