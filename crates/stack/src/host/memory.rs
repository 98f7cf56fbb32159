//! The memory of all connections within one bound.
//!
//! ```text
//! used       what connections take: their state, both streams' rings, out-of-order data
//! promised   the sum of the receive buffers, which windows offer to peers
//!
//! promised <= half of all    beyond the buffers that connections begin with: a larger one is not granted
//! used     <= 3/4 of all     or else a write finds no room, and what arrives is dropped for the peer to send again;
//! used     <= all            for connections whose streams take no more than their share of the last quarter
//! used     <= 7/8 of all     or else no connection opens: its state must not take the room of all shares
//! ```
//! So windows may promise more than there is, as in Linux, but memory never exceeds the bound. The last quarter keeps those
//! going that read and write little: connections whose applications never read cannot lock them out, as long as the share
//! is one ring at least (a connection for each 24 KiB or so).
//!
//! A receive buffer begins small, the smaller the more connections there are, and grows as the application reads (see
//! `recoup_tcp`'s `wanted_receive_buffer`). When data was dropped for want of memory, it falls to the share (Linux
//! `tcp_clamp_window`). A send buffer grows with the congestion window. Rings give their memory back when they are empty:
//! small ones at once, large ones, which bulk transfers will use again, when memory is scarce.

use recoup_recovery::SentSegment;
use recoup_tcp::SendLimits;
use recoup_units::Instant;
use recoup_wire::Segment;
use std::{collections::BTreeSet, time::Duration};

use super::{ConnectionId, Host, HostError, table::Table};
use crate::TcpOptions;

/// The receive buffer that a connection begins with, in bytes.
const FIRST_RECEIVE: [u64; 2] = [4 << 10, 64 << 10];

/// The send buffer that a connection begins with, in bytes (Linux's tcp_wmem).
const FIRST_SEND: u64 = 16 << 10;

/// Bytes of both rings that a connection gives back as soon as they are empty.
const SMALL: usize = 16 << 10;

/// The least receive buffer for a connection without memory, in bytes.
const LEAST_RECEIVE: usize = 4 << 10;

/// What a sender keeps of an outstanding segment, and of the first few of them, in bytes.
const PLACE: usize = size_of::<SentSegment>();
const BOARD: usize = 10 * PLACE;

/// How long nobody looks again for memory that connections do not use.
const SEARCH_PAUSE: Duration = Duration::from_secs(1);

/// What a connection's buffers may grow to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Bytes of the receive buffer at most.
    pub receive: u64,
    /// Bytes of the send buffer at most.
    pub send: u64,
}

/// How memory is shared.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// Connections that found no memory for a write, some of them over by now.
    starved: BTreeSet<u32>,
    /// When unused memory was last searched for.
    searched: Option<Instant>,
}

impl Budget {
    /// The smallest receive buffer that a connection may begin with, in bytes.
    pub fn least_receive(options: &TcpOptions) -> u64 {
        let most = options.endpoint.receive_buffer;
        if options.tune_buffers { FIRST_RECEIVE[0].min(most) } else { most }
    }

    /// The buffers that a new connection beside `others` begins with, and what they may grow to. Those of fixed size have
    /// it at once.
    pub fn first(memory: usize, others: usize, options: &TcpOptions) -> (u64, SendLimits, Growth) {
        let most = Growth { receive: options.endpoint.receive_buffer, send: options.send_buffer };
        if !options.tune_buffers {
            return (most.receive, SendLimits { buffer: most.send, unsent: options.unsent }, Growth::default());
        }
        let share = memory as u64 / (4 * (others as u64 + 16));
        let [least, largest] = FIRST_RECEIVE;
        let receive = share.clamp(least, largest).min(most.receive);
        (receive, SendLimits { buffer: FIRST_SEND.min(most.send), unsent: options.unsent }, most)
    }
}

impl Host {
    /// Memory beyond which a connection gets no more than its share, in bytes.
    const fn scarce(&self) -> usize {
        self.config.memory / 4 * 3
    }

    /// Memory that senders need beside what they have: each may send some segments at any time, if only a FIN.
    fn reserved(&self) -> usize {
        self.table.len() * BOARD
    }

