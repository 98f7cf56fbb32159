//! The scoreboard's invariants, checked by recounting.

use super::{Scoreboard, SentSegment};
use alloc::format;
use alloc::string::String;

impl Scoreboard {
    /// Recounts everything and compares; the oracle of the property tests.
    ///
    /// # Errors
    /// Names the first count that differs.
    pub(crate) fn check(&self) -> Result<(), String> {
        let count = |f: fn(&SentSegment) -> bool| self.segments.iter().filter(|s| f(s)).count() as u32;
        let fack = self.segments.iter().rposition(|s| s.sacked).map_or(0, |i| i as u32 + 1);
        let expected = [
            ("sacked", self.sacked, count(|s| s.sacked)),
            ("lost", self.lost, count(|s| s.lost)),
            ("retransmitted", self.retransmitted, count(|s| s.retransmitted)),
            ("lost and SACKed", 0, count(|s| s.lost && s.sacked)),
            ("retransmitted and SACKed", 0, count(|s| s.retransmitted && s.sacked)),
            ("fack", self.fack, fack),
            (
                "unsacked from the SACKed tail on",
                0,
                self.segments.iter().skip(self.sacked_tail as usize).filter(|s| !s.sacked).count() as u32,
            ),
        ];
        if let Some((what, kept, counted)) = expected.iter().find(|(_, kept, counted)| kept != counted) {
            return Err(format!("{what}: kept {kept}, counted {counted}"));
        }
        let bytes = self.segments.iter().map(SentSegment::bytes_in_pipe).sum();
        if let Some(kept) = self.bytes_in_flight().filter(|kept| *kept != bytes) {
            return Err(format!("bytes in flight: kept {kept}, counted {bytes}"));
        }
        let next_lost = self.segments.iter().find(|s| s.wants_retransmission());
        if self.next_lost().map(|s| s.span) != next_lost.map(|s| s.span) {
            return Err(format!("next lost segment: kept {:?}, found {next_lost:?}", self.next_lost()));
        }
        if self.above != self.recount_above() {
            return Err(format!(
                "SACKed above {}: kept {:?}, found {:?}",
                self.judged,
                self.above,
                self.recount_above()
            ));
        }
        self.check_order()?;
        let mut at = self.una;
        for s in self.segments.iter() {
            if s.span.start != at || s.span.is_empty() {
                return Err(format!("segment {} does not follow {at}", s.span));
            }
            at = s.span.end;
        }
        if at != self.nxt {
            return Err(format!("segments end at {at}, snd_nxt is {}", self.nxt));
        }
        Ok(())
    }
}
