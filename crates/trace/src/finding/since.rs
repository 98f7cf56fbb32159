//! What happened to an open connection since an earlier look at it.

use super::{Connection, Direction, EcnCounts, LostTime, PlacedLosses, QueueLosses, Tally, TimeByState};
use recoup_units::Instant;

/// The sums of a connection at some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    packets: u64,
    directions: [DirectionSums; 2],
}

#[derive(Clone, Debug, Default, PartialEq)]
struct DirectionSums {
    segments: u64,
    bytes: u64,
    time: TimeByState,
    ecn: EcnCounts,
    /// `None` if there is no trouble: most connections have none.
    trouble: Option<Box<TroubleSums>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TroubleSums {
    retransmissions: Tally,
    duplicates: u64,
    losses: PlacedLosses,
    queue_losses: QueueLosses,
    lost: LostTime,
}

impl TroubleSums {
    fn of(direction: &Direction) -> Self {
        let &Direction { retransmissions, duplicates, losses, queue_losses, lost, .. } = direction;
        let queue_losses = QueueLosses { full_rtt: None, ..queue_losses };
        Self { retransmissions, duplicates, losses, queue_losses, lost }
    }
}

impl Connection {
    /// Its sums.
    pub fn sums(&self) -> Sums {
        let directions = self.directions.each_ref().map(|direction| {
            let trouble = TroubleSums::of(direction);
            DirectionSums {
                segments: direction.segments,
                bytes: direction.bytes,
                time: direction.time,
                ecn: direction.ecn,
                trouble: (trouble != TroubleSums::default()).then(|| Box::new(trouble)),
            }
        });
        Sums { packets: self.packets, directions }
    }

    /// What happened since it had these sums, at `from`: it begins then, and its sums are those of the time since. What is no sum
    /// (round-trip times, the profiles of its senders) is that of all its life. A verdict or a cause that changed since then may
    /// leave less than there was: that counts as nothing.
    #[must_use]
    pub fn since(mut self, earlier: &Sums, from: Instant) -> Self {
        self.begun = self.begun.max(from).min(self.ended);
        self.packets = self.packets.saturating_sub(earlier.packets);
        for (direction, earlier) in self.directions.iter_mut().zip(&earlier.directions) {
            direction.segments = direction.segments.saturating_sub(earlier.segments);
            direction.bytes = direction.bytes.saturating_sub(earlier.bytes);
            direction.time.subtract(&earlier.time);
            direction.ecn.subtract(&earlier.ecn);
            if let Some(trouble) = &earlier.trouble {
                direction.retransmissions.subtract(&trouble.retransmissions);
                direction.duplicates = direction.duplicates.saturating_sub(trouble.duplicates);
                let (losses, before) = (&mut direction.losses, trouble.losses);
                losses.before = losses.before.saturating_sub(before.before);
                losses.behind = losses.behind.saturating_sub(before.behind);
                let (losses, before) = (&mut direction.queue_losses, trouble.queue_losses);
                losses.full = losses.full.saturating_sub(before.full);
                losses.not_full = losses.not_full.saturating_sub(before.not_full);
                losses.unknown = losses.unknown.saturating_sub(before.unknown);
                direction.lost.subtract(&trouble.lost);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{CapturePoint, Cause, Closing, Opening, SenderState, Verdict};
    use recoup_recovery::Trigger;
    use recoup_wire::Endpoints;
    use std::time::Duration;

    fn connection(seconds: u64) -> Connection {
        let begun = Instant::from_millis(5_000);
        let mut directions = [Direction::default(), Direction::default()];
        let direction = &mut directions[1];
        direction.bytes = 1000 * seconds;
        direction.time.add(SenderState::Network, seconds * 1_000_000_000);
        if seconds > 1 {
            direction.retransmissions.add(Trigger::Rto.into(), Verdict::Needed);
            direction.lost.add(Cause::TailByTimeout, Duration::from_millis(300));
        }
        Connection {
            id: 0,
            endpoints: Endpoints { src: ([192, 0, 2, 1], 40_000).into(), dst: ([192, 0, 2, 2], 80).into() },
            opening: Opening::Handshake,
            closing: Closing::CaptureEnd,
            frames: 1..=10,
            begun,
            ended: begun.plus_nanos(seconds * 1_000_000_000),
            packets: 10 * seconds,
            handshake_rtt: None,
            sack: None,
            ecn: None,
            capture_point: CapturePoint::default(),
            tunnels: Default::default(),
            directions,
            quic: None,
        }
    }

    #[test]
    fn what_happened_since_is_the_difference() {
        let (earlier, now) = (connection(1), connection(4));
        let from = earlier.ended;
        let since = now.clone().since(&earlier.sums(), from);
        assert_eq!((since.begun, since.ended), (from, now.ended));
        assert_eq!(since.packets, 30);
        let direction = &since.directions[1];
        assert_eq!(direction.bytes, 3000);
        assert_eq!(direction.time.total(), Duration::from_secs(3));
        assert_eq!(direction.lost.total(), Duration::from_millis(300));
        assert_eq!(direction.retransmissions.total(), 1);
        let nothing = now.clone().since(&now.sums(), now.ended);
        assert_eq!(nothing.directions[1].lost, LostTime::default());
        assert_eq!(nothing.directions[1].retransmissions.total(), 0);
        assert_eq!(nothing.duration(), Duration::ZERO);
    }
}
