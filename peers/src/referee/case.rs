//! What stacks are put through.

use recoup_path::{DropRules, HopSpec, LinkTrace, LossTrace, PathSpec, Probability, Queue};
use recoup_tcp::flow::Workload;
use recoup_units::{BitRate, Direction};
use std::time::Duration;

/// The round-trip time of the path without a queue.
pub const RTT: Duration = Duration::from_millis(40);

/// The path's rate towards the client in bits per second, and its queue.
const RATE: u64 = 20_000_000;
const QUEUE: Queue = Queue::Packets(100);

/// A queue that takes all that a sender with a buffer of 1 MiB has outstanding.
const LONG_QUEUE: Queue = Queue::Packets(1000);

/// The bytes of a request.
const REQUEST: u64 = 100;

/// When the delay spike begins and ends.
pub const SPIKE: [Duration; 2] = [Duration::from_millis(1000), Duration::from_millis(2500)];

recoup_units::named! {
    /// What happens on the path while a server answers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Case {
        Tail1 = "tail-1",
        Tail2 = "tail-2",
        Tail3 = "tail-3",
        Tail4 = "tail-4",
        Tail5 = "tail-5",
        LostRetransmission = "lost-retransmission",
        Reordering = "reordering",
        DelaySpike = "delay-spike",
        AckLoss = "ack-loss",
        Bursts = "bursts",
        Bulk1 = "bulk-1",
        Bulk3 = "bulk-3",
        Short = "short",
        Shared = "shared",
    }
}

/// The packets that a case names by their place in the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// None.
    Nothing,
    /// The last ones, this many.
    Last(usize),
}

impl Case {
    /// One sentence for reports.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Tail1 => "the last packet of a response of 14 kB is lost",
            Self::Tail2 => "the last 2 packets of a response of 14 kB are lost",
            Self::Tail3 => "the last 3 packets of a response of 14 kB are lost",
            Self::Tail4 => "the last 4 packets of a response of 14 kB are lost",
            Self::Tail5 => "the last 5 packets of a response of 14 kB are lost",
            Self::LostRetransmission => "one segment in the middle of 90 kB is lost, and so is its retransmission",
            Self::Reordering => {
                "2 MB at 20 Mbit/s; 5 % of packets are late by one RTT (40 ms), and only a full queue loses some"
            }
            Self::DelaySpike => {
                "8 MB at 20 Mbit/s; after 1 s nothing moves for 1.5 s, and the queue is so long that nothing is lost"
            }
            Self::AckLoss => "2 MB at 20 Mbit/s; 20 % of the client's packets are lost",
            Self::Bursts => "2 MB at 20 Mbit/s; packets are lost in bursts of 4 on average, 1 % in all",
            Self::Bulk1 => "2 MB at 20 Mbit/s; 1 % of the server's packets are lost at random",
            Self::Bulk3 => "2 MB at 20 Mbit/s; 3 % of the server's packets are lost at random",
            Self::Short => "30 kB; 2 % of packets are lost at random, each way",
            Self::Shared => "4 MB at 20 Mbit/s, while a flow with `linux-6` sends as much through the same queue",
        }
    }

    /// The bytes of the response.
    pub const fn response(self) -> u64 {
        match self {
            Self::Tail1 | Self::Tail2 | Self::Tail3 | Self::Tail4 | Self::Tail5 => 14_000,
            Self::LostRetransmission => 90_000,
            Self::Short => 30_000,
            Self::Shared => 4_000_000,
            Self::DelaySpike => 8_000_000,
            _ => 2_000_000,
        }
    }

    /// The packets that are lost by their place.
    pub const fn chosen(self) -> Chosen {
        match self {
            Self::Tail1 => Chosen::Last(1),
            Self::Tail2 => Chosen::Last(2),
            Self::Tail3 => Chosen::Last(3),
            Self::Tail4 => Chosen::Last(4),
            Self::Tail5 => Chosen::Last(5),
            _ => Chosen::Nothing,
        }
    }

    /// Whether it needs to know which packets are retransmissions, which the path sees of TCP alone.
    pub const fn is_for_tcp(self) -> bool {
        matches!(self, Self::LostRetransmission)
    }

    /// Whether chance plays a part.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Reordering | Self::AckLoss | Self::Bursts | Self::Bulk1 | Self::Bulk3 | Self::Short)
    }

    /// Whether a flow with `linux-6` runs beside it.
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::Shared)
    }

    /// Flows per repetition: quantiles of short flows need many.
    pub const fn flows(self) -> u64 {
        match self {
            Self::Short => 10,
            _ => 1,
        }
    }

    pub fn workload(self) -> Workload {
        Workload::exchange(REQUEST, self.response())
    }

    /// The path without packets chosen by their place.
    ///
    /// # Errors
    /// None, as a test shows.
    pub fn path(self) -> Result<PathSpec, String> {
        let delay = HopSpec::Delay(RTT / 2);
        let mut path = PathSpec { up: vec![delay.clone()], down: Vec::new() };
        let probability = |of: f64| Probability::new(of).ok_or_else(|| format!("probability {of}"));
        match self {
            Self::Reordering => {
                path.down.push(HopSpec::Reorder { probability: probability(0.05)?, extra: RTT });
            }
            Self::LostRetransmission => lose(&mut path, "data:30,data:30@2")?,
            Self::AckLoss => lose(&mut path, "up:bernoulli:0.2")?,
            // In the bad state every packet is lost, 4 on average, and 1 % of packets meet it.
            Self::Bursts => lose(&mut path, "gilbert-elliott:0.002525,0.25")?,
            Self::Bulk1 => lose(&mut path, "bernoulli:0.01")?,
            Self::Bulk3 => lose(&mut path, "bernoulli:0.03")?,
            Self::Short => lose(&mut path, "bernoulli:0.02,up:bernoulli:0.02")?,
            _ => {}
        }
        match self {
            Self::DelaySpike => path.down.push(HopSpec::Link { trace: spike()?, queue: LONG_QUEUE }),
            _ if self.response() > 100_000 => {
                let rate = BitRate::from_bits_per_second(RATE).ok_or("no rate")?;
                path.down.push(HopSpec::Rate { rate, queue: QUEUE });
            }
            _ => {}
        }
        path.down.push(delay);
        Ok(path)
    }
}

