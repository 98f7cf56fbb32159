//! How large segments may be: the two MSS options, what ICMP messages say of the path, and a search that needs none.
//!
//! ```text
//! an ICMP message says so (RFC 1191, RFC 8201):   what is larger goes again at once in smaller segments
//! full segments time out (RFC 4821 §7.7):         segments become small, and smaller with each further timeout
//! then, every 10 minutes at the earliest:         probes find the largest segment that passes
//! ```
//! Sizes are bytes of payload. The headers of a connection's segments all have one length, so a size stands for a path
//! MTU.
//!
//! Sources: RFC 4821 §7; RFC 1191 §6.3 and RFC 8201 §4 (a larger path MTU is looked for 10 minutes later); Linux 6.12
//! `tcp_mtu_probing`, `tcp_mtu_probe`, `tcp_mtu_check_reprobe`, `tcp_mtup_probe_success`, `tcp_mtup_probe_failed`.
//!
//! Deviations from Linux: timeouts are no evidence against the path MTU if the segment that waits is small.
//! After [`TIMEOUTS`] timeouts in a row, however long they lasted, it is. The last probe of a search has the largest
//! size, so that a search without obstacles ends there. Over IPv6 no segment becomes smaller than packets of 1280 bytes
//! (RFC 4821 §7.7).
//!
//! Deviation from RFC 4821 §7.7, where each further timeout halves the segments: where 30 % of the packets are lost, half of
//! the retransmissions stay unanswered (1 − 0.7² = 0.51), and one segment in a hundred times out seven times in a row
//! (0.51⁷). Segments of 48 bytes, from which a small window hardly finds back, are worse than the loss. It takes [`TIMEOUTS`] more where larger segments arrived, and two more for each halving below what
//! nearly every path takes.

use super::input::LEAST_MSS;
use super::*;
use recoup_recovery::{MtuProbe, SentSegment};
use recoup_wire::TCP_HEADER_LEN;

/// Whether to search for the path MTU by the loss of segments (RFC 4821; Linux tcp_mtu_probing).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MtuProbing {
    /// Never. ICMP messages limit segments all the same.
    #[default]
    Off,
    /// Once full segments time out again and again.
    OnBlackHole,
    /// From the handshake on, with small segments at first.
    Always,
}

/// The size with which a search begins, in bytes (RFC 4821 §7.2; Linux tcp_base_mss).
pub(super) const BASE: u16 = 1024;

/// The smallest MTU of an IPv6 link (RFC 8200 §5).
const LEAST_MTU_V6: u16 = 1280;

/// This many timeouts in a row may be congestion's (RFC 1122 §4.2.3.5, R1; Linux tcp_retries1).
const TIMEOUTS: u32 = 3;

/// Packets of 576 bytes pass nearly everywhere: every IPv4 host takes them (RFC 1122 §3.3.3). A smaller segment needs more
/// evidence.
const PASSES_NEARLY_EVERYWHERE: u16 = 512;

/// The smallest segment whose timeouts may be due to its size, although segments may be more than twice as large by now:
/// about half of what every path takes.
const NO_SMALL_SEGMENT: u16 = 256;

/// A search ends once it knows the size this exactly, in bytes (Linux tcp_probe_threshold).
pub(super) const PRECISION: u16 = 8;

/// After this time a search begins anew (RFC 4821 §7.3; Linux tcp_probe_interval).
const SEARCH_AGAIN: Duration = Duration::from_secs(600);

/// The limits of segment sizes.
#[derive(Clone, Debug)]
pub(super) struct PathMtu {
    mode: MtuProbing,
    /// The size that both MSS options permit.
    agreed: u16,
    /// The size that ICMP messages permit.
    limit: u16,
    /// What was sent before this may be in segments that are too large by now.
    larger_to: Offset,
    search: Option<Box<Search>>,
}

