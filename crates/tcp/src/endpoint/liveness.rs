//! Is the peer still there? Keep-alive probes, and what ICMP reports.
//!
//! Sources: RFC 9293 §3.8.4 and RFC 1122 §4.2.3.6 (keep-alive); RFC 1122 §4.2.3.9, RFC 5461 §4.1 and RFC 5927 §4.1
//! (ICMP errors); RFC 6069 (the backoff that an unreachable network or host makes needless); Linux
//! `tcp_keepalive_timer`, `tcp_xmit_probe_skb`, `tcp_v4_err`, `tcp_ld_RTO_revert`, `tcp_write_err`.
//!
//! Only an acceptable segment counts as heard, as in Linux (`tcp_ack`). Otherwise, a blind attacker could keep a dead
//! connection alive. The peer's own probes are not acceptable. Each is answered by an ACK, but does not put off ours.

use super::*;

/// The shortest time before a probe: with none, a timer would fire at once, again and again.
const LEAST: Duration = Duration::from_millis(1);

/// When to probe a silent peer (Linux `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT`). Times are at least 1 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// How long the peer is silent before the first probe. The default is the two hours that RFC 1122 §4.2.3.6
    /// permits at least.
    pub idle: Duration,
    /// The time between probes.
    pub interval: Duration,
    /// How many unanswered probes end the connection, at least one. One alone may be lost, and says little
    /// (RFC 9293 §3.8.4). Not used where a user timeout is set.
    pub probes: u32,
}

impl Default for KeepAlive {
    /// Linux's defaults.
    fn default() -> Self {
        Self { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 }
    }
}

/// Keep-alive of a connection.
#[derive(Clone, Copy, Debug)]
struct Probing {
    rules: KeepAlive,
    heard_at: Instant,
    probed_at: Instant,
    /// Probes since the peer was heard.
    unanswered: u32,
    /// A probe is to be sent.
    due: bool,
}

impl Probing {
    fn deadline(&self) -> Instant {
        match self.unanswered {
            0 => self.heard_at + self.rules.idle.max(LEAST),
            _ => self.probed_at + self.rules.interval.max(LEAST),
        }
    }
}

/// What most connections do not need, and therefore is not part of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    probing: Option<Probing>,
    /// The user timeout that the application set.
    user_timeout: Option<Duration>,
    /// What ICMP reported since the peer was heard.
    soft_error: Option<Unreachable>,
}

impl Liveness {
    /// Whether the peer has been silent for so long that it counts as gone. A user timeout decides instead of the
    /// number of probes (Linux `tcp_keepalive_timer`).
    fn gives_up(&self, now: Instant, probing: &Probing) -> bool {
        match self.user_timeout {
            Some(most) => probing.unanswered > 0 && now.since(probing.heard_at) >= most,
            None => probing.unanswered >= probing.rules.probes.max(1),
        }
    }

    fn is_needed(&self) -> bool {
        self.probing.is_some() || self.user_timeout.is_some() || self.soft_error.is_some()
    }
}

impl Endpoint {
    /// Probes a silent peer by these rules from now on, or not. It is off at first (RFC 1122 §4.2.3.6).
    pub fn set_keep_alive(&mut self, rules: Option<KeepAlive>) {
        let heard_at = self.traffic.last_heard().unwrap_or(Instant::ZERO);
        let probing = rules.map(|rules| match self.liveness.as_ref().and_then(|l| l.probing) {
            Some(present) => Probing { rules, ..present },
            None => Probing { rules, heard_at, probed_at: heard_at, unanswered: 0, due: false },
        });
        self.change_liveness(|liveness| liveness.probing = probing);
    }

    /// The rules by which a silent peer is probed.
    pub fn keep_alive(&self) -> Option<KeepAlive> {
        self.liveness.as_ref().and_then(|l| l.probing).map(|probing| probing.rules)
    }

    /// Keep-alive probes sent since the peer was heard.
    pub fn unanswered_keep_alives(&self) -> u32 {
        self.liveness.as_ref().and_then(|l| l.probing).map_or(0, |probing| probing.unanswered)
    }

    /// What ICMP last reported of the path, if the peer was not heard since.
    pub fn soft_error(&self) -> Option<Unreachable> {
        self.liveness.as_ref().and_then(|l| l.soft_error)
    }

