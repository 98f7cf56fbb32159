//! What the host does about messages of ICMP, and about which packets it sends some.
//!
//! - Echo requests are answered (RFC 1122 §3.2.2.6, RFC 4443 §4.2).
//! - "Too big" and "unreachable" are believed if they quote what this host sent: a TCP segment that is outstanding
//!   (RFC 5927 §4.1), or a datagram of a connected socket. An IPv4 router that does not say how much it takes (RFC 1191
//!   §5) is taken to take [`LEAST_V4`].
//! - Packets for a port or a protocol that nothing has are refused (RFC 1122 §3.2.2.1, §4.1.3.1; RFC 4443 §3.1, §3.4),
//!   and a sender is notified that a fragment of a packet did not come.
//!
//! Errors are limited in number (RFC 1812 §4.3.2.8, RFC 4443 §2.4 f), by [`ErrorBudget`]. None is about a message of
//! ICMP, other than an echo whose fragments did not all come; about a packet to or from other than one host; or about a
//! later fragment (RFC 1122 §3.2.2, RFC 4443 §2.4 e).

use std::{net::IpAddr, time::Duration};

use recoup_units::Instant;
use recoup_wire::{
    Checksum, DecodedIcmp, Endpoints, IcmpMessage, IpFragment, IpVersion, Quoted, QuotedHeader, SeqNumber, Unreachable,
    decode_icmp, quotable,
};

use super::{Host, Secret, input::is_unicast, others::Outcome};

/// Smallest path MTU assumed for IPv4, in bytes: links that take less (RFC 1191 §7) are gone, and forged
/// messages cannot make segments smaller.
const LEAST_V4: u16 = 296;

/// How long a path is taken at its word (RFC 1191 §6.3, RFC 8201 §4: about 10 minutes).
const PATH_MTU_LIFE: Duration = Duration::from_secs(600);

/// Smallest path MTU of IPv6, in bytes (RFC 8200 §5).
const LEAST_V6: u16 = 1280;

/// Errors per second, and at once, at most (Linux `icmp_msgs_per_sec` of version 5, `icmp_msgs_burst`).
const PER_SECOND: u64 = 1000;
const AT_ONCE: i32 = 50;

/// Limits how many errors the host sends.
///
/// A bucket of tokens. An error costs 0, 1 or 2 of them, and nobody knows which: from an exact limit an attacker could
/// learn which of the errors that others caused were sent, and so which ports are open (CVE-2020-25705; Linux
/// `icmp_global_allow` does the same).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorBudget {
    /// One error may cost more than is left.
    left: i32,
    /// Up to when tokens were added, in token times.
    filled: u64,
    /// Errors wanted so far.
    wanted: u64,
}

impl Default for ErrorBudget {
    fn default() -> Self {
        Self { left: AT_ONCE, filled: 0, wanted: 0 }
    }
}

impl ErrorBudget {
    /// Whether one more error may be sent now. If so it is counted.
    pub fn spend(&mut self, now: Instant, secret: &Secret) -> bool {
        let time = now.as_nanos() / (1_000_000_000 / PER_SECOND);
        let earned = time.saturating_sub(self.filled).min(2 * AT_ONCE as u64) as i32;
        self.left = (self.left + earned).min(AT_ONCE);
        self.filled = self.filled.max(time);
        self.wanted = self.wanted.wrapping_add(1);
        let allowed = self.left > 0;
        if allowed {
            self.left -= secret.below(3, self.wanted) as i32;
        }
        allowed
    }
}

