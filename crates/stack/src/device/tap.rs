//! A device whose packets are shown as they pass.

use super::{Batch, Device, Frame, Properties};
use crate::VnetHeader;
use std::{
    fmt, io,
    ops::{Deref, DerefMut},
    task::{Context, Poll},
};

/// A device, and a function that sees every packet that it gives or takes: as one IP packet, its checksum completed. A
/// super-packet stays one packet.
pub struct Tapped<D, F> {
    device: D,
    see: F,
    /// Packets are put together here.
    whole: Vec<u8>,
}

impl<D, F: FnMut(&[u8])> Tapped<D, F> {
    /// Shows `see` what passes `device`.
    pub const fn new(device: D, see: F) -> Self {
        Self { device, see, whole: Vec::new() }
    }

    fn show(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) {
        self.whole.clear();
        for part in packet {
            self.whole.extend_from_slice(part);
        }
        header.complete(&mut self.whole);
        (self.see)(&self.whole);
    }
}

impl<D: fmt::Debug, F> fmt::Debug for Tapped<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tapped").field(&self.device).finish()
    }
}

impl<D, F> Deref for Tapped<D, F> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.device
    }
}

impl<D, F> DerefMut for Tapped<D, F> {
    fn deref_mut(&mut self) -> &mut D {
        &mut self.device
    }
}

impl<D: Device, F: FnMut(&[u8])> Device for Tapped<D, F> {
    fn properties(&mut self) -> Properties {
        self.device.properties()
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        let before = batch.len();
        let received = self.device.receive(batch);
        for (header, packet) in batch.iter().skip(before) {
            self.show(header, [packet, &[], &[]]);
        }
        received
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        self.show(header, packet);
        self.device.send(header, packet)
    }

    fn send_all(&mut self, frames: &[Frame<'_>]) -> u64 {
        frames.iter().for_each(|frame| self.show(&frame.header, frame.packet));
        self.device.send_all(frames)
    }

    fn flush(&mut self) -> u64 {
        self.device.flush()
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.device.poll_ready(context)
    }
}

impl<D: super::Wait, F: FnMut(&[u8])> super::Wait for Tapped<D, F> {
    fn wait(&mut self, timeout: Option<std::time::Duration>) -> io::Result<()> {
        self.device.wait(timeout)
    }

    fn waker(&self) -> std::task::Waker {
        self.device.waker()
    }
}
