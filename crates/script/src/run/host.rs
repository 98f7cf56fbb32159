//! The machine under test: an endpoint or a guest, its clock, and the packets that left it.

use super::guest::GuestHost;
use crate::{
    packet::{Mark, Packet},
    wire::Numbers,
};
use recoup_guest::Input;
use recoup_tcp::{Config, Endpoint, Transmit};
use recoup_units::Instant;
use recoup_wire::{Flags, Options, Segment};
use std::collections::VecDeque;

/// A packet that was sent and that no event has expected yet.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub at: Instant,
    pub packet: Packet,
    pub options: Options,
    /// The number of packets that crossed the wire before.
    pub crossed: usize,
}

/// A packet that crossed the wire, in or out.
#[derive(Clone, Debug)]
pub(crate) struct Crossed {
    pub at: Instant,
    pub outward: bool,
    pub packet: Packet,
}

#[derive(Debug)]
pub(crate) struct Host<'a> {
    pub now: Instant,
    /// The stack of another, instead of an endpoint.
    pub guest: Option<GuestHost<'a>>,
    pub endpoint: Option<Endpoint>,
    pub numbers: Numbers,
    pub outbox: VecDeque<Sent>,
    pub trace: Vec<Crossed>,
    timers: u32,
}

/// Why a machine does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The script needs more packets or timers than allowed, and may never end.
    Endless,
    /// The guest failed.
    Guest(String),
    /// The guest has no such option.
    Lacks(String),
    /// The guest sends what no host may send.
    Sends(String),
}

const MOST_PACKETS: usize = 100_000;
const MOST_TIMERS: u32 = 100_000;

impl<'a> Host<'a> {
    pub fn new(numbers: Numbers, guest: Option<GuestHost<'a>>) -> Self {
        Self {
            now: Instant::ZERO,
            guest,
            endpoint: None,
            numbers,
            outbox: VecDeque::new(),
            trace: Vec::new(),
            timers: 0,
        }
    }

    /// When the earliest timer fires.
    pub fn next_timer(&self) -> Option<Instant> {
        let timer = match &self.guest {
            Some(guest) => guest.status.wake,
            None => self.endpoint.as_ref()?.next_timer().map(|(at, _)| at),
        };
        timer.map(|at| at.max(self.now))
    }

    /// Fires the earliest timer, if there is one.
    pub fn fire(&mut self) -> Result<(), Stopped> {
        self.timers += 1;
        if self.timers > MOST_TIMERS {
            return Err(Stopped::Endless);
        }
        if let Some(guest) = &mut self.guest {
            self.now = self.now.max(guest.status.wake.unwrap_or(self.now));
            return self.guest_step(Input::Wake);
        }
        if let Some(endpoint) = &mut self.endpoint
            && let Some((at, timer)) = endpoint.next_timer()
        {
            self.now = self.now.max(at);
            endpoint.on_timer(self.now, timer);
        }
        self.transmit()
    }

    /// A packet of the script arrives. Without a socket it is answered by a RST.
    pub fn receive(&mut self, packet: &Packet, config: &Config) -> Result<(), Stopped> {
        let at = self.now;
        self.trace.push(Crossed { at, outward: false, packet: packet.clone() });
        let segment = self.numbers.segment(packet);
        if segment.flags.contains(Flags::SYN) && self.numbers.remote.is_none() {
            self.numbers.remote = Some(segment.seq);
        }
        if let Some(guest) = &mut self.guest {
            guest.receive(at, segment)?;
            return self.collect();
        }
        match &mut self.endpoint {
            Some(endpoint) => {
                if packet.mark == Some(Mark::Experienced) {
                    endpoint.on_congestion_experienced();
                }
                endpoint.on_segment(at, &segment);
            }
            None => {
                let mut nobody = Endpoint::listen(config);
                nobody.close(at);
                nobody.on_segment(at, &segment);
                self.endpoint = Some(nobody);
                let transmitted = self.transmit();
                self.endpoint = None;
                return transmitted;
            }
        }
        self.transmit()
    }

    /// Writes `len` bytes. Segments that a full chunk of the send queue allows are sent before the next
    /// chunk is written.
    pub fn write(&mut self, len: u64) -> Result<(), Stopped> {
        let mut left = len;
        while let Some(endpoint) = &mut self.endpoint
            && left > 0
        {
            let part = endpoint.chunk_room().min(left);
            let all = endpoint.write_part(self.now, part, left == len);
            left -= part;
            match left {
                0 => endpoint.end_write(),
                _ => self.transmit_some(!all)?,
            }
        }
        self.transmit()
    }

    /// Sends all segments that the endpoint wants to send.
    pub fn transmit(&mut self) -> Result<(), Stopped> {
        self.transmit_some(false)
    }

    /// Something happens to the guest.
    pub fn guest_step(&mut self, input: Input<'_>) -> Result<(), Stopped> {
        if let Some(guest) = &mut self.guest {
            guest.step(self.now, input)?;
        }
        self.collect()
    }

    /// The guest begins to connect or to listen.
    pub fn guest_begin(&mut self, how: Input<'_>) -> Result<(), Stopped> {
        if let Some(guest) = &mut self.guest {
            guest.begin(self.now, how)?;
        }
        self.collect()
    }

    /// Takes over what the guest has sent.
    fn collect(&mut self) -> Result<(), Stopped> {
        let segments = self.guest.as_mut().map(GuestHost::sent).transpose()?;
        for segment in segments.unwrap_or_default() {
            self.left(&segment, Mark::NotCapable)?;
        }
        Ok(())
    }

    /// A segment leaves.
    fn left(&mut self, segment: &Segment, mark: Mark) -> Result<(), Stopped> {
        let packet = self.numbers.packet(segment, mark);
        let (at, crossed) = (self.now, self.trace.len());
        self.trace.push(Crossed { at, outward: true, packet: packet.clone() });
        self.outbox.push_back(Sent { at, packet, options: segment.options, crossed });
        if self.trace.len() > MOST_PACKETS {
            return Err(Stopped::Endless);
        }
        Ok(())
    }

    fn transmit_some(&mut self, one_burst: bool) -> Result<(), Stopped> {
        let mut segment = Segment::default();
        while let Some(endpoint) = &mut self.endpoint
            && let Some(what) = endpoint.poll_transmit(self.now, &mut segment)
        {
            // Only first transmissions of data may be marked (RFC 3168 §6.1.4, §6.1.5).
            let new = matches!(what, Transmit::Stream(what) if what.is_new());
            let mark =
                if endpoint.is_ecn_capable() && new && segment.payload_len > 0 { Mark::Ect0 } else { Mark::NotCapable };
            let more = endpoint.is_in_burst();
            self.left(&segment, mark)?;
            if one_burst && !more {
                break;
            }
        }
        Ok(())
    }
}
