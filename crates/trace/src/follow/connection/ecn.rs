//! Explicit congestion notification: what the ends agreed on, and the marks that the capture shows.

use crate::{
    finding::{EcnCounts, EcnMode},
    read::CapturedPacket,
};
use recoup_wire::{Flags, SeqNumber};
use serde::{Deserialize, Serialize};

/// The flags AE, CWR and ECE as one number. On most segments of a connection with accurate ECN, it is the counter ACE.
fn flags_of(packet: &CapturedPacket) -> u8 {
    let flags = packet.segment.flags;
    u8::from(packet.ecn.accurate_flag()) << 2
        | u8::from(flags.contains(Flags::CWR)) << 1
        | u8::from(flags.contains(Flags::ECE))
}

/// Where ACE begins to count (RFC 9768 §3.2.1).
const FIRST_COUNT: u8 = 5;

/// Explicit congestion notification of one connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct EcnState {
    mode: Option<EcnMode>,
    /// The flags of the last SYN.
    asked: u8,
    /// The last packet of the handshake acknowledges this number. ACE does not count yet there, as it says what became
    /// of the SYN-ACK (RFC 9768 §3.2.2.1).
    after_syn_ack: Option<SeqNumber>,
    /// By sender of the ACKs: the last ACE, or whether it reports a mark.
    last: [u8; 2],
    /// By sender of the data.
    pub counts: [EcnCounts; 2],
}

impl Default for EcnState {
    fn default() -> Self {
        Self { mode: None, asked: 0, after_syn_ack: None, last: [FIRST_COUNT; 2], counts: Default::default() }
    }
}

impl EcnState {
    /// Whether a packet shows anything of ECN.
    #[inline]
    pub fn concerns(packet: &CapturedPacket) -> bool {
        packet.ecn.is_capable() || packet.segment.flags.intersects(Flags::ECE.union(Flags::CWR))
    }

    /// What the ends agreed on. If the capture does not hold the handshake, options show accurate ECN, and reports of
    /// marks show that some ECN is in use.
    pub fn mode(&self) -> Option<EcnMode> {
        self.mode
    }

    /// Takes a packet of direction `side`.
    #[cold]
    pub fn on_packet(&mut self, packet: &CapturedPacket, side: usize) {
        let flags = packet.segment.flags;
        if flags.contains(Flags::SYN) {
            self.on_syn(packet, flags.contains(Flags::ACK));
            return;
        }
        if packet.ecn.accurate_option() {
            self.mode = Some(EcnMode::Accurate);
        }
        let own = &mut self.counts[side];
        own.capable += u64::from(packet.ecn.is_capable());
        own.marked += u64::from(packet.ecn.is_marked());
        if flags.contains(Flags::RST) {
            return;
        }
        match self.mode {
            Some(EcnMode::Accurate) => self.on_count(packet, side),
            Some(EcnMode::Classic) | None => self.on_echo(flags, side),
        }
    }

    /// The mode by RFC 3168 §6.1.1, and RFC 9768 §3.1 (table 2).
    fn on_syn(&mut self, packet: &CapturedPacket, answer: bool) {
        const ACCURATE: u8 = 0b111;
        const CLASSIC: u8 = 0b011;
        let flags = flags_of(packet);
        if !answer {
            self.asked = flags;
            return;
        }
        self.after_syn_ack = Some(packet.segment.seq + 1);
        self.mode = match (self.asked, flags) {
            (ACCURATE, 0b010 | 0b011 | 0b100 | 0b110) => Some(EcnMode::Accurate),
            (ACCURATE | CLASSIC, 0b001 | 0b101) => Some(EcnMode::Classic),
            _ => None,
        };
        if self.mode == Some(EcnMode::Classic) {
            self.last = [0; 2];
        }
    }

    /// An ACK of accurate ECN: its counter says how many more packets were marked, modulo 8.
    fn on_count(&mut self, packet: &CapturedPacket, side: usize) {
        if side == 0 && self.after_syn_ack == Some(packet.segment.ack) {
            return;
        }
        let ace = flags_of(packet);
        let more = ace.wrapping_sub(self.last[side]) & 7;
        // An ACK that was overtaken has a lower count.
        if more < 4 {
            self.last[side] = ace;
            self.counts[1 - side].reported += u64::from(more);
        }
    }

