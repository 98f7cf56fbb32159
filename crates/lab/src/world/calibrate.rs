//! Finds how much Tmix traffic makes a queue drop a given share of its packets.

use super::WorldScenario;
use recoup_sim::NoObserver;
use recoup_sim::world::LinkRecord;
use recoup_support::rounded::significant;
use recoup_support::suggest::did_you_mean;
use recoup_support::threads::in_parallel;
use recoup_units::Direction;
use std::time::Duration;

/// The loss that a queue shall have.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The link's name.
    pub link: String,
    /// The way through it.
    pub direction: Direction,
    /// The share of its packets that its queue drops, from 0 to 1.
    pub loss: f64,
    /// The largest deviation from it.
    pub tolerance: f64,
}

/// A load that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The `scale` of every workload with `tmix`.
    pub scale: f64,
    /// The share of the link's packets that its queue drops.
    pub loss: f64,
    /// The number of loads tried.
    pub tries: u32,
}

/// The most loads that are tried.
const MOST_TRIES: u32 = 40;

/// The lightest and the heaviest load that are tried.
const SCALES: [f64; 2] = [1e3, 1e-3];

impl Target {
    /// Reads `LINK=1.5%`, `LINK:down=1.5%` or `LINK:up=1.5%`. Without a direction it is up, from the link's first node to
    /// its second. The tolerance is a fifteenth of the share, such as 0.1 % for 1.5 %.
    ///
    /// # Errors
    /// Text that is not of this form, or a share that is not between 0 and 100 %.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: expected a link and a share of its packets, such as bottleneck:up=1.5%");
        let (place, share) = text.split_once('=').ok_or_else(wrong)?;
        let (link, direction) = match place.rsplit_once(':') {
            Some((link, "up")) => (link, Direction::Up),
            Some((link, "down")) => (link, Direction::Down),
            Some(_) => return Err(wrong()),
            None => (place, Direction::Up),
        };
        let percent = share.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
        let loss = percent.map(|n| n / 100.0).filter(|loss| *loss > 0.0 && *loss < 1.0);
        let loss = loss.ok_or_else(wrong)?;
        Ok(Self { link: link.trim().into(), direction, loss, tolerance: loss / 15.0 })
    }
}

impl WorldScenario {
    /// Sets the `scale` of all workloads with `tmix` so that the queue of a link drops the share `target` of its packets,
    /// in all runs of the first profile together. `done` is called from any thread with the simulated time since its
    /// last call. Runs take up to `threads` cores; the result does not depend on them.
    ///
    /// # Errors
    /// A link that does not exist, no workload with `tmix`, or no load with this loss.
    pub fn calibrate(
        &mut self,
        target: &Target,
        threads: usize,
        done: impl Fn(Duration) + Sync,
        is_stopped: impl Fn() -> bool + Sync,
    ) -> Result<Calibration, String> {
        let names = || self.links.iter().map(|link| link.name.as_str());
        let link = names().position(|name| name == target.link).ok_or_else(|| {
            let near = did_you_mean(&target.link, names());
            format!("no link `{}`{near}", target.link)
        })?;
        let mut scales = self.workloads.iter().filter(|one| one.tmix.is_some());
        let mut scale = scales.next().ok_or("no workload has `tmix`, whose load could be changed")?.scale;
        // Each link's results are first up and then down.
        let link = 2 * link + usize::from(target.direction == Direction::Down);
        // The loads known to lose too little and too much, by their scale.
        let (mut light, mut heavy) = (None, None);
        for tries in 1..=MOST_TRIES {
            self.set_scale(scale);
            let world = &*self;
            let runs = in_parallel(world.runs as usize, threads, |run| {
                let profile = &world.profiles[0];
                world.run_one(profile, run as u64, None, &mut NoObserver, &done, &is_stopped)
            })?;
            let mut all = LinkRecord::default();
            runs.iter().for_each(|run| all.merge(&run.links[link].record));
            let loss = all.dropped_by_queue as f64 / all.packets.max(1) as f64;
            if (loss - target.loss).abs() <= target.tolerance {
                return Ok(Calibration { scale, loss, tries });
            }
            if is_stopped() {
                return Err("interrupted".into());
            }
            match loss < target.loss {
                true => light = Some(scale),
                false => heavy = Some(scale),
            }
            scale = match (light, heavy) {
                (Some(light), Some(heavy)) => f64::sqrt(light * heavy),
                (Some(light), None) => light / 2.0,
                (None, Some(heavy)) => heavy * 2.0,
                (None, None) => scale,
            };
            if !(SCALES[1]..=SCALES[0]).contains(&scale) {
                break;
            }
        }
        Err(format!(
            "no load between scale {} and {} loses {} % there: run it longer, or more often (`runs`)",
            SCALES[1],
            SCALES[0],
            significant(target.loss * 100.0, 3)
        ))
    }

    fn set_scale(&mut self, scale: f64) {
        let replayed = self.workloads.iter_mut().filter(|one| one.tmix.is_some());
        replayed.for_each(|one| one.scale = scale);
    }
}