/// A search for the largest size that passes.
#[derive(Clone, Copy, Debug)]
struct Search {
    /// The size of segments.
    low: u16,
    /// Larger ones do not pass. Equal to `low` where nothing is left to be found.
    high: u16,
    /// The probe that is outstanding.
    probe: Option<Span>,
    began_at: Instant,
}

impl Search {
    /// The size of the next probe; `None` while one is out, and where the search has ended.
    fn next(&self) -> Option<u16> {
        let left = self.high.saturating_sub(self.low);
        let size = if left < PRECISION { self.high } else { self.low + left / 2 };
        (self.probe.is_none() && left > 0).then_some(size)
    }

    /// Notes that a probe of `size` does not pass.
    fn fail(&mut self, size: u16) {
        let near = self.high.saturating_sub(self.low) < PRECISION;
        self.high = if near { self.low } else { self.high.min(size - 1).max(self.low) };
    }
}

impl PathMtu {
    pub fn new(config: &Config) -> Self {
        Self { mode: config.mtu_probing, agreed: config.mss, limit: u16::MAX, larger_to: Offset::SYN, search: None }
    }

    /// Whether a probe is to be sent as soon as it may.
    #[inline]
    pub fn wants_probe(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.next().is_some())
    }

    /// Whether a search has begun, ended or not.
    #[inline]
    pub fn searches(&self) -> bool {
        self.search.is_some()
    }

    /// Whether a search has begun, or what is outstanding from `una` on may be in segments that are too large.
    #[inline]
    pub fn matters(&self, una: Offset) -> bool {
        self.searches() || self.has_larger(una)
    }

    /// Whether what is outstanding from `una` on may be in segments that are too large.
    #[inline]
    pub fn has_larger(&self, una: Offset) -> bool {
        una < self.larger_to
    }

    fn probe(&self) -> Option<Span> {
        self.search.as_ref().and_then(|search| search.probe)
    }

    fn most(&self) -> u16 {
        self.agreed.min(self.limit)
    }
}

impl Endpoint {
    /// The handshake agreed on segments of `mss` payload bytes. Returns the size to begin with.
    pub(super) fn begin_path_mtu(&mut self, now: Instant, mss: u16) -> u16 {
        let floor = self.least_size();
        let path = &mut self.path_mtu;
        path.agreed = mss;
        let most = path.most();
        if path.mode != MtuProbing::Always {
            return most;
        }
        let low = BASE.max(floor).min(most);
        path.search = Some(Box::new(Search { low, high: most, probe: None, began_at: now }));
        low
    }

    /// Limits segments to `mss` payload bytes, because the path takes no longer ones (RFC 1191 §6, RFC 8201 §4). Larger
    /// segments that are outstanding go again at once, in smaller ones, and the congestion window stays. A larger value
    /// than the present limit changes nothing. The least is 48, as for the peer's option: smaller segments would take many
    /// times the memory of their payload.
    pub fn limit_mss(&mut self, now: Instant, mss: u16) {
        let mss = mss.max(LEAST_MSS);
        self.path_mtu.limit = self.path_mtu.limit.min(mss);
        let probe = self.path_mtu.probe().filter(|probe| probe.len() > u64::from(mss));
        if let Some(search) = &mut self.path_mtu.search {
            search.high = search.high.min(mss);
            search.low = search.low.min(mss);
        }
        if probe.is_some() {
            self.refuse_probe(now);
        }
        if mss < self.full_segment {
            self.use_smaller_size(now, mss);
        }
    }

    /// Permits segments of up to `mss` payload bytes again, as far as the peer takes them: what ICMP messages said is
    /// old (RFC 1191 §6.3, RFC 8201 §4). A search finds out how much of it the path takes. A smaller value than the
    /// present limit changes nothing.
    pub fn raise_mss_limit(&mut self, now: Instant, mss: u16) {
        let path = &mut self.path_mtu;
        path.limit = path.limit.max(mss);
        let most = path.most();
        match &mut path.search {
            Some(search) => search.high = most.max(search.low),
            None if most > self.full_segment => self.use_size(now, most),
            None => {}
        }
    }

