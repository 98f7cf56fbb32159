//! A device that loses packets, or whose link is cut.

use recoup_net::{TunDevice, VnetHeader};
use recoup_stack::device::{Batch, Device, Properties, Wait};
use recoup_units::SplitMix;
use std::{
    cell::Cell,
    io,
    task::{Context, Poll, Waker},
    time::Duration,
};

/// A device that loses packets in both directions.
pub struct Lossy<'a> {
    device: &'a mut TunDevice,
    batch: Batch,
    draws: SplitMix,
    /// Lost packets, in %.
    percent: Cell<u64>,
    /// Packets lost so far.
    pub lost: u64,
}

impl<'a> Lossy<'a> {
    pub fn new(device: &'a mut TunDevice, seed: u64, percent: u64) -> Self {
        Self { device, batch: Batch::new(), draws: SplitMix(seed), percent: Cell::new(percent), lost: 0 }
    }

    /// A link without losses.
    pub fn not(device: &'a mut TunDevice) -> Self {
        Self::new(device, 0, 0)
    }

    /// Cuts the link.
    pub fn cut(&self) {
        self.percent.set(100);
    }

    /// Restores the link without losses.
    pub fn mend(&self) {
        self.percent.set(0);
    }

    fn loses(&mut self) -> bool {
        let loses = self.draws.below(100) < self.percent.get();
        self.lost += u64::from(loses);
        loses
    }
}

impl Device for Lossy<'_> {
    fn properties(&mut self) -> Properties {
        self.device.properties()
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        let mut arrived = std::mem::take(&mut self.batch);
        arrived.clear();
        self.device.receive(&mut arrived)?;
        for (header, packet) in arrived.iter() {
            if !self.loses() {
                batch.push(*header, packet);
            }
        }
        self.batch = arrived;
        Ok(())
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        if self.loses() { 0 } else { self.device.send(header, packet) }
    }

    fn flush(&mut self) -> u64 {
        self.device.flush()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.device.poll_ready(context)
    }
}

impl Wait for Lossy<'_> {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.device.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.device.waker()
    }
}
