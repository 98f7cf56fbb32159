//! What the two directions of a connection have in common.

use crate::finding::Vantage;
use crate::identify::{Candidates, Host, Hosts, Lineup};
use crate::read::Packet;
use crate::rtts::Answer;
use crate::stock::Stock;
use crate::vantage;
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags};
use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// What either direction wants to know of a connection.
#[derive(Debug)]
pub(crate) struct Shared {
    /// `src` sends direction 0.
    pub endpoints: Endpoints,
    /// SACK was agreed on, or is used.
    pub sack: bool,
    /// Timestamps are used.
    pub timestamps: bool,
    /// Packets just like one that came at once before.
    pub alike: u64,
    /// The capture has the SYN twice, both before it was answered.
    pub syn_doubled: bool,
    /// How long the sender of each direction takes to answer.
    pub answers: [Answer; 2],
    /// Whether the capturing host sent it, where the capture says so.
    pub outgoing: [Option<bool>; 2],
    /// It said both of one direction: a router's or a bridge's, which gets and sends every packet.
    contradicted: bool,
    /// Options of ACKs of each direction were cut or malformed: SACK blocks, which come last, are the first
    /// to be lacking.
    pub cut: [bool; 2],
}

impl Shared {
    /// Nothing known yet.
    pub fn new(endpoints: Endpoints) -> Self {
        Self {
            endpoints,
            sack: false,
            timestamps: false,
            alike: 0,
            syn_doubled: false,
            answers: Default::default(),
            outgoing: [None; 2],
            contradicted: false,
            cut: [false; 2],
        }
    }

    /// Who sends direction `side`.
    pub fn sender(&self, side: usize) -> IpAddr {
        match side {
            0 => self.endpoints.src.ip(),
            _ => self.endpoints.dst.ip(),
        }
    }

    /// Whether both ends are on one host.
    fn within_a_host(&self) -> bool {
        let [src, dst] = [self.endpoints.src.ip(), self.endpoints.dst.ip()];
        src == dst || (src.is_loopback() && dst.is_loopback())
    }

    /// A packet of direction `side` passes.
    #[inline]
    pub fn note(&mut self, packet: &Packet, now: Instant, side: usize) {
        if packet
            .outgoing
            .is_some_and(|said| self.outgoing[side] != Some(said))
        {
            self.on_said(packet.outgoing, side);
        }
        let options = &packet.segment.options;
        if let Some(ts) = options.timestamps {
            // What a SYN offers need not be accepted (RFC 7323 §3.2).
            let flags = packet.segment.flags;
            self.timestamps |= !flags.contains(Flags::SYN) || flags.contains(Flags::ACK);
            self.answers[1 - side].ask(now, ts.value);
            if ts.echo != 0 {
                self.answers[side].echoed(now, ts.echo);
            }
        }
        self.sack |= !options.sack.is_empty();
        // A SYN carries no SACK blocks.
        self.cut[side] |= !packet.options_complete && !packet.segment.flags.contains(Flags::SYN);
    }

    /// The capture says of direction `side` what it did not say before.
    #[cold]
    fn on_said(&mut self, outgoing: Option<bool>, side: usize) {
        self.contradicted |= self.outgoing[side].is_some();
        let said = outgoing.filter(|_| !self.contradicted);
        self.outgoing[side] = said;
        self.outgoing[1 - side] = said.map(|said| !said);
    }
}

/// What the analysis of one direction may look at beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub shared: &'a Shared,
    pub lineup: &'a Lineup,
    pub side: usize,
}

/// What there is to know for explaining what a direction sent again.
#[derive(Debug)]
pub(crate) struct Common<'a> {
    /// The profiles tried.
    pub candidates: &'a Candidates,
    /// What is known of the hosts.
    hosts: &'a RwLock<Hosts>,
    /// What replays are made with.
    pub stock: &'a Stock,
    /// The data's sender.
    pub sender: IpAddr,
    /// SACK was agreed on, or is used.
    pub sack: bool,
    /// Timestamps are used.
    pub timestamps: bool,
    /// Options of the receiver's ACKs were cut: what it reports is not known any more.
    pub cut: bool,
    /// Largest payload of a segment, in bytes; at least 1.
    pub mss: u32,
    /// The least round-trip time between the place of capture and the receiver.
    pub min_rtt: Option<Duration>,
    /// Where the direction was captured, as far as is known.
    pub vantage: Vantage,
    /// From the place of capture to the sender and back.
    pub lag: Duration,
}

impl Common<'_> {
    /// Looks at what is known of the data's sender.
    pub fn about_sender<T>(&self, look: impl FnOnce(&Host) -> T) -> T {
        // Whoever panicked while writing has ended the analysis.
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        look(hosts.of(self.sender))
    }
}

impl<'a> Context<'a> {
    /// The same, put together, of a direction with this MSS and least round-trip time.
    pub fn common(&self, mss: u32, min_rtt: Option<Duration>) -> Common<'a> {
        let (shared, lineup) = (self.shared, self.lineup);
        let [near, far] = [self.side, 1 - self.side].map(|side| shared.answers[side].least());
        let vantage = vantage::of(
            near,
            far,
            shared.outgoing[self.side],
            shared.within_a_host(),
        );
        Common {
            candidates: &lineup.candidates,
            hosts: &lineup.hosts,
            stock: &lineup.stock,
            sender: shared.sender(self.side),
            sack: shared.sack,
            timestamps: shared.timestamps,
            cut: shared.cut[1 - self.side],
            mss,
            min_rtt,
            vantage,
            lag: match vantage {
                Vantage::Sender | Vantage::Unknown => Duration::ZERO,
                Vantage::Between | Vantage::Receiver => near.unwrap_or_default(),
            },
        }
    }
}
