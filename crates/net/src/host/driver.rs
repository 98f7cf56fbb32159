//! Runs a host over a device in real time.

use std::{fmt, os::fd::BorrowedFd, time::Duration};

use recoup_units::Instant;
use rustix::event::{PollFd, PollFlags, poll};

use recoup_stack::host::{Host, Sink};

use super::Device;
use crate::{Clock, LONGEST_SUPER_PACKET, NetError, VnetHeader, clock::timespec};

/// Packets read before what they caused is sent.
const BATCH: u32 = 32;

type See = Box<dyn FnMut(Instant, &[u8])>;

/// Receives every packet, in and out, as it passes: as one IP packet, its checksum completed. A
/// super-packet stays one packet.
struct Tap {
    see: See,
    /// Packets in parts are put together here.
    whole: Vec<u8>,
}

impl Tap {
    fn show(&mut self, now: Instant, header: &VnetHeader, packet: [&[u8]; 3]) {
        self.whole.clear();
        for part in packet {
            self.whole.extend_from_slice(part);
        }
        header.complete(&mut self.whole);
        (self.see)(now, &self.whole);
    }
}

/// A host, the device its packets travel over, and a clock.
pub struct Driver<D> {
    /// The host.
    pub host: Host,
    device: D,
    clock: Clock,
    buffer: Vec<u8>,
    tap: Option<Tap>,
    refused: u64,
}

impl<D: fmt::Debug> fmt::Debug for Driver<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("host", &self.host)
            .field("device", &self.device)
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

impl<D: Device> Driver<D> {
    /// Time starts here.
    pub fn new(host: Host, device: D) -> Self {
        Self { host, device, clock: Clock::start(), buffer: vec![0; LONGEST_SUPER_PACKET], tap: None, refused: 0 }
    }

    /// Shows `tap` every packet from now on: as an IP packet with its checksums, and what a device with
    /// offloads takes or gives for several as one long one.
    pub fn tap(&mut self, tap: impl FnMut(Instant, &[u8]) + 'static) {
        self.tap = Some(Tap { see: Box::new(tap), whole: Vec::new() });
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The device.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// Packets the device did not take: it is down, or has no room.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Lets timers go off, sends and receives what there is, and returns once the host has events, but
    /// after `most` at the latest.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn turn(&mut self, most: Duration) -> Result<(), NetError> {
        self.turn_with(most, None).map(drop)
    }

    /// As [`turn`](Self::turn), and returns when `other` is ready for what is given with it, too, and
    /// says whether it is.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn turn_with(&mut self, most: Duration, other: Option<(BorrowedFd<'_>, PollFlags)>) -> Result<bool, NetError> {
        let until = self.now() + most;
        loop {
            let more = self.exchange()?;
            let now = self.now();
            if self.host.has_events() || now >= until {
                return match other {
                    Some(_) => self.wait(Some(now), other),
                    None => Ok(false),
                };
            }
            let wait = if more { Some(now) } else { self.host.next_deadline().into_iter().chain([until]).min() };
            // With more to do nobody need be asked whether there is.
            if (!more || other.is_some()) && self.wait(wait, other)? {
                return Ok(true);
            }
        }
    }

    /// Sends what is due and reads a batch; whether there may be more to do at once.
    fn exchange(&mut self) -> Result<bool, NetError> {
        let now = self.clock.now();
        self.host.on_time(now);
        let mut out = Out { device: &mut self.device, tap: &mut self.tap, now, refused: &mut self.refused };
        let more = self.host.flush(now, &mut out);
        self.refused += self.device.submit();
        for _ in 0..BATCH {
            let read = self.device.read_frame(&mut self.buffer);
            let read = read.map_err(NetError::system("read from the TUN device"))?;
            let Some((header, len)) = read else {
                self.refused += self.device.submit();
                return Ok(more || self.host.has_work());
            };
            let now = self.clock.now();
            let packet = &self.buffer[..len];
            if let Some(tap) = &mut self.tap {
                tap.show(now, &header, [packet, &[], &[]]);
            }
            let mut out = Out { device: &mut self.device, tap: &mut self.tap, now, refused: &mut self.refused };
            self.host.receive_frame(now, &header, packet, &mut out);
        }
        self.refused += self.device.submit();
        Ok(true)
    }

    /// Waits until `until` or until there is something to read; whether `other` is ready.
    fn wait(&self, until: Option<Instant>, other: Option<(BorrowedFd<'_>, PollFlags)>) -> Result<bool, NetError> {
        let wait = until.map(|at| timespec(at.since(self.now())));
        let device = self.device.as_fd();
        let (fd, flags) = other.unwrap_or((device, PollFlags::IN));
        let mut watched = [PollFd::from_borrowed_fd(device, PollFlags::IN), PollFd::from_borrowed_fd(fd, flags)];
        match poll(&mut watched, wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(NetError::system("wait for packets")(e)),
        }
        Ok(other.is_some() && !watched[1].revents().is_empty())
    }
}

/// A packet's way out.
struct Out<'a, D> {
    device: &'a mut D,
    tap: &'a mut Option<Tap>,
    now: Instant,
    refused: &'a mut u64,
}

impl<D: Device> Sink for Out<'_, D> {
    fn send(&mut self, packet: &[u8]) {
        if let Some(tap) = self.tap {
            (tap.see)(self.now, packet);
        }
        *self.refused += self.device.queue(packet);
    }

    fn offloads(&self) -> bool {
        self.device.offloads()
    }

    fn send_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) {
        if let Some(tap) = self.tap {
            tap.show(self.now, header, packet);
        }
        *self.refused += u64::from(self.device.write_frame(header, packet).is_err());
    }
}
