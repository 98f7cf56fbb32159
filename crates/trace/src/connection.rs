//! One connection of a capture: its two directions, its beginning and its end.

mod succession;

use crate::analyze::Timed;
use crate::case::Over;
use crate::direction::Direction;
use crate::finding::{self, Closing, Opening, Retransmission};
use crate::identify::Lineup;
use crate::read::Packet;
use crate::replay::Score;
use crate::shared::{Context, Shared};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options, Segment};
use std::cmp::Ordering;
use std::mem::{replace, take};
use std::net::IpAddr;
use std::time::Duration;

pub(crate) use succession::Belongs;

/// A connection being followed.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Of those followed beside it.
    pub serial: u64,
    /// Of those in the capture, as soon as it is known.
    pub number: Option<u64>,
    first_frame: u64,
    last_frame: u64,
    pub shared: Shared,
    /// When the first packet was captured, by its stamp.
    begun: Instant,
    first: Instant,
    pub last: Instant,
    packets: u64,
    /// Of which directions there was any packet.
    heard: [bool; 2],
    opening: Opening,
    reset: bool,
    handshake: Handshake,
    directions: [Direction; 2],
    /// SYNs of which it does not show yet whether they open the next connection.
    aside: Vec<Timed>,
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// When the SYN passed; `None` also when it passed twice.
    syn_at: Option<Instant>,
    syns: u8,
    answers: u8,
    /// Of which direction the SYN was seen, and of which an answer to the other's.
    opened: [bool; 2],
    answered: [bool; 2],
    rtt: Option<Duration>,
    /// The shifts of the window field offered, until both are known.
    scales: [Option<u8>; 2],
    sack: [bool; 2],
    mss: [Option<u16>; 2],
    /// Whether timestamps were offered, where that was captured.
    timestamps: [Option<bool>; 2],
}

impl Connection {
    /// One that [begins](Self::begin) with this packet.
    pub fn new(serial: u64, timed: &Timed) -> Box<Self> {
        let packet = &timed.packet;
        let mut new = Box::new(Self {
            serial,
            number: None,
            first_frame: packet.frame,
            last_frame: packet.frame,
            shared: Shared::new(packet.endpoints),
            begun: packet.at,
            first: timed.time,
            last: timed.time,
            packets: 0,
            heard: [false; 2],
            opening: Opening::MidConnection,
            reset: false,
            handshake: Handshake::default(),
            directions: [Direction::default(), Direction::default()],
            aside: Vec::new(),
        });
        new.begin(serial, timed);
        new
    }

    /// Begins with this packet, keeping the memory of another that is over.
    pub fn begin(&mut self, serial: u64, timed: &Timed) {
        let packet = &timed.packet;
        let flags = packet.segment.flags;
        let syn = flags.contains(Flags::SYN);
        // A SYN-ACK is the second packet of a handshake.
        let endpoints = match syn && flags.contains(Flags::ACK) {
            true => packet.endpoints.reverse(),
            false => packet.endpoints,
        };
        self.serial = serial;
        self.number = None;
        self.first_frame = packet.frame;
        self.last_frame = packet.frame;
        self.shared = Shared::new(endpoints);
        // A stamp far ahead of its neighbours' says nothing.
        self.begun = packet.at.min(timed.time);
        self.first = timed.time;
        self.last = timed.time;
        self.packets = 0;
        self.heard = [false; 2];
        self.opening = match syn {
            true => Opening::Handshake,
            false => Opening::MidConnection,
        };
        self.reset = false;
        self.handshake = Handshake::default();
        self.aside.clear();
        self.directions.iter_mut().for_each(Direction::clear);
    }

    /// Which direction a packet with these endpoints belongs to, if it is of this connection.
    #[inline]
    pub fn side(&self, packet: &Endpoints) -> Option<usize> {
        let Endpoints { src, dst } = &self.shared.endpoints;
        if packet.src == *src && packet.dst == *dst {
            return Some(0);
        }
        (packet.src == *dst && packet.dst == *src).then_some(1)
    }