    /// A segment of classic ECN.
    fn on_echo(&mut self, flags: Flags, side: usize) {
        let reports = u8::from(flags.contains(Flags::ECE));
        if reports > self.last[side] {
            self.counts[1 - side].reported += 1;
        }
        // The sender confirms a loss in the same way: only a report makes it a reduction for a mark.
        if flags.contains(Flags::CWR) && self.counts[side].reductions < self.counts[side].reported {
            self.counts[side].reductions += 1;
        }
        self.last[side] = reports;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Packet;
    use recoup_wire::{Ecn, Segment};

    /// A packet with the flags AE, CWR and ECE as in `ecn`.
    fn packet(flags: Flags, ecn: u8, (seq, ack): (u32, u32)) -> CapturedPacket {
        let bits = [(0b010, Flags::CWR), (0b001, Flags::ECE)];
        let flags = bits.iter().filter(|(bit, _)| ecn & bit != 0).fold(flags, |flags, (_, flag)| flags | *flag);
        let accurate = if ecn & 0b100 != 0 { Ecn::NONE.with_accurate_flag() } else { Ecn::NONE };
        let segment = Segment { seq: SeqNumber(seq), ack: SeqNumber(ack), flags, ..Segment::default() };
        CapturedPacket { segment, ecn: accurate, ..CapturedPacket::from(&Packet::default()) }
    }

    fn handshake(asked: u8, answered: u8) -> EcnState {
        let mut state = EcnState::default();
        state.on_packet(&packet(Flags::SYN, asked, (0, 0)), 0);
        state.on_packet(&packet(Flags::SYN | Flags::ACK, answered, (100, 1)), 1);
        state
    }

    #[test]
    fn the_handshake_says_which_ecn_is_in_use() {
        for (asked, answered, mode) in [
            (0b011, 0b001, Some(EcnMode::Classic)),
            (0b011, 0b000, None),
            // A broken server reflects the flags.
            (0b011, 0b011, None),
            (0b000, 0b001, None),
            (0b111, 0b010, Some(EcnMode::Accurate)),
            (0b111, 0b110, Some(EcnMode::Accurate)),
            (0b111, 0b001, Some(EcnMode::Classic)),
            (0b111, 0b111, None),
            (0b111, 0b000, None),
        ] {
            assert_eq!(handshake(asked, answered).mode(), mode, "{asked:03b} {answered:03b}");
        }
    }

    #[test]
    fn classic_reports_count_once_until_they_are_confirmed() {
        let mut state = handshake(0b011, 0b001);
        for (side, ecn) in [(0, 0b010), (1, 0b001), (1, 0b001), (0, 0b010), (1, 0), (1, 0b001), (0, 0b010), (0, 0b010)]
        {
            state.on_packet(&packet(Flags::ACK, ecn, (1, 101)), side);
        }
        // The first and the last confirmation answer no report.
        assert_eq!((state.counts[0].reported, state.counts[0].reductions), (2, 2));
    }

    #[test]
    fn accurate_reports_count_marked_packets() {
        let mut state = handshake(0b111, 0b010);
        // The last packet of the handshake, and the data behind it, say what became of the SYN-ACK.
        state.on_packet(&packet(Flags::ACK, 0b010, (1, 101)), 0);
        for ace in [5, 6, 0, 7, 2] {
            state.on_packet(&packet(Flags::ACK, ace, (101, 1)), 1);
        }
        // 5 to 6, to 8; an ACK that was overtaken; to 10.
        assert_eq!(state.counts[0].reported, 5);
        state.on_packet(&packet(Flags::ACK, 6, (1, 200)), 0);
        assert_eq!(state.counts[1].reported, 1);
        assert_eq!(state.counts[0].reductions, 0);
    }

    #[test]
    fn marks_of_routers_count() {
        let mut state = EcnState::default();
        for byte in [0b00, 0b10, 0b11, 0b01] {
            let packet = CapturedPacket { ecn: Ecn::from_ip(byte), ..packet(Flags::ACK, 0, (1, 1)) };
            state.on_packet(&packet, 1);
        }
        assert_eq!((state.counts[1].capable, state.counts[1].marked), (3, 1));
    }
}