    /// Whether one more connection may open: there are fewer than may be, and there is memory for its state.
    pub(super) fn has_place(&self) -> bool {
        self.table.len() < self.config.most_connections && self.has_memory_for_state()
    }

    /// Whether there is memory for the state of one more connection.
    pub(super) fn has_memory_for_state(&self) -> bool {
        let needed = self.table.memory() + self.reserved() + Table::STATE + BOARD;
        needed <= self.config.memory / 8 * 7
    }

    /// Memory that each connection's streams may take, however much the others have, in bytes.
    fn share(&self) -> usize {
        (self.config.memory / 4) / self.table.len().max(1)
    }

    /// Memory that a connection may take now in addition, in bytes.
    fn memory_left(&self, index: u32) -> usize {
        let (used, all) = (self.table.memory() + self.reserved(), self.config.memory);
        let held = self.table.at(index).map_or(0, |connection| connection.tcp.memory());
        let of_share = self.share().saturating_sub(held).min(all.saturating_sub(used));
        of_share.max(self.scarce().saturating_sub(used))
    }

    /// Limits what a connection's sender may keep of segments from now on: they may be smaller than was thought when their
    /// data was written, as where the path MTU fell.
    pub(super) fn limit_records(&mut self, index: u32) {
        let left = self.memory_left(index);
        if let Some(connection) = self.table.at_mut(index) {
            connection.tcp.endpoint_mut().limit_memory(left);
            connection.limited = true;
        }
    }

    /// As [`limit_records`](Self::limit_records), before a turn or a timer. While memory is plentiful, what is kept may be twice
    /// as much after it, and that is no more than there is: only what became too large for the path may be cut into many.
    pub(super) fn limit_turn(&mut self, index: u32) {
        let plentiful = self.table.memory() + self.reserved() <= self.config.memory / 2;
        match self.table.at_mut(index) {
            Some(connection) if plentiful && !connection.limited => {}
            Some(connection) if plentiful && !connection.tcp.endpoint().has_larger_segments() => {
                connection.tcp.endpoint_mut().limit_memory(usize::MAX);
                connection.limited = false;
            }
            _ => self.limit_records(index),
        }
    }

    /// Whether there is memory for the payload of a segment with data. If there was none, out-of-order data is discarded
    /// first: that of the greediest, and that of this connection if the segment is the next one.
    pub(super) fn has_memory_for(&mut self, now: Instant, index: u32, segment: &Segment) -> bool {
        let payload = segment.payload_len as usize;
        let (needed, is_next) = match self.table.at(index).map(|connection| &connection.tcp) {
            Some(tcp) => (tcp.memory_to_receive(payload), segment.seq == tcp.endpoint().receive_next()),
            None => return false,
        };
        if needed <= self.memory_left(index) {
            return true;
        }
        if is_next && let Some(connection) = self.table.at_mut(index) {
            connection.tcp.discard_out_of_order();
            self.table.count(index);
        }
        if self.table.out_of_order() > self.config.memory / 8 {
            self.stats.out_of_order_discarded += self.table.discard_out_of_order(self.config.memory / 16);
        }
        let fits = needed <= self.memory_left(index);
        if !fits {
            self.stats.segments_without_memory += 1;
            let buffer = self.share().max(LEAST_RECEIVE) as u64;
            if let Some(connection) = self.table.at_mut(index).filter(|connection| connection.growth.receive > 0)
                && buffer < connection.tcp.endpoint().receiver().buffer()
            {
                connection.tcp.set_receive_buffer(now, buffer);
            }
        }
        fits
    }

    /// Keeps the out-of-order data of all connections within its bound, once that of one has changed.
    pub(super) fn limit_out_of_order(&mut self, index: u32) {
        let most = self.config.most_out_of_order.min(self.config.memory / 2);
        self.table.count(index);
        if self.table.out_of_order() > most {
            self.stats.out_of_order_discarded += self.table.discard_out_of_order(most - most / 4);
        }
    }

