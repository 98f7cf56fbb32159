//! Two devices that are joined in memory.

use super::{
    Batch, Device, Properties,
    queue::{Giver, Taker, queue},
};
use crate::VnetHeader;
use std::{
    io,
    task::{Context, Poll},
};

/// A device whose packets go to another one in this process.
#[derive(Debug)]
pub struct PairDevice {
    properties: Properties,
    giver: Giver,
    taker: Taker,
    /// Whether room was missing since somebody asked to be woken.
    full: bool,
}

/// Two devices, each of which receives what the other sends. At most `capacity` packets are on the way in each direction.
pub fn pair(properties: Properties, capacity: usize) -> (PairDevice, PairDevice) {
    let ((to_second, from_first), (to_first, from_second)) = (queue(capacity), queue(capacity));
    let device = |giver, taker| PairDevice { properties, giver, taker, full: false };
    (device(to_second, from_second), device(to_first, from_first))
}

impl PairDevice {
    pub(super) const fn new(properties: Properties, giver: Giver, taker: Taker) -> Self {
        Self { properties, giver, taker, full: false }
    }
}

impl Device for PairDevice {
    fn properties(&mut self) -> Properties {
        self.properties
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        while !batch.is_full() {
            let Some((header, packet)) = self.taker.take() else {
                break;
            };
            batch.push(header, &packet);
        }
        match batch.is_empty() && self.taker.is_over() {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        }
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        let given = self.giver.give((*header, packet.concat()));
        self.full |= given.is_err();
        given.is_err().into()
    }

    fn room(&self) -> usize {
        self.giver.room()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.full |= self.giver.room() == 0;
        let room = self.full && self.giver.poll_room(context).is_ready();
        self.full &= !room;
        match self.taker.poll_frame(context) {
            Poll::Pending if !room => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}
