//! §5 and §6: simulated data centers in place of the paper's. `web` (§5.3, tables 2, 3 and 5 to 9, figures 1 and 5), `video`
//! (§5.4, tables 2, 3 and 10) and `early` (§6, table 11).
//!
//! The paper compared servers with different recovery algorithms, and steered users at random to one of them. Here
//! each user meets every arm: user n has the same network and asks for the same responses ([`users`]). So differences between
//! arms are paired ([`compare`]). All arms use FACK and CUBIC.
//!
//! The paper's statements about its users and networks are inputs here, not results. The other parameters are fitted: the baseline
//! arm alone was run, with another seed, until it had the numbers that the paper prints of it ([`fits`]). Differences between arms
//! were never fitted.
//!
//! `ab` (§5.1) is the paper's A/B test: users share bottlenecks, and one in 20 is served by an arm.
//!
//! Our choices where the paper gives no value:
//!
//! - Every user has a link of his own (not in `ab`) with a rate, a drop-tail queue and outages in time, and single losses.
//! - Reordering is that of footnote 5: in a share of the responses the short last segment overtakes those sent with it.
//! - Think times, rates, RTTs, queues and loss rates are lognormal, the number of requests geometric. A share of the
//!   connections has responses of one segment (§2.1), those of the others are lognormal.
//! - Outages and single losses concern packets to the user, before the bottleneck. A part of the ACKs is lost, too.
//! - Clients delay ACKs by at most 100 ms, the mean of Windows' 200 ms timer, which runs freely.
//! - MSS 1430 bytes.
//! - The profile is `linux-2.6+moderate`. Linux 2.6 moderates the window in Disorder. This decides from which window a
//!   recovery begins when a response fills only a part of it, and tables 5 to 7 depend on that.
//! - RFC 3517's servers set cwnd = ssthresh = CUBIC(cwnd), as a Linux kernel does. Algorithm 1 computes ssthresh from
//!   FlightSize, which is smaller while an application has little to send. `web` shows that variant beside.
//! - PRR's servers have RecoverFS = FlightSize, as algorithm 2 has it. The first Linux with PRR took cwnd; `web` shows that, too.
//!
//! Deviations: idle connections are not closed, because nothing is measured of that. No client disappears, so there are no
//! failed retransmissions (15 % of those in DC1). Totals of table 2 and absolute counts of table 8 depend on the number of users.

pub mod ab;
pub mod compare;
pub mod connection;
mod early;
pub mod fits;
mod rows;
mod tables;
pub mod users;
mod video;
mod web;

pub use rows::Row;

use super::NAME;
use crate::prelude::*;
use connection::Connection;
use recoup_recovery::detect::{EarlyRetransmit, EarlyThreshold};
use users::{Hosts, Users};

/// The settings that the users' networks and applications decide.
pub const OWN_SETTINGS: [&str; 13] = [
    "rtt",
    "rate",
    "queue",
    "link",
    "request",
    "segments",
    "writes",
    "exchanges",
    "drop",
    "reorder",
    "duplicate",
    "corrupt",
    "close",
];

/// The settings of all hosts, where the user changes nothing.
const HOSTS: [(&str, &str); 3] = [("mss", "1430"), ("initial_window", "profile"), ("ack", "delayed:100ms")];

/// A figure of a data center.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    /// §5.3: web servers with three rate controls.
    Web,
    /// §5.4: video servers with three rate controls.
    Video,
    /// §6: web servers with forms of early retransmit.
    Early,
}

impl Id {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Video => "video",
            Self::Early => "early",
        }
    }

    /// Users, unless the user of the program says otherwise.
    pub fn default_users(self, effort: Effort) -> u32 {
        match self {
            Self::Web => effort.of(300_000, 30_000),
            Self::Video => effort.of(3000, 150),
            Self::Early => effort.of(150_000, 15_000),
        }
    }

    fn users(self, setup: &Setup) -> Users {
        match self {
            Self::Web | Self::Early => web::users(&setup.fitted(web::FIT)),
            Self::Video => video::users(&setup.fitted(video::FIT)),
        }
    }

    fn arms(self) -> Vec<Arm> {
        match self {
            Self::Web | Self::Video => vec![Arm::LINUX, Arm::RFC_3517, Arm::PRR],
            Self::Early => early::ARMS.to_vec(),
        }
    }
}

/// Servers with one recovery algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// The name in tables.
    pub name: &'static str,
    /// The profile.
    pub profile: &'static str,
    /// The delay of early retransmit is SRTT divided by this; `None`: as the profile has it.
    pub srtt_divisor: Option<u8>,
    /// Whether ssthresh follows from the flight size, and not from the congestion window.
    pub from_flight: bool,
}

impl Arm {
    /// The baseline: rate halving, no early retransmit.
    pub const LINUX: Self = Self::new("Linux", "linux-2.6+moderate+halving");
    /// The rate control of RFC 3517.
    pub const RFC_3517: Self = Self::new("RFC 3517", "linux-2.6+moderate+std");
    /// Proportional rate reduction.
    pub const PRR: Self = Self::new("PRR", "linux-2.6+moderate+prr");

    /// RFC 3517 with ssthresh from the flight size, as algorithm 1 has it.
    pub const RFC_3517_FLIGHT: Self =
        Self { from_flight: true, ..Self::new("RFC 3517, FlightSize", Self::RFC_3517.profile) };
    /// PRR with RecoverFS = cwnd, as in the first Linux that had it.
    pub const PRR_CWND: Self = Self::new("PRR, cwnd", "linux-2.6+moderate+prrlinux3");

    /// Servers of this profile.
    pub const fn new(name: &'static str, profile: &'static str) -> Self {
        Self { name, profile, srtt_divisor: None, from_flight: false }
    }