    /// How many of `wanted` bytes there is memory for in a connection's send stream. If that is less, an event follows when
    /// there is more.
    pub(super) fn writable(&mut self, id: ConnectionId, wanted: usize) -> Result<usize, HostError> {
        let (index, connection) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        connection.widen_send_buffer();
        let fits = self.writable_now(index);
        let connection = self.table.at_mut(index).ok_or(HostError::Unknown)?;
        let lacks = fits < wanted && connection.tcp.has_room() && !connection.tcp.is_write_shut();
        if lacks && !std::mem::replace(&mut connection.starved, true) {
            self.budget.starved.insert(index);
        }
        Ok(fits)
    }

    /// Bytes for which there is memory in a connection's send stream, and for what its sender will keep of them.
    fn writable_now(&self, index: u32) -> usize {
        let left = self.memory_left(index) as u64;
        self.table.at(index).map_or(0, |connection| {
            // Each segment takes up to two places in its sender's ring, which doubles.
            let size = u64::from(connection.tcp.endpoint().mss());
            let left = left / (size + 2 * PLACE as u64) * size;
            connection.tcp.writable_within(left as usize)
        })
    }

    /// The application has read: the receive buffer may have to grow.
    pub(super) fn tune_receive_buffer(&mut self, now: Instant, index: u32) {
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        let most = connection.growth.receive;
        let Some(wanted) = connection.tcp.wanted_receive_buffer(now) else {
            return;
        };
        let present = connection.tcp.endpoint().receiver().buffer();
        let more = wanted.min(most).saturating_sub(present);
        let left = (self.config.memory as u64 / 2).saturating_sub(self.table.promised());
        let granted = more.min(left);
        if granted > 0
            && let Some(connection) = self.table.at_mut(index)
        {
            connection.tcp.set_receive_buffer(now, present + granted);
        }
    }

    /// After a read: the connection has a turn if the peer is to learn of a larger window. Otherwise it gives back a small
    /// ring here.
    pub(super) fn settle_read(&mut self, index: u32) {
        let scarce = self.table.memory() > self.config.memory / 2;
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        if connection.tcp.endpoint().owes_ack() || scarce {
            self.mark_dirty(index);
        } else if connection.tcp.memory() <= SMALL && connection.tcp.is_empty() {
            connection.tcp.shrink();
            self.table.count(index);
        }
    }

    /// After a connection's turn: counts its memory, which it gives back if it does not use it.
    pub(super) fn settle_memory(&mut self, now: Instant, index: u32) {
        let scarce = self.table.memory() > self.config.memory / 2;
        if let Some(connection) = self.table.at_mut(index) {
            let memory = connection.tcp.memory();
            if memory > 0 && (memory <= SMALL || scarce) && connection.tcp.is_empty() {
                connection.tcp.shrink();
            }
        }
        self.table.count(index);
        if scarce && self.budget.searched.is_none_or(|at| now.since(at) >= SEARCH_PAUSE) {
            self.budget.searched = Some(now);
            self.table.shrink_empty();
        }
        if self.has_own_room(index) {
            self.feed(index);
        }
        while self.table.memory() + self.reserved() < self.config.memory / 8 * 5
            && let Some(&index) = self.budget.starved.first()
        {
            if self.table.at(index).is_some_and(|connection| connection.starved) && self.writable_now(index) == 0 {
                return; // It would ask again at once.
            }
            self.feed(index);
        }
    }

    /// Whether a connection that found no memory for a write has some now, although others may not: a third of what it
    /// may take is free again (as in `has_much_room`).
    fn has_own_room(&self, index: u32) -> bool {
        let starved = self.table.at(index).filter(|connection| connection.starved);
        starved.is_some_and(|connection| {
            let fits = self.writable_now(index) as u64;
            fits > 0 && fits >= connection.tcp.queued() / 2
        })
    }

    /// Tells a connection that found no memory that there is some.
    fn feed(&mut self, index: u32) {
        self.budget.starved.remove(&index);
        if let Some(connection) = self.table.at_mut(index).filter(|connection| connection.starved) {
            connection.starved = false;
            connection.tcp.await_room();
            self.mark_dirty(index);
        }
    }
}

#[cfg(test)]
mod tests;
