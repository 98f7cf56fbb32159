//! The configuration of an endpoint.

use crate::{AckPolicy, Ecn, MtuProbing, Push};
use recoup_recovery::Mechanisms;
use recoup_wire::{IpVersion, Options, SeqNumber};

/// How the window field is scaled (RFC 7323 §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowScaling {
    /// No scaling, in either direction.
    Off,
    /// The smallest shift with which the whole receive buffer can be offered.
    #[default]
    Fit,
    /// This shift, at most 14, for a receive buffer that will grow.
    Shift(u8),
}

impl WindowScaling {
    /// The smallest shift with which a receive buffer of `bytes` can be offered, for one that begins smaller.
    pub fn fit(bytes: u64) -> Self {
        Self::Shift(Self::least_shift(bytes))
    }

    fn least_shift(bytes: u64) -> u8 {
        let most = Options::MAX_WINDOW_SCALE;
        (0..most).find(|shift| bytes >> shift <= 0xffff).unwrap_or(most)
    }
}

/// The configuration of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The loss recovery mechanisms.
    pub mechanisms: Mechanisms,
    /// When to send ACKs.
    pub acks: AckPolicy,
    /// Payload bytes of a full segment, without the options on every segment. The MSS option announces this
    /// value plus the size of those options (RFC 6691 §2).
    pub mss: u16,
    /// The IP version of the packets.
    pub ip_version: IpVersion,
    /// The size of the receive buffer, in bytes. The offered window never exceeds it.
    pub receive_buffer: u64,
    /// The initial sequence number. On an untrusted network, generate it by RFC 6528.
    pub isn: SeqNumber,
    /// Whether to offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Whether to offer SACK (RFC 2018 §2).
    pub sack: bool,
    /// Whether to report duplicates by DSACK (RFC 2883).
    pub dsack: bool,
    /// Whether to negotiate explicit congestion notification.
    pub ecn: Ecn,
    /// Whether Nagle's algorithm may delay a partial segment (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Which segments carry the PSH bit.
    pub push: Push,
    /// How windows are scaled.
    pub window_scaling: WindowScaling,
    /// Whether to measure what size the receive buffer should have; see
    /// [`Endpoint::wanted_receive_buffer`](crate::Endpoint::wanted_receive_buffer). Leave
    /// [`window_scaling`](Self::window_scaling) room for it.
    pub tune_receive_buffer: bool,
    /// Whether to search for the path MTU by the loss of segments.
    pub mtu_probing: MtuProbing,
    /// Whether to record events.
    pub log: bool,
}

impl Config {
    /// Bytes of options on every segment once timestamps are agreed (RFC 7323 appendix A).
    pub const TIMESTAMPS_LEN: u16 = 12;

    /// Linux's defaults: timestamps with 1448 bytes of payload per segment, SACK, and a large receive buffer.
    pub fn new(mechanisms: Mechanisms) -> Self {
        Self {
            mechanisms,
            acks: AckPolicy::Quick,
            mss: 1448,
            ip_version: IpVersion::V4,
            receive_buffer: 64 << 20,
            isn: SeqNumber(0),
            timestamps: true,
            sack: true,
            dsack: true,
            ecn: Ecn::Off,
            nagle: false,
            push: Push::WriteEnd,
            window_scaling: WindowScaling::Fit,
            tune_receive_buffer: false,
            mtu_probing: MtuProbing::Off,
            log: false,
        }
    }

    /// Bytes of options on every segment, if the peer agrees to them.
    fn options_len(&self) -> u16 {
        match self.timestamps {
            true => Self::TIMESTAMPS_LEN,
            false => 0,
        }
    }

    /// The announced MSS: the payload of a full segment plus the options on every segment.
    pub fn announced_mss(&self) -> u16 {
        self.mss.saturating_add(self.options_len())
    }

    /// Sets the announced MSS. The payload of a full segment becomes `mss` minus the options, but at least
    /// one byte.
    pub fn announce(&mut self, mss: u16) {
        self.mss = mss.saturating_sub(self.options_len()).max(1);
    }

    /// The shift by which this endpoint's window field is scaled (RFC 7323 §2.2), if at all.
    pub(crate) fn window_scale(&self) -> Option<u8> {
        match self.window_scaling {
            WindowScaling::Off => None,
            WindowScaling::Shift(shift) => Some(shift.min(Options::MAX_WINDOW_SCALE)),
            WindowScaling::Fit => Some(WindowScaling::least_shift(self.receive_buffer)),
        }
    }
}
