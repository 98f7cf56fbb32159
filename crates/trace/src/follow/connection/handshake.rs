//! The handshake of a connection, and the time it lost.

use super::{ConnectionState, Reset};
use crate::{
    attribute::provisional::ProvisionalRow,
    cost::lost::handshake::{CompleteHandshake, add_handshake},
    finding,
    follow::direction::{DirectionState, fingerprint},
    memory::OptionalU64,
    read::CapturedPacket,
};
use recoup_units::Instant;
use recoup_wire::{Flags, Options};
use serde::{Deserialize, Serialize};
use std::{mem::replace, num::NonZeroU32, time::Duration};

/// The last SYN of a direction.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct LastSyn {
    pub fingerprint: NonZeroU32,
    pub time: Instant,
    /// By its timestamp in the capture.
    pub captured_at: Instant,
}

/// Packets of the handshake.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Handshake {
    /// When the first SYN passed, in ns.
    pub syn_at: OptionalU64,
    pub syns: u8,
    pub syn_acks: u8,
    /// Which ends sent a SYN, and which answered the other's.
    pub opened: [bool; 2],
    pub answered: [bool; 2],
    /// From then to the ACK of a SYN-ACK, in ns.
    pub took: OptionalU64,
    /// How it was completed.
    pub completion: Completion,
    /// The SYN was retransmitted before the first SYN-ACK.
    pub unanswered: bool,
    /// The window scale options, until both are known.
    pub scales: [Option<u8>; 2],
    pub sack: [bool; 2],
    pub mss: [Option<u16>; 2],
    /// Whether each end offered timestamps; `None` if its options were not captured.
    pub timestamps: [Option<bool>; 2],
}

/// How a handshake was completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Completion {
    /// It was not.
    #[default]
    Pending,
    /// Each packet was sent once.
    AtOnce,
    /// SYNs were retransmitted.
    AfterSyns,
    /// SYN-ACKs were retransmitted.
    AfterSynAcks,
    /// Both were.
    AfterBoth,
    /// The SYN or the SYN-ACK was retransmitted, and a reset came instead of the last ACK.
    Refused,
    /// TCP sent each packet once, and another program sent a copy of one. Until it is completed: such a copy was sent.
    Copied,
}

impl Completion {
    /// Whether the SYN and the SYN-ACK were retransmitted in a handshake that was completed.
    pub fn retransmitted(self) -> [bool; 2] {
        match self {
            Self::Pending | Self::AtOnce | Self::Refused | Self::Copied => [false; 2],
            Self::AfterSyns => [true, false],
            Self::AfterSynAcks => [false, true],
            Self::AfterBoth => [true; 2],
        }
    }
}

impl Handshake {
    /// The end that sent the SYN acknowledged the SYN-ACK, if there was one.
    #[cold]
    pub fn on_final_ack(&mut self, now: Instant, refused: bool) {
        if self.took.get().is_none()
            && self.syn_acks > 0
            && let Some(syn_at) = self.syn_at.get()
        {
            self.took = now.nanos_since(Instant::from_nanos(syn_at)).into();
            self.completion = match [self.syns > 1, self.syn_acks > 1] {
                [false, false] if self.completion == Completion::Copied => Completion::Copied,
                [false, false] => Completion::AtOnce,
                _ if refused => Completion::Refused,
                [true, false] => Completion::AfterSyns,
                [false, true] => Completion::AfterSynAcks,
                [true, true] => Completion::AfterBoth,
            };
        }
    }

    /// Another program sent a copy of the SYN or the SYN-ACK.
    #[cold]
    pub fn on_copy(&mut self) {
        if self.completion == Completion::Pending {
            self.completion = Completion::Copied;
        }
    }

    /// When it was completed; [`Instant::ZERO`] if it was not.
    pub fn completed_at(&self) -> Instant {
        let [from, took] = [self.syn_at, self.took].map(OptionalU64::get);
        let at = from.zip(took).map(|(from, took)| from.saturating_add(took));
        at.map_or(Instant::ZERO, Instant::from_nanos)
    }

    /// From the SYN to the ACK that completes the handshake, if each of its packets was sent once.
    pub fn rtt(&self) -> Option<Duration> {
        let took = self.took.get().map(Duration::from_nanos);
        took.filter(|_| self.completion == Completion::AtOnce)
    }
}