    /// As [`limit_mss`](Self::limit_mss), of IP packets of `mtu` bytes.
    pub fn limit_path_mtu(&mut self, now: Instant, mtu: u16) {
        self.limit_mss(now, mtu.saturating_sub(self.headers_len()));
    }

    /// As [`raise_mss_limit`](Self::raise_mss_limit), of IP packets of `mtu` bytes.
    pub fn raise_path_mtu_limit(&mut self, now: Instant, mtu: u16) {
        self.raise_mss_limit(now, mtu.saturating_sub(self.headers_len()));
    }

    /// The payload bytes of a full segment on this path, without the options on every segment.
    pub fn mss(&self) -> u16 {
        self.full_segment
    }

    /// The size of the largest IP packets that are sent, probes for larger ones left out, in bytes.
    pub fn path_mtu(&self) -> u16 {
        self.full_segment.saturating_add(self.headers_len())
    }

    /// The size of the largest IP packets that may be sent, probes for larger ones included, now or by a later search, in
    /// bytes.
    pub fn path_mtu_limit(&self) -> u16 {
        self.path_mtu.most().max(self.full_segment).saturating_add(self.headers_len())
    }

    /// Bytes of the headers of every segment.
    fn headers_len(&self) -> u16 {
        let options = if self.timestamps { Config::TIMESTAMPS_LEN } else { 0 };
        self.ip_version.header_len() as u16 + TCP_HEADER_LEN as u16 + options
    }

    /// The size below which no timeout makes segments smaller.
    fn least_size(&self) -> u16 {
        match self.ip_version {
            IpVersion::V4 => LEAST_MSS,
            IpVersion::V6 => LEAST_MTU_V6.saturating_sub(self.headers_len()),
        }
    }

    fn use_size(&mut self, now: Instant, size: u16) {
        self.full_segment = size;
        self.sender.raise_mss(now, u32::from(size));
    }

    fn use_smaller_size(&mut self, now: Instant, size: u16) {
        self.full_segment = size;
        self.path_mtu.larger_to = self.sender.nxt();
        self.sender.limit_segments(now, u32::from(size));
    }

    /// A retransmission timeout. After several of them, the path may swallow what is too large for it (RFC 4821 §7.7).
    pub(super) fn on_mtu_timeout(&mut self, now: Instant) {
        let path = &self.path_mtu;
        let una = self.sender.una();
        if path.mode == MtuProbing::Off || self.sender.timeouts() <= TIMEOUTS || una == Offset::SYN {
            return;
        }
        let half = match &path.search {
            Some(search) => search.low / 2,
            None if self.full_segment > BASE => BASE,
            None => self.full_segment / 2,
        };
        let first = self.sender.board().first().map_or(0, |first| first.span.len());
        let first = u16::try_from(first).unwrap_or(u16::MAX);
        let size = match half.min(BASE) {
            half if first > half => half,
            // Full-sized once, or a part of what was.
            _ if first >= NO_SMALL_SEGMENT => first / 2,
            _ => return,
        };
        let size = size.max(self.least_size());
        if size >= self.full_segment || first <= size || self.sender.timeouts() <= self.patience(size) {
            return;
        }
        if let Some(probe) = self.path_mtu.probe() {
            self.sender.end_mtu_probe(probe);
        }
        let high = self.path_mtu.search.as_ref().map_or(self.full_segment, |search| search.high);
        self.path_mtu.search = Some(Box::new(Search { low: size, high, probe: None, began_at: now }));
        self.use_smaller_size(now, size);
    }

    /// Timeouts in a row before segments have `size`.
    fn patience(&self, size: u16) -> u32 {
        let halvings = (PASSES_NEARLY_EVERYWHERE / size).checked_ilog2().unwrap_or(0);
        let is_larger = |one: &SentSegment| one.is_sacked() && one.span.len() > u64::from(size);
        // Nothing is certain: the path may have changed since they arrived.
        let larger_arrived = self.sender.board().iter().any(is_larger);
        TIMEOUTS + 2 * halvings + if larger_arrived { TIMEOUTS } else { 0 }
    }

