//! The window the peer offers.
//!
//! ```text
//! edge = SEG.ACK + SEG.WND, taken when  SEG.ACK > snd_una
//!                                   or  SEG.ACK = snd_una and the edge moves up, or the window is 0
//! ```
//! An ACK below `snd_una` is older than one that arrived before it. It neither takes back what the newer
//! ACK offered nor offers what the newer ACK took back.
//!
//! Source: RFC 9293 §3.10.7.4 (SND.WND, SND.WL1, SND.WL2), §3.8.6 (a window that shrinks to zero must be probed); Linux
//! `tcp_may_update_window`.
//!
//! Deviation: SND.WL1 is not compared, since the engine does not see the sequence number of the segment
//! that carries the ACK. A window that shrinks without an advance of `snd_una` is therefore not taken, unless it is
//! closed. If the ACK that closed it is an older one, a probe finds the window open.

use recoup_units::Offset;

/// The peer's receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PeerWindow {
    edge: Offset,
    largest: u64,
}

impl Default for PeerWindow {
    /// Before the first ACK: the peer accepts a SYN and nothing after it.
    fn default() -> Self {
        Self { edge: Offset::DATA, largest: 0 }
    }
}

impl PeerWindow {
    /// A window that ends at `edge`, of a connection whose lowest unacknowledged offset is `una`.
    pub(crate) fn up_to(edge: Offset, una: Offset) -> Self {
        Self { edge, largest: edge.since(una) }
    }

    /// The first offset the peer does not accept.
    pub fn edge(&self) -> Offset {
        self.edge
    }

    /// The largest window offered so far, in bytes (RFC 5961 §5.2, MAX.SND.WND).
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// The window in bytes while `una` is the lowest unacknowledged offset.
    pub fn bytes(&self, una: Offset) -> u64 {
        self.edge.since(una.max(Offset::DATA).min(self.edge))
    }

    /// Takes the window of an ACK of `acked` while `una` is the lowest unacknowledged offset. Returns
    /// whether the edge moved.
    pub(crate) fn on_ack(&mut self, una: Offset, acked: Offset, window: u64) -> bool {
        self.largest = self.largest.max(window);
        let edge = acked + window;
        let newer = acked > una || (acked == una && (edge > self.edge || window == 0));
        let moved = newer && edge != self.edge;
        if newer {
            self.edge = edge;
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_newer_ack_moves_the_edge() {
        // una 1000, edge 3000. (acknowledged, window, edge afterwards)
        let cases = [
            (1000, 2000, 3000),
            (1000, 2500, 3500), // a window update
            (1000, 1000, 3000), // no news of a window that shrinks without an advance
            (1000, 0, 1000),    // but of one that is closed
            (1500, 1000, 2500), // an advance may take back what was offered
            (1500, 1500, 3000),
            (900, 5000, 3000), // an old ACK
            (900, 0, 3000),
        ];
        for (acked, window, edge) in cases {
            let mut peer = PeerWindow::up_to(Offset(3000), Offset(1000));
            let moved = peer.on_ack(Offset(1000), Offset(acked), window);
            assert_eq!(peer.edge(), Offset(edge), "{acked}, {window}");
            assert_eq!(moved, edge != 3000, "{acked}, {window}");
        }
    }

    #[test]
    fn the_largest_window_is_remembered_whichever_ack_offered_it() {
        let mut peer = PeerWindow::default();
        assert_eq!((peer.bytes(Offset::SYN), peer.largest()), (0, 0));
        peer.on_ack(Offset::SYN, Offset::DATA, 500);
        assert_eq!((peer.bytes(Offset::DATA), peer.largest()), (500, 500));
        peer.on_ack(Offset(400), Offset(300), 900);
        assert_eq!((peer.bytes(Offset(400)), peer.largest()), (101, 900));
    }
}
