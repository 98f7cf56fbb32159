//! A trial of several profiles on the same clients: the completion times of each, and how they differ.

use recoup_support::stats::{Bootstrap, Sample, Statistic, Statistics};
use std::fmt::Write as _;
use std::sync::Arc;

/// What is known of the connections of one profile.
#[derive(Debug, Default)]
struct Arm {
    name: Arc<str>,
    connections: u64,
    retransmissions: u64,
    timeouts: u64,
    segments: u64,
    responses: u64,
    /// The connection's number, and the completion time of one of its responses in milliseconds.
    times: Vec<(u32, f64)>,
}

/// All profiles of one listening address.
#[derive(Debug, Default)]
pub(crate) struct Trial {
    arms: Vec<Arm>,
    /// Connections with completion times.
    connections: u32,
    /// The state of the choice of those that are kept.
    random: u64,
}

/// Completion times that are kept of each profile: beyond that, a random choice of all.
const MOST: usize = 200_000;

/// A connection that counts.
pub(crate) struct Counted<'a> {
    pub retransmissions: u64,
    pub timeouts: u64,
    pub segments: u64,
    /// Completion times in milliseconds.
    pub times: &'a [f64],
}

impl Trial {
    pub fn new(names: &[Arc<str>]) -> Self {
        let arm = |name: &Arc<str>| Arm { name: Arc::clone(name), ..Arm::default() };
        Self { arms: names.iter().map(arm).collect(), connections: 0, random: 1 }
    }

    /// Counts a connection of the profile with this name.
    pub fn add(&mut self, name: &Arc<str>, connection: &Counted<'_>) {
        let place = self.arms.iter().position(|arm| arm.name == *name).unwrap_or_else(|| {
            self.arms.push(Arm { name: Arc::clone(name), ..Arm::default() });
            self.arms.len() - 1
        });
        let arm = &mut self.arms[place];
        arm.connections += 1;
        arm.retransmissions += connection.retransmissions;
        arm.timeouts += connection.timeouts;
        arm.segments += connection.segments;
        for time in connection.times {
            arm.responses += 1;
            let kept = (self.connections, *time);
            if arm.times.len() < MOST {
                arm.times.push(kept);
                continue;
            }
            // Each of all has the same chance to be kept (Vitter, "Random sampling with a reservoir", 1985, algorithm R).
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = ((u128::from(self.random) * u128::from(arm.responses)) >> 64) as usize;
            if let Some(place) = arm.times.get_mut(place) {
                *place = kept;
            }
        }
        self.connections += u32::from(!connection.times.is_empty());
    }

    /// What the trial has shown.
    pub fn summary(&self, title: &str) -> String {
        let mut text = format!("{title}\n");
        let width = self.arms.iter().map(|arm| arm.name.len()).max().unwrap_or(0).max("profile".len());
        let _ = writeln!(
            text,
            "  {:width$}  {:>11}  {:>9}  {:>8}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}",
            "profile", "connections", "responses", "retr. %", "timeouts", "mean ms", "p50 ms", "p95 ms", "p99 ms"
        );
        let samples: Vec<Sample> = self.arms.iter().map(Arm::sample).collect();
        let bootstrap = Bootstrap::new(&samples, 1, self.connections, self.connections.into());
        for (number, arm) in self.arms.iter().enumerate() {
            let share = if arm.segments > 0 { 100.0 * arm.retransmissions as f64 / arm.segments as f64 } else { 0.0 };
            let _ = write!(
                text,
                "  {:width$}  {:>11}  {:>9}  {:>8.2}  {:>8}",
                arm.name, arm.connections, arm.responses, share, arm.timeouts
            );
            for statistic in Statistic::ALL {
                let value = bootstrap.whole()[number][statistic as usize];
                let shown = if value.is_finite() { format!("{value:.3}") } else { "-".into() };
                let _ = write!(text, "  {shown:>9}");
            }
            text.push('\n');
        }
        let Some((first, others)) = self.arms.split_first() else {
            return text;
        };
        for (number, arm) in others.iter().enumerate() {
            let _ = writeln!(text, "  {} against {}, with 95 % intervals:", arm.name, first.name);
            for statistic in Statistic::ALL {
                let _ = writeln!(
                    text,
                    "    {:4}  {}",
                    statistic.name(),
                    self.difference(&bootstrap, number + 1, statistic)
                );
            }
        }
        text
    }

    /// How a profile differs from the first one in a statistic.
    fn difference(&self, bootstrap: &Bootstrap, number: usize, statistic: Statistic) -> String {
        let fewest = self.arms[0].responses.min(self.arms[number].responses);
        if fewest < statistic.fewest() {
            return format!("too few responses: {fewest}, and an interval needs {}", statistic.fewest());
        }
        let of = |values: &[Statistics]| {
            let [from, to] = [values[0], values[number]].map(|values| values[statistic as usize]);
            (to / from - 1.0) * 100.0
        };
        let estimate = of(bootstrap.whole());
        match bootstrap.interval(estimate, of) {
            Some(interval) => {
                let beyond = interval.low > 0.0 || interval.high < 0.0;
                let chance = if beyond { "" } else { " (within chance)" };
                format!("{estimate:+.1} % ({:+.1} to {:+.1}){chance}", interval.low, interval.high)
            }
            None => "no interval".into(),
        }
    }
}

impl Arm {
    fn sample(&self) -> Sample {
        Sample::new(self.times.iter().map(|(connection, time)| (*connection, 1, *time)))
    }
}
