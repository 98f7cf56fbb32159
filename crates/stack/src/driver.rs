//! Runs a host over a device: in real time, on one thread.

use crate::{
    VnetHeader,
    device::{Batch, Device, Frame, Wait},
    host::{Host, Sink, Strays},
};
use recoup_units::Instant;
use std::{io, time::Duration};

/// The time since it was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(std::time::Instant);

impl Clock {
    /// Time starts here.
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.0.elapsed().as_nanos() as u64)
    }
}

/// A host, the device its packets travel over, and a clock.
#[derive(Debug)]
pub struct Driver<D> {
    /// The host.
    pub host: Host,
    device: D,
    clock: Clock,
    batch: Batch,
    lost: u64,
}

impl<D: Wait> Driver<D> {
    /// Time starts here.
    pub fn new(host: Host, device: D) -> Self {
        Self { host, device, clock: Clock::start(), batch: Batch::new(), lost: 0 }
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
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Lets timers go off, sends and receives what there is, and returns once the host has events, but
    /// after `most` at the latest.
    ///
    /// # Errors
    /// When the device does not work.
    pub fn turn(&mut self, most: Duration) -> io::Result<()> {
        let until = self.now() + most;
        loop {
            let exchange = exchange(&mut self.host, &mut self.device, &mut self.batch, &self.clock);
            self.lost += exchange.lost;
            exchange.received?;
            let now = self.now();
            if self.host.has_events() || now >= until {
                return Ok(());
            }
            if !exchange.more {
                let next = self.host.next_timer().map_or(until, |at| at.min(until));
                self.device.wait(Some(next.since(now)))?;
            }
        }
    }
}

/// What a host exchanged with its device.
pub(crate) struct Exchange {
    /// There may be more to do at once.
    pub more: bool,
    /// Packets that the device did not take.
    pub lost: u64,
    /// Whether packets could be received.
    pub received: io::Result<()>,
}

/// Lets timers go off, sends what is due, and receives a batch.
pub(crate) fn exchange<D: Device>(host: &mut Host, device: &mut D, batch: &mut Batch, clock: &Clock) -> Exchange {
    let offloads = device.properties().offloads;
    let mut out = Out { device, offloads, lost: 0 };
    let now = clock.now();
    host.on_timer(now);
    let more = host.poll_transmit(now, &mut out) && out.room() > 0;
    out.lost += out.device.flush();
    batch.clear();
    let received = out.device.receive(batch);
    // All of them have arrived by now.
    let now = clock.now();
    for (header, packet) in batch.iter() {
        host.on_frame(now, header, packet, &mut out);
    }
    host.announce_arrivals(now);
    out.lost += out.device.flush();
    let (more, lost) = (more || !batch.is_empty(), out.lost);
    host.count_lost(lost);
    Exchange { more, lost, received }
}

/// Takes in what another host of the same addresses passed on.
pub(crate) fn take_strays<D: Device>(host: &mut Host, strays: &mut Strays, device: &mut D, clock: &Clock) {
    if strays.is_empty() {
        return;
    }
    let offloads = device.properties().offloads;
    let mut out = Out { device, offloads, lost: 0 };
    while let Some(stray) = strays.take() {
        host.on_stray(clock.now(), &stray, &mut out);
    }
    out.lost += out.device.flush();
    let lost = out.lost;
    host.count_lost(lost);
}

/// A packet's way out.
struct Out<'a, D> {
    device: &'a mut D,
    offloads: bool,
    lost: u64,
}

impl<D: Device> Sink for Out<'_, D> {
    fn send(&mut self, packet: &[u8]) {
        self.send_frame(&VnetHeader::default(), [packet, &[], &[]]);
    }

    fn offloads(&self) -> bool {
        self.offloads
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn send_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) {
        self.lost += self.device.send(header, packet);
    }

    fn send_frames(&mut self, frames: &[Frame<'_>]) {
        self.lost += self.device.send_all(frames);
    }
}
