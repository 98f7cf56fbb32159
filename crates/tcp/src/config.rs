//! The configuration of an endpoint.

use crate::{AckPolicy, Ecn, Push};
use recoup_recovery::Mechanisms;
use recoup_wire::{IpVersion, Options, SeqNumber};

/// How the window field is scaled (RFC 7323 §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowScaling {
    /// Not at all, and the peer's neither.
    Off,
    /// By the smallest shift that lets the whole receive buffer be offered.
    #[default]
    Fit,
    /// By this shift, 14 at most: for whoever will let the buffer grow.
    Shift(u8),
}

/// The settings of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How it recovers from loss.
    pub mechanisms: Mechanisms,
    /// When it acknowledges.
    pub acks: AckPolicy,
    /// Payload bytes of a full segment, options every segment carries already taken off. The MSS
    /// option announces this plus those options (RFC 6691 §2).
    pub mss: u16,
    /// What its segments travel in.
    pub ip_version: IpVersion,
    /// Bytes the application's receive buffer holds; the window offered never exceeds it.
    pub receive_buffer: u64,
    /// The initial sequence number. Whoever faces an untrusted network draws it by RFC 6528.
    pub isn: SeqNumber,
    /// Offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer SACK (RFC 2018 §2).
    pub sack: bool,
    /// Report duplicates by SACK (RFC 2883).
    pub dsack: bool,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Hold back less than a full segment while less than a full segment is outstanding (Nagle's
    /// rule, RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Which segments carry the PSH bit.
    pub push: Push,
    /// How windows are scaled.
    pub window_scaling: WindowScaling,
    /// Keep events.
    pub log: bool,
}

impl Config {
    /// Bytes of options on every segment once timestamps are agreed (RFC 7323 appendix A).
    pub const TIMESTAMPS_LEN: u16 = 12;

    /// Linux's usual: MSS 1448 beside timestamps, SACK, a window no test will fill.
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
            log: false,
        }
    }

    /// Bytes of options on every segment, as far as this side wants them.
    fn options_len(&self) -> u16 {
        match self.timestamps {
            true => Self::TIMESTAMPS_LEN,
            false => 0,
        }
    }

    /// The MSS announced: room for the payload and the options every segment would carry.
    pub fn announced_mss(&self) -> u16 {
        self.mss.saturating_add(self.options_len())
    }

    /// Announces `mss`, so that the payload of a full segment is what the options leave of it, but
    /// at least a byte.
    pub fn announce(&mut self, mss: u16) {
        self.mss = mss.saturating_sub(self.options_len()).max(1);
    }

    /// The shift by which this endpoint's window field is scaled (RFC 7323 §2.2), if at all.
    pub(crate) fn window_scale(&self) -> Option<u8> {
        match self.window_scaling {
            WindowScaling::Off => None,
            WindowScaling::Shift(shift) => Some(shift.min(Options::MAX_WINDOW_SCALE)),
            WindowScaling::Fit => {
                let fits = |shift: &u8| self.receive_buffer >> *shift <= 0xffff;
                let most = Options::MAX_WINDOW_SCALE;
                Some((0..most).find(fits).unwrap_or(most))
            }
        }
    }
}
