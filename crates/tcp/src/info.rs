//! The state of a connection in the form of Linux's `TCP_INFO`.
//!
//! Names and units are the kernel's, without the `tcpi_` prefix, so that documentation of `ss -i` and
//! `struct tcp_info` applies. Pacing and delivery rates, and features that this endpoint does not have (fast open), have no field.

use crate::endpoint::{Endpoint, State};
use recoup_recovery::{State as RecoveryState, Transmission};
use recoup_units::{Instant, Segments};
use recoup_wire::{Flags, Segment};
use std::time::Duration;

/// Defines [`Info`] so that its fields can be read by name.
macro_rules! info {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// A snapshot of a connection; see the module for names and units.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Info {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Info {
            /// The names of the fields, in order.
            pub const NAMES: &[&str] = &[$(stringify!($name),)*];

            /// The value of the field called `name` (without `tcpi_`), if there is one.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($name) => Some(u64::from(self.$name)),)*
                    _ => None,
                }
            }
        }
    };
}

info! {
    /// The connection's state by the kernel's numbers: 1 ESTABLISHED to 11 CLOSING.
    state: u8,
    /// 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    ca_state: u8,
    /// Retransmission timeouts since the last progress.
    retransmits: u8,
    /// Unanswered zero-window probes.
    probes: u8,
    /// How often the RTO or the probe interval was doubled.
    backoff: u8,
    /// Negotiated options, as bits: 1 timestamps, 2 SACK, 4 window scaling.
    options: u8,
    /// Scale shift of the windows the peer offers.
    snd_wscale: u8,
    /// Scale shift of the windows offered to the peer.
    rcv_wscale: u8,
    /// The current RTO, in µs.
    rto: u32,
    /// How long an ACK may be delayed, in µs.
    ato: u32,
    /// Payload bytes of a full segment sent.
    snd_mss: u32,
    /// Payload bytes of a full segment received, as estimated.
    rcv_mss: u32,
    /// Segments outstanding, SACKed ones included.
    unacked: u32,
    /// Segments SACKed; without SACK, duplicate ACKs counted.
    sacked: u32,
    /// Segments marked lost.
    lost: u32,
    /// Retransmissions in flight.
    retrans: u32,
    /// Time since data was last sent, in ms.
    last_data_sent: u32,
    /// Time since data was last received, in ms.
    last_data_recv: u32,
    /// Time since an ACK was last received, in ms.
    last_ack_recv: u32,
    /// SRTT in µs.
    rtt: u32,
    /// RTTVAR in µs.
    rttvar: u32,
    /// The slow-start threshold in segments; 2³¹ − 1 until the first reduction.
    snd_ssthresh: u32,
    /// The congestion window in segments.
    snd_cwnd: u32,
    /// The announced MSS, which includes the options on every segment.
    advmss: u32,
    /// The current dupthresh.
    reordering: u32,
    /// Retransmissions of the whole connection.
    total_retrans: u32,
    /// Bytes of the send stream acknowledged.
    bytes_acked: u64,
    /// Bytes of the receive stream that arrived in order.
    bytes_received: u64,
    /// Segments sent.
    segs_out: u32,
    /// Segments received.
    segs_in: u32,
    /// Bytes written and not sent yet.
    notsent_bytes: u32,
    /// The smallest RTT, in µs; 2³² − 1 without a sample.
    min_rtt: u32,
    /// Segments received that carried data.
    data_segs_in: u32,
    /// Segments sent that carried data.
    data_segs_out: u32,
    /// Segments delivered to the peer, retransmissions included.
    delivered: u32,
    /// Payload bytes sent, retransmissions included.
    bytes_sent: u64,
    /// Payload bytes retransmitted.
    bytes_retrans: u64,
    /// Duplicates the peer reported by DSACK.
    dsack_dups: u32,
    /// How often reordering was detected.
    reord_seen: u32,
    /// The window the peer offers, in bytes.
    snd_wnd: u32,
    /// The window offered to the peer, in bytes.
    rcv_wnd: u32,
}

impl Info {
    /// The value of `snd_ssthresh` before the first reduction.
    pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
    /// The bit of timestamps in `options`.
    pub const TIMESTAMPS: u8 = 1;
    /// The bit of SACK in `options`.
    pub const SACK: u8 = 2;
    /// The bit of window scaling in `options`.
    pub const WINDOW_SCALE: u8 = 4;
}

/// The traffic counters of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    segs_in: u32,
    segs_out: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    total_retrans: u32,
    /// The largest payload received, from which the peer's full segment is estimated.
    largest_received: u32,
    last_data_sent: Option<Instant>,
    last_data_recv: Option<Instant>,
    last_ack_recv: Option<Instant>,
}

impl Traffic {
    /// The handshake completed: the times since the last data and ACK start here.
    pub(crate) fn on_open(&mut self, now: Instant) {
        self.last_data_recv = Some(now);
        self.last_ack_recv = Some(now);
    }

    /// When data or an ACK arrived last.
    pub(crate) fn last_heard(&self) -> Option<Instant> {
        self.last_data_recv.max(self.last_ack_recv)
    }

    pub(crate) fn on_received(&mut self, now: Instant, segment: &Segment) {
        self.segs_in = self.segs_in.wrapping_add(1);
        if segment.payload_len > 0 {
            self.data_segs_in = self.data_segs_in.wrapping_add(1);
            self.largest_received = self.largest_received.max(segment.payload_len);
            self.last_data_recv = Some(now);
        }
        if segment.flags.contains(Flags::ACK) {
            self.last_ack_recv = Some(now);
        }
    }