impl Host {
    /// A packet of ICMP or ICMPv6 arrived.
    pub(super) fn on_icmp(&mut self, now: Instant, packet: &[u8]) -> Outcome {
        let Ok(icmp) = decode_icmp(packet) else {
            return Outcome::Ignored;
        };
        if icmp.checksum != Checksum::Correct || !icmp.ip_checksum_ok {
            return Outcome::Ignored;
        }
        if !(self.is_own(icmp.dst) || self.quotes_connection(&icmp, packet)) || !self.is_from_peer(icmp.src) {
            return Outcome::NotTaken;
        }
        let data = packet.get(icmp.data.clone()).unwrap_or_default();
        match icmp.message {
            IcmpMessage::EchoRequest { identifier, sequence } if self.answers_echo(icmp.dst) => {
                let reply = IcmpMessage::EchoReply { identifier, sequence };
                // Without room, the reply is as good as lost.
                let sent = self.send_icmp(icmp.dst, icmp.src, reply, data);
                self.stats.datagrams_dropped += u64::from(sent.is_err());
                Outcome::Taken
            }
            IcmpMessage::EchoReply { identifier, sequence } => self.on_echo_reply(&icmp, identifier, sequence, data),
            IcmpMessage::TooBig { mtu } => {
                let least = if icmp.src.is_ipv4() { LEAST_V4 } else { LEAST_V6 };
                let mtu = u16::try_from(mtu).unwrap_or(u16::MAX).max(least);
                self.on_quoting(
                    &icmp,
                    packet,
                    |host, index, seq| host.on_too_big(now, index, seq, mtu),
                    |host, path| {
                        let most = host.mtu;
                        let found = host.datagrams.find_connected(path);
                        found.is_some_and(|(_, socket)| {
                            let lower = mtu < socket.path_mtu.unwrap_or(most);
                            if lower {
                                socket.path_mtu = Some(mtu);
                            }
                            lower
                        })
                    },
                )
            }
            IcmpMessage::Unreachable { code } => match Unreachable::of_code(icmp.version(), code) {
                Some(why) => self.on_refusal(now, &icmp, packet, why),
                None => Outcome::NotTaken,
            },
            // An unknown protocol (RFC 4443 §3.4).
            IcmpMessage::ParameterProblem { code: 1, .. } if icmp.version() == IpVersion::V6 => {
                self.on_refusal(now, &icmp, packet, Unreachable::Protocol)
            }
            _ => Outcome::NotTaken,
        }
    }

    /// Whether a message is about a packet of a connection, which may be at any address.
    fn quotes_connection(&self, icmp: &DecodedIcmp, packet: &[u8]) -> bool {
        match icmp.quoted(packet).map(|quoted| quoted.carried) {
            Some(QuotedHeader::Tcp { endpoints, .. }) => {
                self.table.find(&endpoints).is_some() || self.half_open.has(&endpoints)
            }
            _ => false,
        }
    }

    /// Whether echo requests to this address are answered.
    fn answers_echo(&self, address: IpAddr) -> bool {
        self.config.addresses.contains(&address)
            || (self.config.answer_any_echo && self.is_own(address) && is_unicast(address))
    }

    /// Packets to a destination do not arrive.
    fn on_refusal(&mut self, now: Instant, icmp: &DecodedIcmp, packet: &[u8], why: Unreachable) -> Outcome {
        let on_tcp = |host: &mut Self, index, seq| host.on_unreachable(now, index, seq, why);
        self.on_quoting(icmp, packet, on_tcp, |host, path| {
            let Some((index, _)) = host.datagrams.find_connected(path) else {
                return false;
            };
            // The others may pass (RFC 1122 §4.1.3.3; Linux `icmp_err_convert`).
            if matches!(why, Unreachable::Port | Unreachable::Protocol | Unreachable::Prohibited) {
                host.datagrams.reject(index, path.dst, why);
            }
            true
        })
    }

    /// A message about a packet that this host should have sent: to a connection with the sequence number, or to a
    /// socket of UDP with the ends. These say whether they take it.
    fn on_quoting(
        &mut self,
        icmp: &DecodedIcmp,
        packet: &[u8],
        on_tcp: impl FnOnce(&mut Self, u32, SeqNumber) -> bool,
        on_udp: impl FnOnce(&mut Self, &Endpoints) -> bool,
    ) -> Outcome {
        // It came to whoever sent the packet.
        let Some(Quoted { carried, .. }) = icmp.quoted(packet).filter(|quoted| quoted.src == icmp.dst) else {
            return Outcome::NotTaken;
        };
        let taken = match carried {
            QuotedHeader::Tcp { endpoints, seq } => {
                let index = self.table.find(&endpoints).or_else(|| self.reopen(&endpoints));
                index.is_some_and(|index| {
                    let taken = on_tcp(self, index, seq);
                    // A half-open connection leaves the table again when it has had its turn.
                    self.mark_dirty(index);
                    taken
                })
            }
            QuotedHeader::Udp(endpoints) => on_udp(self, &endpoints),
            QuotedHeader::EchoRequest { .. } | QuotedHeader::Other { .. } => false,
        };
        if taken { Outcome::Taken } else { Outcome::NotTaken }
    }