    /// Whether the probe arrived, or is lost as nothing else is.
    pub(super) fn judge_probe(&mut self, now: Instant) {
        let Some(probe) = self.path_mtu.probe() else {
            return;
        };
        if self.sender.una() >= probe.end {
            if let Some(search) = &mut self.path_mtu.search {
                search.probe = None;
                search.low = (probe.len() as u16).min(search.high);
                let size = search.low;
                self.use_size(now, size);
            }
        } else if self.sender.may_fail_probe() && self.is_first_lost(probe) {
            self.note_probe_fails();
            self.sender.fail_mtu_probe(now);
        }
    }

    /// Whether `probe` is the earliest outstanding segment and lost.
    fn is_first_lost(&self, probe: Span) -> bool {
        let una = self.sender.una();
        let lost = self.sender.board().lost_from(una).next();
        una == probe.start && lost.is_some_and(|lost| lost.span.start == una)
    }

    /// The outstanding probe does not pass.
    fn note_probe_fails(&mut self) {
        let path_mtu = &mut self.path_mtu;
        if let Some(search) = &mut path_mtu.search
            && let Some(probe) = search.probe.take()
        {
            search.fail(probe.len() as u16);
            // Where there is no memory for its parts, it stays whole for a while.
            path_mtu.larger_to = path_mtu.larger_to.max(probe.end);
        }
    }

    /// An ICMP message refused the outstanding probe (RFC 4821 §7.6.2).
    fn refuse_probe(&mut self, now: Instant) {
        self.note_probe_fails();
        match self.sender.state() {
            recovery::State::Open | recovery::State::Disorder => self.sender.fail_mtu_probe(now),
            // The window falls for another loss.
            _ => self.sender.limit_segments(now, u32::from(self.full_segment)),
        }
    }

    /// The sender is about to retransmit, and the outstanding probe may be part of it: it is larger than a segment may
    /// be. If it is known to be lost, its size has failed as well, although the window falls for this loss (RFC 4821
    /// §7.6.3). Otherwise nothing is known of its size (§7.6.4; Linux `tcp_retransmit_skb`).
    fn give_up_probe(&mut self, probe: Span) {
        if self.is_first_lost(probe) {
            self.note_probe_fails();
        } else if let Some(search) = &mut self.path_mtu.search {
            search.probe = None;
        }
        self.path_mtu.larger_to = self.path_mtu.larger_to.max(probe.end);
        self.sender.end_mtu_probe(probe);
    }

    /// The sender's next transmission, in segments that are not too large, which is a probe when it is time for one.
    #[inline(never)] // few connections search
    pub(super) fn send_or_probe(&mut self, now: Instant) -> Option<Transmission> {
        if let Some(probe) = self.path_mtu.probe().filter(|_| self.sender.wants_to_retransmit(now)) {
            self.give_up_probe(probe);
        }
        let most = self.path_mtu.most();
        if let Some(search) = &mut self.path_mtu.search {
            if search.probe.is_none() && now.since(search.began_at) >= SEARCH_AGAIN {
                search.high = most.max(search.low);
                search.began_at = now;
            }
            // SACK blocks would make the headers longer.
            if let Some(size) = search.next().filter(|_| !self.receiver.has_sack_blocks()) {
                match self.sender.send_mtu_probe(now, u32::from(size)) {
                    MtuProbe::Sent(what) => {
                        search.probe = what.span();
                        return Some(what);
                    }
                    MtuProbe::Wait => return None,
                    MtuProbe::No => {}
                }
            }
        }
        match self.sender.una() < self.path_mtu.larger_to {
            true => self.sender.send_next_that_fits(now),
            false => self.sender.send_next(now),
        }
    }
}