    /// Counts a segment sent. `what`: the sender's decision behind it, if any.
    pub(crate) fn on_sent(&mut self, now: Instant, segment: &Segment, what: Option<Transmission>) {
        self.segs_out = self.segs_out.wrapping_add(1);
        let payload = u64::from(segment.payload_len);
        if payload > 0 {
            self.data_segs_out = self.data_segs_out.wrapping_add(1);
            self.bytes_sent += payload;
            self.last_data_sent = Some(now);
        }
        if let Some(Transmission::Again(..)) = what {
            self.total_retrans = self.total_retrans.wrapping_add(1);
            self.bytes_retrans += payload;
        }
    }

    /// Counts `segments` further segments of new data, of `size` bytes each, sent with the last one.
    pub(crate) fn on_sent_more(&mut self, segments: u32, size: u32) {
        self.segs_out = self.segs_out.wrapping_add(segments);
        self.data_segs_out = self.data_segs_out.wrapping_add(segments);
        self.bytes_sent += u64::from(segments) * u64::from(size);
    }
}

impl Endpoint {
    /// A snapshot at `now`, with the fields of `TCP_INFO`.
    pub fn info(&self, now: Instant) -> Info {
        let (sender, receiver, traffic) = (self.sender(), self.receiver(), &self.traffic);
        let (board, rtt, counters) = (sender.board(), sender.rtt(), sender.counters());
        let since = |at: Option<Instant>| at.map_or(0, |at| narrow(now.since(at).as_millis()));
        Info {
            state: self.state().number(),
            ca_state: ca_state(sender.state()),
            retransmits: byte(sender.timeouts()),
            probes: byte(sender.unanswered_window_probes()),
            backoff: byte(sender.backoff()),
            options: self.agreed_options(),
            snd_wscale: self.peer_scale,
            rcv_wscale: self.scale,
            rto: micros(sender.rto()),
            ato: micros(self.acks.delay()),
            snd_mss: u32::from(self.full_segment),
            rcv_mss: self.received_full_segment(),
            unacked: board.outstanding().0,
            sacked: board.sacked().0,
            lost: board.lost().0,
            retrans: board.retransmitted().0,
            last_data_sent: since(traffic.last_data_sent),
            last_data_recv: since(traffic.last_data_recv),
            last_ack_recv: since(traffic.last_ack_recv),
            rtt: rtt.srtt().map_or(0, micros),
            rttvar: micros(rtt.rttvar()),
            snd_ssthresh: segments(sender.ssthresh()),
            snd_cwnd: segments(sender.cwnd()),
            advmss: u32::from(self.announced_mss),
            reordering: sender.reordering().0,
            total_retrans: traffic.total_retrans,
            bytes_acked: sender.una().0,
            bytes_received: receiver.next().0.saturating_sub(1),
            segs_out: traffic.segs_out,
            segs_in: traffic.segs_in,
            notsent_bytes: narrow(u128::from(sender.limit().since(sender.nxt()))),
            min_rtt: rtt.min().map_or(u32::MAX, micros),
            data_segs_in: traffic.data_segs_in,
            data_segs_out: traffic.data_segs_out,
            delivered: narrow(u128::from(counters.delivered)),
            bytes_sent: traffic.bytes_sent,
            bytes_retrans: traffic.bytes_retrans,
            dsack_dups: narrow(u128::from(counters.dsacks)),
            reord_seen: narrow(u128::from(counters.reordering_seen)),
            snd_wnd: narrow(u128::from(sender.peer_window().bytes(sender.una()))),
            rcv_wnd: narrow(u128::from(receiver.edge().since(receiver.next()))),
        }
    }

    fn agreed_options(&self) -> u8 {
        let scaling = self.scale > 0 || self.peer_scale > 0;
        [(self.timestamps, Info::TIMESTAMPS), (self.sack, Info::SACK), (scaling, Info::WINDOW_SCALE)]
            .into_iter()
            .fold(0, |bits, (on, bit)| if on { bits | bit } else { bits })
    }

    /// The largest payload received. Before any data, Linux's initial estimate: the smaller of its own MSS
    /// and 536, but at least 88.
    pub(crate) fn received_full_segment(&self) -> u32 {
        const EVERY_PATH: u32 = 536;
        const LEAST: u32 = 88;
        let guess = EVERY_PATH.min(u32::from(self.full_segment)).max(LEAST);
        let most = u32::from(self.announced_mss).max(guess);
        self.traffic.largest_received.clamp(guess, most)
    }
}

impl State {
    /// The kernel's number of the state.
    pub const fn number(self) -> u8 {
        match self {
            Self::Established => 1,
            Self::SynSent => 2,
            Self::SynReceived => 3,
            Self::FinWait1 => 4,
            Self::FinWait2 => 5,
            Self::TimeWait => 6,
            Self::Closed(_) => 7,
            Self::CloseWait => 8,
            Self::LastAck => 9,
            Self::Listen => 10,
            Self::Closing => 11,
        }
    }
}

/// The kernel's number of a congestion state.
const fn ca_state(state: RecoveryState) -> u8 {
    state as u8 // the states have Linux's order
}

fn narrow(n: u128) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn byte(n: u32) -> u8 {
    u8::try_from(n).unwrap_or(u8::MAX)
}

fn micros(duration: Duration) -> u32 {
    narrow(duration.as_micros())
}

fn segments(n: Segments) -> u32 {
    n.0.min(Info::INFINITE_SSTHRESH)
}

#[cfg(test)]
mod tests;
