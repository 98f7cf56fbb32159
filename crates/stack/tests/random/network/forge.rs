//! Packets of attackers: those who see no packet, and must do no harm; those who see packets, and may harm the connections
//! whose packets they saw; and strangers.

use super::{
    Network,
    choices::Choices,
    packets::{self, Places},
    path::{HOSTS, addresses},
};
use recoup_stack::host::ConnectionId;
use recoup_tcp::State;
use recoup_wire::{
    Endpoints, Flags, IcmpMessage, IpFields, Options, Payload, QuotedHeader, Segment, SeqNumber, Timestamps, decode,
    decode_icmp, encode, encode_icmp,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ports that listeners and sockets have.
pub const PORTS: [u16; 4] = [80, 81, 82, 83];

/// Whose connection a packet is about: a segment's, or that of a quoted one.
fn subject(packet: &[u8]) -> Option<Endpoints> {
    if let Ok(decoded) = decode(packet) {
        return Some(decoded.endpoints);
    }
    match decode_icmp(packet).ok()?.quoted(packet)?.carried {
        QuotedHeader::Tcp { endpoints, .. } => Some(endpoints),
        _ => None,
    }
}

impl Network {
    /// The attackers send something.
    pub fn forge(&mut self, choices: &mut Choices<'_>) {
        match choices.below(4) {
            0 | 1 => self.forge_blindly(choices),
            2 => self.forge_on_path(choices),
            _ => self.forge_strangely(choices),
        }
    }

    /// Whoever sees no packet knows the ends of a connection at most, and guesses wrong numbers.
    fn forge_blindly(&mut self, choices: &mut Choices<'_>) {
        let count = self.ends.len() as u32;
        let Some(end) = self.ends.get(choices.below(count) as usize) else {
            return;
        };
        let (host, path) = (end.host, end.path);
        let Some(packet) = self.blind_packet(choices, host, end.id, &path) else {
            return;
        };
        self.path.put(self.now, host, &packet);
    }

    /// A packet that must not harm a connection. It is made when it is sent: what the numbers are when it arrives, is for the
    /// distances to allow for.
    fn blind_packet(
        &self,
        choices: &mut Choices<'_>,
        host: usize,
        id: ConnectionId,
        path: &Endpoints,
    ) -> Option<Vec<u8>> {
        let host = &self.nodes[host].host;
        let state = host.state(id)?;
        let endpoint = host.connection(id)?.endpoint();
        let (next, una) = (endpoint.receive_next(), endpoint.send_unacknowledged());
        // Windows have 2^30 bytes at most, and connections of this test fewer.
        let far = (1 << 30) + (choices.number() & 0x0fff_ffff);
        let mut segment = Segment {
            seq: next,
            ack: una,
            flags: Flags::ACK,
            window: choices.number() as u16,
            options: Options {
                timestamps: choices.chance(128).then(|| Timestamps { value: choices.number(), echo: choices.number() }),
                ..Options::NONE
            },
            payload_len: choices.below(100),
        };
        let mut packet = Vec::new();
        match choices.below(6) {
            // A reset that is not at the very number expected next (RFC 5961 §3.2).
            0 => {
                segment.flags = Flags::RST;
                segment.payload_len = 0;
                segment.seq = next + far;
            }
            // A SYN (RFC 5961 §4.2). One may open anew a connection that waits for its last segments to die.
            1 if state != State::TimeWait => {
                segment.flags = Flags::SYN;
                segment.seq = SeqNumber(choices.number());
                segment.payload_len = 0;
            }
            // Data beyond the window, or long gone.
            2 => segment.seq = next + far,
            3 => segment.seq = next + far.wrapping_neg(),
            // Data in the window, but an ACK of what was never sent, or long ago (RFC 5961 §5.2).
            4 => segment.ack = una + far,
            // A router's message about something that is not outstanding (RFC 5927 §4.1).
            _ => {
                segment.seq = una + far;
                segment.payload_len = 0;
                let mut quoted = Vec::new();
                encode(&segment, path, 1, Payload::Fill(1), &mut quoted).ok()?;
                let message = match choices.chance(128) {
                    true => IcmpMessage::TooBig { mtu: choices.number() % 2000 },
                    false => IcmpMessage::Unreachable { code: choices.byte() % 16 },
                };
                let (src, dst) = (path.dst.ip(), path.src.ip());
                encode_icmp(src, dst, IpFields::from(1), message, &quoted, &mut packet).ok()?;
                return Some(packet);
            }
        }
        if state == State::SynSent {
            segment.ack = una + far;
        }
        encode(&segment, &path.reverse(), 1, Payload::Fill(9), &mut packet).ok()?;
        Some(packet)
    }

    /// Whoever sees packets sends changed copies of them.
    fn forge_on_path(&mut self, choices: &mut Choices<'_>) {
        let Some(seen) = self.path.seen.get(choices.below(self.path.seen.len() as u32) as usize) else {
            return;
        };
        let mut packet = seen.clone();
        let to = (0..HOSTS).find(|host| {
            let [v4, v6] = addresses(*host);
            recoup_wire::ip_ends(&packet).is_some_and(|(_, dst)| dst == v4 || dst == v6)
        });
        let before = subject(&packet);
        packets::mutate(choices, &mut packet);
        let after = subject(&packet);
        for path in before.into_iter().chain(after) {
            self.taint(path);
        }
        self.strangers = true;
        if let Some(to) = to.filter(|to| *to < self.nodes.len()) {
            self.path.put(self.now, to, &packet);
        }
    }

    /// Strangers send packets of any kind.
    fn forge_strangely(&mut self, choices: &mut Choices<'_>) {
        self.strangers = true;
        let to = choices.below(self.nodes.len() as u32) as usize;
        let other = addresses((to + 1) % self.nodes.len());
        let outside: [IpAddr; 2] =
            [Ipv4Addr::new(203, 0, 113, choices.byte()).into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()];
        let others = [outside[0], outside[1], other[0], other[1]];
        let places = Places { host: addresses(to), others: &others, ports: &PORTS, numbers: &[] };
        for packet in places.strange(choices) {
            self.path.put(self.now, to, &packet);
        }
    }

    /// Attackers may do anything to the connection along this path from now on.
    fn taint(&mut self, path: Endpoints) {
        self.excused.insert(path);
        self.excused.insert(path.reverse());
        self.tainted.insert(path);
        self.tainted.insert(path.reverse());
    }
}
