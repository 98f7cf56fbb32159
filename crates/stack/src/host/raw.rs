//! Packets that the stack does not take, for an application that handles them itself.

use std::collections::VecDeque;

use super::{Host, HostError};
use crate::VnetHeader;

/// What a queued packet counts beside its bytes.
const OVERHEAD: usize = 64;

/// Packets for the application.
#[derive(Debug)]
pub(crate) struct RawQueue {
    packets: VecDeque<Vec<u8>>,
    /// What they count.
    memory: usize,
    most: usize,
}

impl RawQueue {
    /// Takes in a packet if there is room for it, and completes its checksum if that is left to be done.
    pub fn put(&mut self, header: &VnetHeader, packet: &[u8]) -> bool {
        let added = packet.len() + OVERHEAD;
        let fits = self.memory + added <= self.most;
        if fits {
            self.memory += added;
            let mut packet = packet.to_vec();
            header.complete(&mut packet);
            self.packets.push_back(packet);
        }
        fits
    }
}

impl Host {
    /// Keeps packets that the stack does not take from now on, for [`next_raw`](Self::next_raw): whole packets to
    /// addresses that are not this host's or that nothing asked for, of protocols that it does not have, and what is not
    /// IP. They take `most_bytes` at most, bookkeeping included; a packet for which there is no room is dropped and
    /// counted. `None` ends this and discards what waits.
    ///
    /// A device with offloads may give several segments as one packet, which stays one here.
    ///
    /// With it, protocols that the stack does not have are not refused by ICMP.
    pub fn set_raw(&mut self, most_bytes: Option<usize>) {
        self.raw = most_bytes.map(|most| RawQueue { most, packets: VecDeque::new(), memory: 0 });
    }

    /// Takes out the oldest packet that the stack did not take.
    pub fn next_raw(&mut self) -> Option<Vec<u8>> {
        let raw = self.raw.as_mut()?;
        let packet = raw.packets.pop_front()?;
        raw.memory -= packet.len() + OVERHEAD;
        Some(packet)
    }

    /// Whether a packet waits that the stack did not take.
    pub fn has_raw(&self) -> bool {
        self.raw.as_ref().is_some_and(|raw| !raw.packets.is_empty())
    }

    /// Sends a packet as it is, with the next [`poll_transmit`](Self::poll_transmit).
    ///
    /// # Errors
    /// When it is longer than the link takes, or too much waits to be sent.
    pub fn send_raw(&mut self, packet: &[u8]) -> Result<(), HostError> {
        if packet.len() > usize::from(self.mtu) {
            return Err(HostError::TooLong { len: packet.len(), most: self.mtu.into() });
        }
        self.outbox.put(self.mtu, |out| {
            out.extend_from_slice(packet);
            Ok::<(), HostError>(())
        })
    }
}
