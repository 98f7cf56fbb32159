//! Captures made to be expensive: each repeats one pattern that a hostile or broken host can send.
//!
//! All of them are endless. What they hold of the first n packets does not depend on how many are
//! taken, so the cost of a packet can be compared between sizes.

mod patterns;
mod wire;

pub use patterns::ATTACKS;
use recoup_trace::read::CapturedPacket;
use wire::Wire;

/// A pattern of packets.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Its name in reports.
    pub name: &'static str,
    /// Sends the next packets of the pattern, at least one.
    step: fn(&mut Wire),
    /// Segments of 1448 bytes that each packet holds: what a packet may cost is counted in these.
    pub segments: u32,
}

impl Attack {
    /// Its packets, without end.
    pub fn packets(self) -> impl Iterator<Item = CapturedPacket> + Send {
        let mut wire = Wire::default();
        std::iter::from_fn(move || {
            while wire.sent.is_empty() {
                (self.step)(&mut wire);
                wire.steps += 1;
            }
            wire.sent.pop_front()
        })
    }
}
