//! A device that loses packets, or whose link is cut.

use recoup_net::host::{Device, TunDevice};
use recoup_units::SplitMix;
use std::{
    cell::Cell,
    io,
    os::fd::{AsFd, BorrowedFd},
};

/// A device that loses packets in both directions.
pub struct Lossy<'a> {
    device: &'a TunDevice,
    draws: SplitMix,
    /// Lost packets, in %.
    percent: Cell<u64>,
    /// Packets lost so far.
    pub lost: u64,
}

impl<'a> Lossy<'a> {
    pub const fn new(device: &'a TunDevice, seed: u64, percent: u64) -> Self {
        Self { device, draws: SplitMix(seed), percent: Cell::new(percent), lost: 0 }
    }

    /// A link without losses.
    pub const fn not(device: &'a TunDevice) -> Self {
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

impl AsFd for Lossy<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Device for Lossy<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let read = self.device.tun().read(buffer)?;
            if read.is_none() || !self.loses() {
                return Ok(read);
            }
        }
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.loses() { Ok(()) } else { self.device.tun().write(packet) }
    }
}
