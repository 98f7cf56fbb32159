//! One connection of a capture: its two directions, its beginning and its end.

use crate::case::Over;
use crate::direction::{Common, Direction};
use crate::finding::{self, Closing, Opening, Retransmission};
use crate::identify::Lineup;
use crate::read::Packet;
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options};
use std::net::IpAddr;
use std::time::Duration;

/// A connection being followed.
#[derive(Debug)]
pub(crate) struct Connection {
    pub id: u64,
    pub endpoints: Endpoints,
    begun: Instant,
    pub last: Instant,
    packets: u64,
    opening: Opening,
    reset: bool,
    handshake: Handshake,
    /// SACK was agreed on, or is used.
    sack: bool,
    /// Timestamps are used.
    timestamps: bool,
    directions: [Direction; 2],
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// When the SYN passed; `None` also when it passed twice.
    syn_at: Option<Instant>,
    syns: u8,
    answers: u8,
    rtt: Option<Duration>,
    /// The shifts of the window field offered, until both are known.
    scales: [Option<u8>; 2],
    sack: [bool; 2],
}

impl Connection {
    /// Begins with `packet`.
    pub fn new(id: u64, packet: &Packet) -> Self {
        let flags = packet.segment.flags;
        let syn = flags.contains(Flags::SYN);
        // A SYN-ACK is the second packet of a handshake.
        let endpoints = match syn && flags.contains(Flags::ACK) {
            true => packet.endpoints.reverse(),
            false => packet.endpoints,
        };
        Self {
            id,
            endpoints,
            begun: packet.at,
            last: packet.at,
            packets: 0,
            opening: match syn {
                true => Opening::Handshake,
                false => Opening::MidConnection,
            },
            reset: false,
            handshake: Handshake::default(),
            sack: false,
            timestamps: false,
            directions: [Direction::default(), Direction::default()],
        }
    }

    /// Whether `packet` opens another connection between the same ends.
    pub fn is_replaced_by(&self, packet: &Packet) -> bool {
        let segment = &packet.segment;
        if !segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::ACK) {
            return false;
        }
        let side = self.side(&packet.endpoints);
        self.directions[side].syn() != Some(segment.seq)
    }

    /// Which direction a packet with these endpoints belongs to.
    #[inline]
    fn side(&self, endpoints: &Endpoints) -> usize {
        usize::from(endpoints.src != self.endpoints.src || endpoints.dst != self.endpoints.dst)
    }

    /// Takes in its next packet.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, lineup: &Lineup) {
        // Within a connection time does not go back.
        let now = packet.at.max(self.last);
        self.last = now;
        self.packets += 1;
        let side = self.side(&packet.endpoints);
        let segment = &packet.segment;
        let flags = segment.flags;
        if flags.intersects(Flags::SYN) {
            self.on_syn(packet, now, side);
        }
        if let Some(outgoing) = packet.outgoing {
            self.directions[side].outgoing = Some(outgoing);
            self.directions[1 - side].outgoing = Some(!outgoing);
        }
        if let Some(ts) = segment.options.timestamps {
            self.timestamps = true;
            self.directions[1 - side].answer.ask(now, ts.value);
            if ts.echo != 0 {
                self.directions[side].answer.echoed(now, ts.echo);
            }
        }
        if !segment.options.sack.is_empty() {
            self.sack = true;
        }
        if flags.contains(Flags::ACK) {
            self.on_ack(packet, now, side, lineup);
        }
        let common = self.common(side, lineup);
        self.directions[side].on_packet(packet, now, &common);
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

    fn on_ack(&mut self, packet: &Packet, now: Instant, side: usize, lineup: &Lineup) {
        let common = self.common(1 - side, lineup);
        if let Some(took) = self.directions[1 - side].on_ack(packet, now, &common) {
            self.directions[side].answer.note(took);
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

    fn on_syn(&mut self, packet: &Packet, now: Instant, side: usize) {
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
        }
        handshake.scales[side] = (options.window_scale).map(|s| s.min(Options::MAX_WINDOW_SCALE));
        handshake.sack[side] = options.sack_permitted;
        if let Some(mss) = options.mss {
            self.directions[1 - side].agree_on_mss(mss, options.timestamps.is_some());
        }
        self.sack |= handshake.sack[0] && handshake.sack[1];
        if let [Some(ours), Some(theirs)] = handshake.scales {
            // The window field of what one end sends is shifted by what that end offered.
            self.directions[0].window_scale = theirs;
            self.directions[1].window_scale = ours;
        }
    }

    /// The address of the end that sends the direction `side`.
    fn end(&self, side: usize) -> IpAddr {
        match side {
            0 => self.endpoints.src.ip(),
            _ => self.endpoints.dst.ip(),
        }
    }

    /// What the analysis of one direction is told.
    #[inline]
    fn common<'a>(&self, side: usize, lineup: &'a Lineup) -> Common<'a> {
        Common {
            candidates: &lineup.candidates,
            hosts: &lineup.hosts,
            sender: self.end(side),
            sack: self.sack,
            timestamps: self.timestamps,
            near: self.directions[side].answer.least(),
            far: self.directions[1 - side].answer.least(),
            outgoing: self.directions[side].outgoing,
        }
    }

    /// Whether both ends have closed, or one reset it.
    pub fn is_over(&self) -> bool {
        self.reset || self.directions.iter().all(Direction::is_closed)
    }

    /// How it ended, where it is over.
    pub fn closing(&self) -> Closing {
        match self.reset {
            true => Closing::Reset,
            false => Closing::Closed,
        }
    }

    /// Whether nothing but SYNs was seen, one way.
    pub fn is_half_open(&self) -> bool {
        self.packets == u64::from(self.handshake.syns)
    }

    /// It is over. Its retransmissions, in the order of their frames, go into `rows`.
    pub fn close(
        self,
        closing: Closing,
        lineup: &mut Lineup,
        rows: &mut Vec<Retransmission>,
    ) -> finding::Connection {
        let (sack, timestamps) = (self.sack, self.timestamps);
        let answers = [0, 1].map(|side: usize| self.directions[side].answer.least());
        let from = rows.len();
        let mut side = 0;
        let directions = self.directions.map(|direction| {
            let (near, far) = (answers[side], answers[1 - side]);
            let endpoints = match side {
                0 => self.endpoints,
                _ => self.endpoints.reverse(),
            };
            side += 1;
            let common = Common {
                candidates: &lineup.candidates,
                hosts: &lineup.hosts,
                sender: endpoints.src.ip(),
                sack,
                timestamps,
                near,
                far,
                outgoing: direction.outgoing,
            };
            let over = Over {
                connection: self.id,
                endpoints,
                at: self.last,
                mss: 1,
                min_rtt: None,
            };
            let (direction, scores) = direction.close(&common, &over, |row| rows.push(row));
            if !scores.is_empty() {
                lineup.hosts.note(endpoints.src.ip(), &scores);
            }
            direction
        });
        rows[from..].sort_by_key(|row| row.frame);
        finding::Connection {
            id: self.id,
            endpoints: self.endpoints,
            opening: self.opening,
            closing,
            begun: self.begun,
            ended: self.last,
            packets: self.packets,
            handshake_rtt: self.handshake.rtt,
            directions,
        }
    }
}
