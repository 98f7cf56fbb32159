//! Reads the bytes that bpf/retransmissions.bpf.c writes: its `struct record`.

use recoup_wire::{Endpoints, SeqNumber};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A retransmission, and the state of its connection just after it was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds of `CLOCK_BOOTTIME`.
    pub at: u64,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub seq: SeqNumber,
    pub end: SeqNumber,
    /// 0, or the negative error number with which the packet could not be passed on.
    pub error: i32,
    pub tcp_flags: u8,
    /// `icsk_ca_state`.
    pub ca_state: u8,
    /// `icsk_pending`.
    pub pending: u8,
    /// The segment is marked lost.
    pub marked_lost: bool,
    /// The retransmission timer is due.
    pub timer_expired: bool,
    /// The congestion state began with a retransmission timeout.
    pub after_timeout: bool,
    /// The reduction of the congestion window may be undone.
    pub can_undo: bool,
}

/// Takes fields from the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_ne_bytes)
    }

    fn bool(&mut self) -> Option<bool> {
        self.u8().map(|byte| byte != 0)
    }
}

impl Record {
    /// Reads a record; `None` if it is too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let at = fields.take().map(u64::from_ne_bytes)?;
        let [local, remote] = [fields.take()?, fields.take()?];
        let [seq, end] = [fields.u32()?, fields.u32()?].map(SeqNumber);
        let error = fields.take().map(i32::from_ne_bytes)?;
        let [local_port, remote_port] = [fields.u16()?, fields.u16()?];
        let is_ipv6 = fields.bool()?;
        Some(Self {
            at,
            local: SocketAddr::new(address(local, is_ipv6), local_port),
            remote: SocketAddr::new(address(remote, is_ipv6), remote_port),
            seq,
            end,
            error,
            tcp_flags: fields.u8()?,
            ca_state: fields.u8()?,
            pending: fields.u8()?,
            marked_lost: fields.bool()?,
            timer_expired: fields.bool()?,
            after_timeout: fields.bool()?,
            can_undo: fields.bool()?,
        })
    }

    pub fn endpoints(&self) -> Endpoints {
        Endpoints { src: self.local, dst: self.remote }
    }
}

/// An IPv6 socket with IPv4 addresses sends IPv4 packets (RFC 4291 §2.5.5.2).
fn address(bytes: [u8; 16], is_ipv6: bool) -> IpAddr {
    let [a, b, c, d, ..] = bytes;
    match is_ipv6 {
        true => IpAddr::from(Ipv6Addr::from(bytes)).to_canonical(),
        false => Ipv4Addr::new(a, b, c, d).into(),
    }
}

#[cfg(test)]
pub mod tests;