    /// Sets how long data may stay unacknowledged (RFC 9293 §3.9.1), and how long a peer that does not answer
    /// keep-alive probes may be silent.
    pub fn set_user_timeout(&mut self, timeout: Duration) {
        self.sender.set_user_timeout(timeout);
        self.change_liveness(|liveness| liveness.user_timeout = Some(timeout));
    }

    fn change_liveness(&mut self, change: impl FnOnce(&mut Liveness)) {
        let mut liveness = self.liveness.take().unwrap_or_default();
        change(&mut liveness);
        self.liveness = Some(liveness).filter(|liveness| liveness.is_needed());
    }

    /// Everything that was written is acknowledged.
    fn is_quiet(&self) -> bool {
        self.sender.una() == self.sender.limit()
    }

    /// Whether the peer may be probed: a connection that waits for an ACK learns of a dead peer by other timers.
    fn may_probe(&self) -> bool {
        self.is_open() && self.is_quiet()
    }

    /// When the peer has been silent for long.
    #[inline]
    pub(super) fn keep_alive_deadline(&self) -> Option<Instant> {
        let probing = self.liveness.as_ref()?.probing.as_ref()?;
        self.may_probe().then(|| probing.deadline())
    }

    /// The keep-alive timer fired. A timer whose deadline has moved is ignored.
    pub(super) fn on_silence(&mut self, now: Instant) {
        if self.keep_alive_deadline().is_none_or(|at| at > now) {
            return;
        }
        let Some((liveness, probing)) = self.liveness.as_ref().and_then(|l| Some((**l, l.probing?))) else {
            return;
        };
        if liveness.gives_up(now, &probing) {
            // The peer may hear us, if we do not hear it (Linux `tcp_send_active_reset`).
            self.reset_due = Some(self.own_reset());
            return self.end_by_timeout();
        }
        let unanswered = probing.unanswered.saturating_add(1);
        self.change_liveness(|liveness| {
            liveness.probing = Some(Probing { unanswered, probed_at: now, due: true, ..probing });
        });
    }

    /// Whether a keep-alive probe is to be sent now. It is asked for once.
    #[inline]
    pub(super) fn take_keep_alive_probe(&mut self) -> bool {
        let probing = self.liveness.as_mut().and_then(|liveness| liveness.probing.as_mut());
        let due = probing.is_some_and(|probing| std::mem::take(&mut probing.due));
        // Data written meanwhile is a better probe.
        due && self.may_probe()
    }

    /// An acceptable segment arrived.
    #[inline]
    pub(super) fn note_heard(&mut self, now: Instant) {
        if self.liveness.is_some() {
            self.forget_silence(now);
        }
    }

    #[inline(never)] // few connections have any
    fn forget_silence(&mut self, now: Instant) {
        self.change_liveness(|liveness| {
            // "Something worked" (Linux `tcp_ack`).
            liveness.soft_error = None;
            if let Some(probing) = &mut liveness.probing {
                *probing = Probing { heard_at: now, unanswered: 0, due: false, ..*probing };
            }
        });
    }

    /// The peer did not answer. What ICMP reported meanwhile is the better reason (Linux `tcp_write_err`).
    pub(super) fn end_by_timeout(&mut self) {
        self.end(self.soft_error().map_or(Closed::ByTimeout, Closed::Unreachable));
    }

    /// ICMP reported that a packet with a segment that began at `quoted` did not reach the peer. Returns whether the
    /// message is believed: something at `quoted` must be outstanding (RFC 5927 §4.1).
    ///
    /// In the handshake the connection ends at once: another address may work (RFC 5461 §4.1; Linux `tcp_v4_err`).
    /// Later, the connection outlives what may be a passing trouble (RFC 1122 §4.2.3.9), and the report is kept as its
    /// [`soft_error`](Self::soft_error). Protocol and port are then no exception, as in Linux and as RFC 5927 §5.2
    /// recommends: an attacker could forge them.
    ///
    /// If the net or the host cannot be reached, the last retransmission timeout was no sign of congestion. Its backoff
    /// is undone (RFC 6069; Linux `tcp_ld_RTO_revert`).
    pub fn on_unreachable(&mut self, now: Instant, why: Unreachable, quoted: SeqNumber) -> bool {
        if self.is_closed() || !self.is_outstanding(quoted) {
            return false;
        }
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.end(Closed::Unreachable(why));
            return true;
        }
        self.change_liveness(|liveness| liveness.soft_error = Some(why));
        if why.is_of_path() && quoted == self.send_unacknowledged() {
            self.sender.undo_backoff(now);
        }
        true
    }
}
