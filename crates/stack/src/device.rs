//! What carries a stack's packets.
//!
//! A [`Device`] gives and takes IP packets, never waits, and wakes whoever waits for it. It may leave checksums
//! and segmentation to its user, and its user to it (a [`VnetHeader`] beside each packet says which).
//!
//! [`pair`] connects two stacks in memory. [`channel`] has a `Stream` and a `Sink` of packets at its other end, for
//! tunnels and for whatever else carries packets; a [`StreamDevice`] is made of these two. A [`Tapped`] device shows what passes. The crate `recoup-net` has
//! TUN devices and packet sockets of Linux.
//!
//! | module | contents |
//! | --- | --- |
//! | `batch` | packets that were received together |
//! | `channel`, `pair`, `queue` | devices in memory |
//! | `stream` | a device over a stream and a sink |
//! | `tap` | shows the packets of another device |
//! | `wait` | a thread that waits for a device |

mod batch;
mod channel;
mod pair;
mod queue;
mod stream;
mod tap;
mod wait;

pub use batch::Batch;
pub use channel::{ChannelDevice, PacketReceiver, PacketSender, Packets, channel};
pub use pair::{PairDevice, pair};
pub use stream::StreamDevice;
pub use tap::Tapped;
pub use wait::{Parking, Wait};

use crate::VnetHeader;
use std::{
    io,
    task::{Context, Poll},
};

/// What a device is like at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// The longest packet, IP header included, in bytes; with offloads, of what packets are cut into.
    pub mtu: u16,
    /// Whether it leaves checksums and TCP segmentation to its user, and its user to it.
    pub offloads: bool,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame<'a> {
    /// What is left to be done about it.
    pub header: VnetHeader,
    /// The IP packet in parts.
    pub packet: [&'a [u8]; 3],
}

/// Something that carries IP packets. No call waits.
///
/// A stack calls its device while it holds its lock. So a device, and a function that a [`Tapped`] device calls, must not use
/// a socket of the same stack. A device in memory wakes the other end meanwhile: a waker that polls its task at once must not
/// do so with a socket of this stack.
pub trait Device {
    /// What the device is like. Asked now and then, because an MTU may change.
    fn properties(&mut self) -> Properties;

    /// Takes out packets that have arrived, as many as `batch` has room for. Without any, the batch stays empty.
    ///
    /// # Errors
    /// When the device does not work at present: the stack goes on and tries again. [`io::ErrorKind::BrokenPipe`] says that
    /// it never will again.
    fn receive(&mut self, batch: &mut Batch) -> io::Result<()>;

    /// Sends a packet in parts, now or with the next [`flush`](Self::flush). Without offloads, the header leaves nothing
    /// to be done. Returns how many packets were lost, of this one and those that waited.
    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64;

    /// Sends packets, as [`send`](Self::send) does one after the other. A device may need less for it.
    fn send_all(&mut self, frames: &[Frame<'_>]) -> u64 {
        frames.iter().map(|frame| self.send(&frame.header, frame.packet)).sum()
    }

    /// Sends the packets that wait. Returns how many were lost.
    fn flush(&mut self) -> u64 {
        0
    }

    /// Packets for which there is room. Connections keep what they have to send beyond it.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Is ready when there may be packets to receive, or room again after there was none. Else wakes the task once that is
    /// so.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()>;
}

macro_rules! pass_on {
    ($($pointer:ty),*) => {$(
        impl<D: Device + ?Sized> Device for $pointer {
            fn properties(&mut self) -> Properties {
                (**self).properties()
            }

            fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
                (**self).receive(batch)
            }

            fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
                (**self).send(header, packet)
            }

            fn send_all(&mut self, frames: &[Frame<'_>]) -> u64 {
                (**self).send_all(frames)
            }

            fn flush(&mut self) -> u64 {
                (**self).flush()
            }

            fn room(&self) -> usize {
                (**self).room()
            }

            fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
                (**self).poll_ready(context)
            }
        }
    )*};
}

pass_on!(Box<D>, &mut D);