impl ConnectionState {
    /// Adds what the handshake lost.
    pub fn add_handshake(&self, rows: &mut [ProvisionalRow], found: &mut finding::Connection) {
        let Some(took) = self.handshake.took.get() else {
            return;
        };
        let opener = found.endpoints.src;
        let life = found.duration();
        let [syn, answer] = &mut found.directions;
        let handshake = CompleteHandshake {
            took: Duration::from_nanos(took),
            rtt: Duration::from_nanos([0, 1].map(|end| self.shared.response_time(end)).iter().sum()),
            life,
            retransmitted: self.handshake.completion.retransmitted(),
            unanswered: self.handshake.unanswered,
            vantage: syn.vantage,
        };
        let is_first = |row: &ProvisionalRow| row.retransmission.endpoints.src == opener;
        let lost = [&mut syn.lost, &mut answer.lost];
        add_handshake(rows, &handshake, is_first, lost);
    }

    /// A reset answered the SYN, and the client tries again with the same number, as Windows does.
    #[cold]
    fn begin_after_refusal(&mut self) {
        self.reset = Reset::No;
        self.reset_by = [false; 2];
        self.handshake.syns = 0;
        self.handshake.syn_at = OptionalU64::NONE;
        self.handshake.unanswered = false;
        self.directions.iter_mut().for_each(DirectionState::forget_reset);
    }

    /// A SYN or SYN-ACK. Returns whether it is the SYN-ACK of a simultaneous open (RFC 9293 §3.5,
    /// figure 8): it repeats the SYN's sequence number without being a retransmission.
    pub fn on_syn(&mut self, packet: &CapturedPacket, now: Instant, side: usize) -> bool {
        let segment = &packet.segment;
        let options = &segment.options;
        let answer = segment.flags.contains(Flags::ACK);
        if self.directions[side].syn().is_none() && self.directions[side].segments == 0 {
            self.directions[side].begin(segment.seq);
        }
        self.syns[side] = Some(LastSyn { fingerprint: fingerprint_of_syn(packet), time: now, captured_at: packet.at });
        self.in_handshake = true;
        if !answer && self.reset == Reset::Yes && self.handshake.syn_acks == 0 {
            self.begin_after_refusal();
        }
        let handshake = &mut self.handshake;
        if answer {
            handshake.syn_acks = handshake.syn_acks.saturating_add(1);
        } else {
            handshake.unanswered |= handshake.syns > 0 && handshake.syn_acks == 0;
            handshake.syns = handshake.syns.saturating_add(1);
            if handshake.syn_at.get().is_none() {
                handshake.syn_at = now.as_nanos().into();
            }
            handshake.opened[side] = true;
        }
        handshake.scales[side] = (options.window_scale).map(|s| s.min(Options::MAX_WINDOW_SCALE));
        handshake.sack[side] = options.sack_permitted;
        self.shared.sack_refused |= packet.options_complete && !options.sack_permitted;
        handshake.mss[side] = options.mss;
        handshake.timestamps[side] = (packet.options_complete).then_some(options.timestamps.is_some());
        let timestamps = handshake.timestamps.iter().all(|offered| *offered != Some(false));
        for (direction, [own, peer]) in [(0, [0, 1]), (1, [1, 0])] {
            if let Some(most) = handshake.mss[peer] {
                let mss = &mut self.directions[direction].mss;
                mss.agree(handshake.mss[own], most, timestamps);
            }
        }
        self.shared.sack |= handshake.sack[0] && handshake.sack[1];
        // Each end's window scale applies to the windows that this end sends, if both offer one.
        let scales = match handshake.scales {
            [Some(ours), Some(theirs)] => Some([theirs, ours]),
            _ if packet.options_complete && options.window_scale.is_none() => Some([0, 0]),
            _ => None,
        };
        if let Some(scales) = scales {
            self.directions.iter_mut().zip(scales).for_each(|(direction, scale)| direction.window_scale = scale);
        }
        let handshake = &mut self.handshake;
        answer && !replace(&mut handshake.answered[side], true) && handshake.opened[side]
    }
}

/// The fingerprint of a SYN; 1 stands for 0.
pub(super) fn fingerprint_of_syn(packet: &CapturedPacket) -> NonZeroU32 {
    NonZeroU32::new(fingerprint(packet)).unwrap_or(NonZeroU32::MIN)
}