fn lose(path: &mut PathSpec, rules: &str) -> Result<(), String> {
    let rules: DropRules = rules.parse().map_err(|error| format!("{error}"))?;
    for (direction, rule) in rules.0 {
        path.hops_mut(direction).push(HopSpec::Loss(rule));
    }
    Ok(())
}

/// A link of 20 Mbit/s that rests once. Its recording is longer than any flow.
fn spike() -> Result<LinkTrace, String> {
    let [from, to] = SPIKE.map(|at| at.as_millis() as u64);
    // 20 Mbit/s are 5 packets of 1,500 bytes in 3 ms.
    let opportunities = (1..100_000_u64).flat_map(|three| [1, 2, 2, 3, 3].map(|at| (three - 1) * 3 + at));
    let millis = opportunities.filter(|at| !(from..to).contains(at)).collect();
    LinkTrace::from_millis(millis).map_err(|error| error.to_string())
}

/// Lets a path lose the packets with these numbers of the direction towards the client.
pub fn lose_packets(path: &mut PathSpec, numbers: &[u64]) {
    /// Longer than any response of which packets are chosen.
    const ENTRIES: u64 = 10_000;
    let trace = LossTrace::new((0..ENTRIES).map(|number| numbers.contains(&number)));
    if let Some(trace) = trace {
        path.hops_mut(Direction::Down).insert(0, HopSpec::LossTrace(trace));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_path::Chain;

    #[test]
    fn every_path_can_be_built() {
        for case in Case::ALL {
            let path = case.path().unwrap();
            for (hops, direction) in [(&path.up, Direction::Up), (&path.down, Direction::Down)] {
                assert!(Chain::<crate::bench::Packet>::new(hops, direction, 1).is_ok(), "{}", case.name());
            }
        }
    }

    #[test]
    fn the_spike_is_a_pause_of_a_steady_link() {
        let trace = spike().unwrap();
        assert_eq!(trace.mean_bits_per_second() / 100_000, 199);
        assert!(trace.period() > Duration::from_secs(200));
    }
}