    /// ICMP says that a segment of a connection did not reach its destination. Returns whether that is believed: the
    /// segment must be outstanding (RFC 5927 §4.1).
    fn on_unreachable(&mut self, now: Instant, index: u32, seq: SeqNumber, why: Unreachable) -> bool {
        let connection = self.table.at_mut(index);
        let believed = connection.is_some_and(|c| c.tcp.endpoint_mut().on_unreachable(now, why, seq));
        if believed {
            self.stats.unreachable += 1;
            // It may be over, which its owner learns when it has its turn.
            self.mark_dirty(index);
        }
        believed
    }

    /// The path takes packets of `mtu` bytes at most. Believed if it quotes a segment that is
    /// outstanding (RFC 5927 §4.1).
    fn on_too_big(&mut self, now: Instant, index: u32, seq: SeqNumber, mtu: u16) -> bool {
        let Some(connection) = self.table.at_mut(index) else {
            return false;
        };
        mtu < self.mtu && connection.tcp.endpoint().is_outstanding(seq) && self.limit_mtu(now, index, mtu)
    }

    /// Packets of a connection have up to `mtu` bytes, for a while. Returns whether that is less than before.
    pub(super) fn limit_mtu(&mut self, now: Instant, index: u32, mtu: u16) -> bool {
        self.limit_records(index);
        let Some(connection) = self.table.at_mut(index) else {
            return false;
        };
        let endpoint = connection.tcp.endpoint_mut();
        // A search may have smaller segments for now, and will probe for larger ones.
        if mtu >= endpoint.path_mtu_limit() {
            return false;
        }
        endpoint.limit_path_mtu(now, mtu);
        connection.limited_until = Some(now + PATH_MTU_LIFE);
        self.table.count(index);
        self.mark_dirty(index);
        true
    }

    /// Tells the sender of a packet, `dst`, that nothing takes it at `src`, unless the budget is spent.
    pub(super) fn send_unreachable(&mut self, now: Instant, why: Unreachable, packet: &[u8], src: IpAddr, dst: IpAddr) {
        let version = if src.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 };
        let mut message = why.message(version);
        if let IcmpMessage::ParameterProblem { pointer, .. } = &mut message {
            // The number stands in the last header in front of what nobody knows.
            *pointer = recoup_wire::extension_headers(packet)
                .ok()
                .and_then(|headers| Some(headers.last()?.0.start as u32))
                .unwrap_or(*pointer);
        }
        self.send_error(now, message, packet, src, dst);
    }

    /// Sends an error about `packet`, unless the budget is spent.
    fn send_error(&mut self, now: Instant, message: IcmpMessage, packet: &[u8], src: IpAddr, dst: IpAddr) {
        if !is_unicast(src) || !self.is_from_peer(dst) {
            return;
        }
        let sent = self.errors.spend(now, &self.secret) && self.send_icmp(src, dst, message, quotable(packet)).is_ok();
        let count = if sent { &mut self.stats.errors_sent } else { &mut self.stats.errors_withheld };
        *count += 1;
    }

    /// Discards datagrams whose fragments did not all come in time, and notifies their senders if the first one did
    /// (RFC 1122 §3.3.2, RFC 8200 §4.5).
    pub(super) fn expire_fragments(&mut self, now: Instant) {
        while let Some(expired) = self.reassembly.expire(now) {
            let Some(packet) = expired else { continue };
            let Some(fragment) = IpFragment::read(&packet) else { continue };
            let kind = packet.get(fragment.payload.start);
            let about_icmp = match fragment.protocol {
                1 => kind != Some(&8),
                58 => kind != Some(&128),
                _ => false,
            };
            if !about_icmp {
                let message = IcmpMessage::TimeExceeded { code: 1 };
                self.send_error(now, message, &packet, fragment.dst, fragment.src);
            }
        }
    }

    /// Whether a packet from this address can be another host's.
    pub(super) fn is_from_peer(&self, source: IpAddr) -> bool {
        is_unicast(source) && !self.config.addresses.contains(&source)
    }

    /// Whether packets to this address for which there is nothing are refused by ICMP: at own addresses, and at those
    /// that a listener takes, unless the application takes what is left there.
    pub(super) fn refuses_at(&self, address: IpAddr) -> bool {
        self.config.addresses.contains(&address) || (self.raw.is_none() && self.is_own(address))
    }
}

#[cfg(test)]
mod tests;
