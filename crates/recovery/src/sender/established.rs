//! Senders of connections that the host's own protocol has opened, without TCP's handshake.

use super::*;

impl Sender {
    /// A sender of bytes on an open connection. The first byte of the stream is at [`Offset::DATA`]. `mss`: bytes of a
    /// full segment. `window`: the peer's window before its first ACK, in bytes.
    pub fn established(now: Instant, mechanisms: &Mechanisms, mss: u32, window: u64) -> Self {
        let mut sender = Self::new(mechanisms, mss, Trigger::Syn, false);
        sender.establish(now, window);
        sender
    }

    /// A sender of numbered packets, from number 0. Each packet is sent once, and acknowledged by its number. `size`:
    /// bytes of a full packet.
    pub fn of_packets(now: Instant, mechanisms: &Mechanisms, size: u32) -> Self {
        let mut sender = Self::new(mechanisms, size, Trigger::Syn, false);
        sender.number_packets(now);
        sender
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Opens a sender that has just been created or reset, as [`established`](Sender::established) does.
    pub fn establish(&mut self, now: Instant, window: u64) {
        self.resume(ResumeState {
            una: Offset::DATA,
            window_edge: Offset::DATA + window,
            rtt: self.rtt,
            advanced_at: now,
            outstanding: [],
        });
    }

    /// Opens a sender that has just been created or reset, as [`of_packets`](Sender::of_packets) does.
    pub fn number_packets(&mut self, now: Instant) {
        self.establish(now, u64::MAX);
        self.board.number_packets();
        self.copying = None; // a copy would need another number
        self.delivery.take_if(|_| !self.congestion.control.models_path());
        self.peer.full = 1;
        self.mechanisms.sack = Sack::Used; // acknowledgments are by range, whatever the profile
    }

    /// Takes the first RTT sample from the host: from its handshake, or from an earlier connection on the same path.
    /// Ignored once the sender has a sample.
    pub fn seed_rtt(&mut self, rtt: Duration) {
        if self.rtt.srtt().is_none() {
            self.rtt.on_sample(rtt, self.board.una(), self.board.nxt());
        }
    }

    /// Switches the log of events on or off. It holds 65,536 events until [`drain_events`](Self::drain_events) takes
    /// them out. [`missed_events`](Self::missed_events) counts those that found it full.
    pub fn keep_events(&mut self, keep: bool) {
        self.log.set_on(keep);
    }
}