    /// Takes in its next packet, of direction `side`.
    #[inline]
    pub fn on_packet(&mut self, timed: &Timed, side: usize, lineup: &Lineup) {
        let packet = &timed.packet;
        // Within a connection time does not go back.
        let now = timed.time.max(self.last);
        self.last = now;
        self.packets += 1;
        self.last_frame = packet.frame;
        self.heard[side] = true;
        if self.directions[side].has_seen(packet, now) && self.is_doubled(packet, now, side, lineup)
        {
            return;
        }
        let flags = packet.segment.flags;
        let mut crossed = false;
        if flags.intersects(Flags::SYN.union(Flags::RST)) {
            if flags.contains(Flags::RST) && !self.believes_reset(&packet.segment, side) {
                return;
            }
            crossed = flags.contains(Flags::SYN) && self.on_syn(packet, now, side);
        }
        self.shared.note(packet, now, side);
        if flags.contains(Flags::ACK) {
            self.on_ack(packet, now, side, lineup);
        }
        let context = Context {
            shared: &self.shared,
            lineup,
            side,
        };
        if !crossed {
            self.directions[side].on_packet(packet, now, &context);
        }
        if flags.contains(Flags::RST) {
            self.reset = true;
        }
        if self.reset {
            self.directions.iter_mut().for_each(|d| d.on_reset(now));
        }
        if self.directions[1 - side].is_closed() {
            self.directions[side].on_close(now);
        }
    }

    /// Whether a packet just like the one before it is that packet, of which nothing is to be learned.
    #[cold]
    fn is_doubled(&mut self, packet: &Packet, now: Instant, side: usize, lineup: &Lineup) -> bool {
        self.shared.alike += 1;
        let most = self.shared.alike.saturating_mul(4) >= self.packets;
        let context = Context {
            shared: &self.shared,
            lineup,
            side,
        };
        let doubled = self.directions[side].is_doubled(packet, now, most, &context);
        self.shared.syn_doubled |= doubled && self.handshake.answers == 0;
        doubled
    }

    fn on_ack(&mut self, packet: &Packet, now: Instant, side: usize, lineup: &Lineup) {
        let context = Context {
            shared: &self.shared,
            lineup,
            side: 1 - side,
        };
        if let Some(took) = self.directions[1 - side].on_ack(packet, now, &context) {
            self.shared.answers[side].note(took);
        }
        let handshake = &mut self.handshake;
        let completes = side == 0 && handshake.rtt.is_none();
        if completes
            && handshake.syns == 1
            && handshake.answers == 1
            && let Some(syn_at) = handshake.syn_at.take()
        {
            handshake.rtt = Some(now.since(syn_at));
        }
    }

    /// A SYN, or the answer to one. Whether it answers a SYN that crossed one of its own (RFC 9293 §3.5,
    /// figure 8): what it sends was sent before, and still it is no retransmission.
    fn on_syn(&mut self, packet: &Packet, now: Instant, side: usize) -> bool {
        let segment = &packet.segment;
        let options = &segment.options;
        let answer = segment.flags.contains(Flags::ACK);
        if self.directions[side].syn().is_none() && self.directions[side].segments == 0 {
            self.directions[side].begin(segment.seq);
        }
        let handshake = &mut self.handshake;
        if answer {
            handshake.answers = handshake.answers.saturating_add(1);
        } else {
            handshake.syns = handshake.syns.saturating_add(1);
            handshake.syn_at = (handshake.syns == 1).then_some(now);
            handshake.opened[side] = true;
        }
        handshake.scales[side] = (options.window_scale).map(|s| s.min(Options::MAX_WINDOW_SCALE));
        handshake.sack[side] = options.sack_permitted;
        handshake.mss[side] = options.mss;
        handshake.timestamps[side] =
            (packet.options_complete).then_some(options.timestamps.is_some());
        let timestamps = handshake
            .timestamps
            .iter()
            .all(|offered| *offered != Some(false));
        for (direction, [own, peer]) in [(0, [0, 1]), (1, [1, 0])] {
            if let Some(most) = handshake.mss[peer] {
                let mss = &mut self.directions[direction].mss;
                mss.agree(handshake.mss[own], most, timestamps);
            }
        }
        self.shared.sack |= handshake.sack[0] && handshake.sack[1];
        if let [Some(ours), Some(theirs)] = handshake.scales {
            // The window field of what one end sends is shifted by what that end offered.
            self.directions[0].window_scale = theirs;
            self.directions[1].window_scale = ours;
        }
        let handshake = &mut self.handshake;
        answer && !replace(&mut handshake.answered[side], true) && handshake.opened[side]
    }