    fn hosts(&self, setup: &Setup, settings: &Settings) -> Hosts {
        let client = setup.profile(Self::LINUX.profile);
        let mut hosts = Hosts::new(settings, &client, &setup.profile(self.profile));
        if self.from_flight {
            hosts.reduce_from_flight();
        }
        if let Some(srtt_divisor) = self.srtt_divisor {
            let is_off = srtt_divisor == 1 && setup.is_mutated("one-timer-off");
            hosts.set_early_retransmit(if is_off {
                EarlyRetransmit::Off
            } else {
                EarlyRetransmit::Delayed {
                    threshold: EarlyThreshold::AllButOne,
                    srtt_divisor,
                    // Wide bounds, lest they hide the divisor.
                    min: Duration::from_millis(2),
                    max: Duration::from_secs(4),
                }
            });
        }
        hosts
    }
}

/// The connections of all users with one arm.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The arm.
    pub arm: Arm,
    /// The connections, by user.
    pub connections: Vec<Arc<Connection>>,
    /// Users that share a link, and follow each other in `connections`.
    pub users_per_link: usize,
}

impl Cell {
    /// Its first users.
    fn first(&self, users: usize) -> Self {
        Self { connections: self.connections.iter().take(users).cloned().collect(), ..self.clone() }
    }
}

/// Runs the connections of `users` users with each arm, on `threads` cores. The result does not depend on `threads`.
fn run(setup: &Setup, population: &Users, arms: &[Arm], users: u32, threads: usize) -> Result<Vec<Cell>, String> {
    let mut cells: Vec<Cell> = vec![];
    for arm in arms {
        let cell = run_arm(setup, population, *arm, cells.first(), users, threads)?;
        cells.push(cell);
    }
    Ok(cells)
}

/// Runs the connections of an arm. Those that nothing disturbed with the baseline are the same with all arms.
fn run_arm(
    setup: &Setup,
    population: &Users,
    arm: Arm,
    baseline: Option<&Cell>,
    users: u32,
    threads: usize,
) -> Result<Cell, String> {
    let hosts = arm.hosts(setup, &settings(&setup.base)?);
    let one = |user: usize| {
        let known = baseline.map(|cell| &cell.connections[user]);
        if let Some(known) = known.filter(|known| known.disturbed.is_none()) {
            return Ok(known.clone());
        }
        let number = user as u64;
        let drawn = population.user(setup.seed(), number);
        Connection::run(&drawn, &hosts, setup.seed(), number).map(Arc::new)
    };
    Ok(Cell { arm, connections: in_parallel(users as usize, threads, one)?, users_per_link: 1 })
}

/// The arms beside the paper's three, for the first tenth of the users. The first cell is the baseline for these users.
fn variants(setup: &Setup, population: &Users, id: Id, cells: &[Cell]) -> Result<Vec<Cell>, String> {
    let (Id::Web, Some(baseline)) = (id, cells.first()) else {
        return Ok(vec![]);
    };
    let users = baseline.connections.len().div_ceil(10);
    let mut found = vec![baseline.first(users)];
    for arm in [Arm::RFC_3517_FLIGHT, Arm::PRR_CWND] {
        let cell = run_arm(setup, population, arm, found.first(), users as u32, cores())?;
        found.push(cell);
    }
    Ok(found)
}

/// The settings of `base`, with those of the paper's hosts where the user changed nothing.
fn settings(base: &Scenario) -> Result<Settings, String> {
    let paper = Scenario::load(NAME).map_err(|e| e.to_string())?;
    let mut settings = base.settings.clone();
    for (key, value) in HOSTS {
        if base.settings.get(key) == paper.settings.get(key) {
            settings.set(key, value, Path::new("")).map_err(|e| e.to_string())?;
        }
    }
    Ok(settings)
}

/// The contents of a figure.
struct Evaluation {
    rows: Vec<Row>,
    claims: Vec<Claim>,
    picture: Picture,
    /// Further pictures, each with its name.
    more: Vec<(&'static str, Picture)>,
}

fn evaluate(id: Id, population: &Users, cells: &[Cell], variants: &[Cell]) -> Evaluation {
    match id {
        Id::Web => web::evaluate(population, cells, variants),
        Id::Video => video::evaluate(population, cells),
        Id::Early => early::evaluate(population, cells),
    }
}

/// Regenerates a figure, in every format.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(id: Id, setup: &Setup) -> Result<Sheet> {
    let users = setup.users.unwrap_or(id.default_users(setup.effort));
    let mut population = id.users(setup);
    if setup.is_mutated("single-losses") {
        population.outages = None;
    }
    if setup.is_mutated("heavy-losses") {
        population.loss.median = 0.08;
    }
    let cells = run(setup, &population, &id.arms(), users, cores())?;
    let variants = variants(setup, &population, id, &cells)?;
    let found = evaluate(id, &population, &cells, &variants);
    let arms: Vec<&str> = cells.iter().chain(variants.iter().skip(1)).map(|cell| cell.arm.name).collect();
    let title = format!("{} {users} users, seed {}", title(id), setup.seed());
    let sheet = Figure::new(NAME, id.name(), title, found.claims, found.picture, found.rows)
        .sheet(|rows| rows::to_text(rows, &arms), &rows::columns(id.name()));
    let add = |sheet: Sheet, (name, picture)| sheet.with_picture(name, picture);
    Ok(found.more.into_iter().fold(sheet, add))
}

const fn title(id: Id) -> &'static str {
    match id {
        Id::Web => "Web servers with rate halving, RFC 3517 and PRR (section 5.3):",
        Id::Video => "Video servers with rate halving, RFC 3517 and PRR (section 5.4):",
        Id::Early => "Web servers with forms of early retransmit (section 6):",
    }
}

#[cfg(test)]
mod tests;