    /// Whether a reset is believed by its receiver, as far as the capture shows: it has to be within the
    /// window (RFC 9293 §3.10.7.4), or to answer the SYN (§3.10.7.3). One before the window comes late, from
    /// an end that is gone.
    #[cold]
    fn believes_reset(&mut self, segment: &Segment, side: usize) -> bool {
        if self.reset {
            return true;
        }
        let place = self.directions[side].window_holds(segment.seq);
        let place = place.unwrap_or_else(|| {
            let other = &self.directions[1 - side];
            let answers = segment.flags.contains(Flags::ACK) && other.is_opened_by(segment.ack);
            match other.syn().is_none() || answers {
                true => Ordering::Equal,
                false => Ordering::Greater,
            }
        });
        self.directions[side].foreign += u64::from(place == Ordering::Greater);
        place == Ordering::Equal
    }

    /// Whether both ends have closed, or one reset it.
    pub fn is_over(&self) -> bool {
        self.reset || self.directions.iter().all(Direction::is_closed)
    }

    /// It has just become [over](Self::is_over). What each candidate explains of a host's goes to `scored`.
    pub fn on_over(&mut self, lineup: &Lineup, mut scored: impl FnMut(IpAddr, Vec<Score>)) {
        for side in [0, 1] {
            let context = Context {
                shared: &self.shared,
                lineup,
                side,
            };
            let scores = self.directions[side].on_over(&context, self.last);
            if scores.iter().any(|score| score.of > 0) {
                scored(self.shared.sender(side), scores);
            }
        }
    }

    /// How it ended, where it is over.
    pub fn closing(&self) -> Closing {
        match self.reset {
            true => Closing::Reset,
            false => Closing::Closed,
        }
    }

    /// Whether nothing was seen but SYNs and answers to them.
    pub fn is_half_open(&self) -> bool {
        let Handshake { syns, answers, .. } = self.handshake;
        let doubled: u64 = self.directions.iter().map(|d| d.doubled).sum();
        self.packets == u64::from(syns) + u64::from(answers) + doubled
    }

    /// Its number; as long as it has none, the frame of its first packet.
    fn id(&self) -> u64 {
        self.number.unwrap_or(self.first_frame)
    }

    /// Looks at what its next packet will change, so that it is at hand then. The value means nothing.
    #[inline]
    pub fn warm(&self) -> u64 {
        let sides = self.directions.iter().map(Direction::warm);
        let own = self.packets ^ self.last.as_nanos() ^ self.aside.len() as u64;
        sides.fold(own, |a, b| a ^ b)
    }

    /// It is over. Its retransmissions, in the order of their frames, go into `rows`; what each candidate
    /// explains of a host's, to `scored`, if it was not [over](Self::on_over).
    pub fn close(
        &mut self,
        closing: Closing,
        lineup: &Lineup,
        rows: &mut Vec<Retransmission>,
        mut scored: impl FnMut(IpAddr, Vec<Score>),
    ) -> finding::Connection {
        let (from, was_over) = (rows.len(), self.is_over());
        let directions = [0, 1].map(|side| {
            let over = Over {
                connection: self.id(),
                endpoints: match side {
                    0 => self.shared.endpoints,
                    _ => self.shared.endpoints.reverse(),
                },
                at: self.last,
            };
            let context = Context {
                shared: &self.shared,
                lineup,
                side,
            };
            let direction = &mut self.directions[side];
            let (mut direction, scores) = direction.close(&context, &over, |row| rows.push(row));
            direction.absent = !self.heard[side];
            // Of what is over that was told before.
            if !was_over && scores.iter().any(|score| score.of > 0) {
                scored(self.shared.sender(side), scores);
            }
            direction
        });
        rows[from..].sort_by_key(|row| row.frame);
        finding::Connection {
            id: self.id(),
            endpoints: self.shared.endpoints,
            opening: self.opening,
            closing,
            frames: self.first_frame..=self.last_frame,
            begun: self.begun,
            ended: self.begun.plus_nanos(self.last.nanos_since(self.first)),
            packets: self.packets + take(&mut self.aside).len() as u64,
            handshake_rtt: self.handshake.rtt,
            directions,
        }
    }
}
