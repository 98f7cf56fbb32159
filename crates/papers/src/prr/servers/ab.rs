//! §5.1: the paper's A/B test. Users share bottlenecks, and most of them are served by unmodified Linux.
//!
//! In the paper's experiments 5 % of the connections were served by servers with another recovery algorithm, the others by
//! unmodified ones, over whatever links they shared. In `web` each user has a link of his own. Here 20 users share one, with the
//! rate, queue and outages of `web`'s population; each also has a path of his own with his RTT and single losses. Their connections
//! begin within ten seconds.
//!
//! The world runs with Linux for all, and once more for each user and arm: that user alone (5 % of the 20) is
//! then served by the arm. So both runs have the same user, requests and losses of his own path, and differ in what his server and
//! the others made of the queue. Where nothing disturbed the user's connection with Linux, the arm does the same, and it is not
//! run. The units of the intervals are links.
//!
//! Nothing was fitted to this world: `web`'s parameters are fitted for users with links of their own. With 20 users on a link
//! more is lost, which the table shows.

mod claims;

use super::compare::{percent, total};
use super::connection::{Connection, Disturbed};
use super::rows::{self, Rows};
use super::tables::{self, TABLE_8, Total, count, latency, responses};
use super::users::{Hosts, User, Users};
use super::{Arm, Cell, settings, web};
use crate::prelude::*;
use recoup_sim::world::{FlowEnd, RouteId, Start, Topology, Traffic, World};
use recoup_tcp::flow::ScriptProgress;

/// The name on the command line.
pub const ID: &str = "ab";

/// Users that share a link: one of them is 5 %.
const SHARING: usize = 20;

/// The time within which their connections begin.
const WITHIN: Duration = Duration::from_secs(10);

/// A world that takes longer is cut off.
const LONGEST: Duration = Duration::from_secs(3600);

/// "prr_ab" in ASCII: keeps the times at which connections begin apart from the users' draws.
const DOMAIN: u64 = u64::from_le_bytes(*b"prr_ab\0\0");

/// The arms, the baseline first.
const ARMS: [Arm; 3] = [Arm::LINUX, Arm::RFC_3517, Arm::PRR];

/// The users of a link.
#[derive(Debug)]
pub struct Link {
    users: Vec<User>,
    /// When their connections begin.
    starts: Vec<Instant>,
    /// The users in the order of their starts.
    order: Vec<usize>,
    topology: Topology,
    seed: u64,
}

impl Link {
    /// Link number `number` of the population.
    pub fn new(population: &Users, seed: u64, number: usize) -> Self {
        let first = (number * SHARING) as u64;
        let users: Vec<User> = (first..).take(SHARING).map(|user| population.user(seed, user)).collect();
        let draws = Draws::new(seed, DOMAIN, number as u64);
        let starts: Vec<Instant> =
            (0..SHARING as u64).map(|user| Instant::ZERO + WITHIN.mul_f64(draws.uniform(0, user))).collect();
        let mut order: Vec<usize> = (0..SHARING).collect();
        order.sort_by_key(|user| starts[*user]);
        let mut topology = Topology::default();
        let bottleneck = users.first().map_or_else(Vec::new, |user| user.network.bottleneck.clone());
        let bottleneck = topology.add_link("bottleneck", bottleneck);
        for User { network, .. } in &users {
            let up = topology.add_link("up", network.up.clone());
            let before = topology.add_link("before", network.before.clone());
            let after = topology.add_link("after", network.after.clone());
            topology.add_route(&[up], &[before, bottleneck, after]);
        }
        // The seed of the world decides the losses, which differ between links.
        Self { users, starts, order, topology, seed: seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    /// Runs all connections. `treated` is served by the hosts of an arm, all others by the baseline's.
    ///
    /// # Errors
    /// A network that cannot be built.
    pub fn run(&self, baseline: &Hosts, treated: Option<(usize, &Hosts)>) -> Result<Vec<Arc<Connection>>, String> {
        let hosts = |user: usize| treated.filter(|(one, _)| *one == user).map_or(baseline, |(_, hosts)| hosts);
        let specs = self.users.iter().enumerate().map(|(user, it)| hosts(user).spec(it)).collect();
        let mut traffic = Connections { link: self, specs, begun: 0, found: vec![None; SHARING] };
        let mut watch = Watch(vec![(0, false); SHARING]);
        let mut world = World::new(&self.topology, self.seed).map_err(|e| e.to_string())?;
        let ended = world.run(&mut traffic, Instant::ZERO + LONGEST, &mut watch);
        if ended.open > 0 {
            world.cut_off(&mut traffic);
        }
        let connection = |(found, (_, is_disturbed)): (Option<Found>, (u64, bool))| {
            let Some((mut connection, counters, recoveries)) = found else {
                return Arc::default();
            };
            if is_disturbed || counters.retransmissions.total() > 0 {
                connection.disturbed = Some(Box::new(Disturbed { counters, recoveries, ..Disturbed::default() }));
            }
            Arc::new(connection)
        };
        Ok(traffic.found.into_iter().zip(watch.0).map(connection).collect())
    }

    /// The connections of each user with each arm that serves him.
    fn compare(&self, hosts: &[Hosts]) -> Result<Vec<Vec<Arc<Connection>>>, String> {
        let Some((baseline, arms)) = hosts.split_first() else {
            return Ok(vec![]);
        };
        let base = self.run(baseline, None)?;
        let mut all = vec![];
        for arm in arms {
            let one = |user: usize| match base[user].disturbed {
                None => Ok(base[user].clone()),
                Some(_) => self.run(baseline, Some((user, arm))).map(|all| all[user].clone()),
            };
            all.push((0..SHARING).map(one).collect::<Result<_, String>>()?);
        }
        all.insert(0, base);
        Ok(all)
    }
}

/// A connection that has ended.
type Found = (Connection, Counters, Vec<recoup_recovery::Recovery>);

/// The traffic of a link.
struct Connections<'a> {
    link: &'a Link,
    specs: Vec<FlowSpec>,
    begun: usize,
    found: Vec<Option<Found>>,
}

impl Traffic for Connections<'_> {
    type Application = ScriptProgress;

    fn next_start(&self) -> Option<Instant> {
        self.link.order.get(self.begun).map(|user| self.link.starts[*user])
    }

    fn start(&mut self, _: Instant) -> Start<'_, ScriptProgress> {
        let user = self.link.order[self.begun];
        self.begun += 1;
        let workload = &self.specs[user].workload;
        Start {
            flow: FlowId(user as u64),
            route: RouteId(user as u32),
            applications: [&workload.client, &workload.server].map(ScriptProgress::new),
            spec: &self.specs[user],
        }
    }

    fn on_end(&mut self, _: Instant, ended: &FlowEnd<'_>) {
        if let Some(found) = self.found.get_mut(ended.flow.0 as usize) {
            *found = Some(Connection::of(ended));
        }
    }
}

/// By flow: the ordinal after that of the last packet that arrived at the client, and whether one was lost or out of order.
struct Watch(Vec<(u64, bool)>);

impl Observer for Watch {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        let Some((next, is_disturbed)) = self.0.get_mut(packet.flow.0 as usize) else {
            return;
        };
        match point {
            Point::Arrived if direction == Direction::Down => {
                *is_disturbed |= packet.ordinal < *next;
                *next = packet.ordinal + 1;
            }
            Point::Dropped(_) if direction == Direction::Down => *is_disturbed = true,
            _ => {}
        }
    }
}

/// The experiment in every format.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let users = setup.users.unwrap_or(setup.effort.of(24_000, 1000)) as usize;
    let links = users.div_ceil(SHARING);
    let population = web::users(&setup.fitted(web::FIT));
    let cells = run(setup, &population, links)?;
    let arms = ARMS.map(|arm| arm.name);
    let title =
        format!("A/B test on shared bottlenecks (section 5.1): {} users, seed {}", links * SHARING, setup.seed());
    Ok(Figure::new(super::NAME, ID, title, claims::all(&cells), chart(&cells), table(&cells))
        .sheet(|rows| rows::to_text(rows, &arms), &rows::columns(ID)))
}

/// The connections of the users of so many links, with each arm.
fn run(setup: &Setup, population: &Users, links: usize) -> Result<Vec<Cell>> {
    let settings = settings(&setup.base)?;
    let hosts = ARMS.map(|arm| arm.hosts(setup, &settings));
    let runs = in_parallel(links, cores(), |number| Link::new(population, setup.seed(), number).compare(&hosts))?;
    let cell = |(i, arm): (usize, Arm)| {
        let connections = runs.iter().flat_map(|of_link| of_link.get(i).into_iter().flatten().cloned()).collect();
        Cell { arm, connections, users_per_link: SHARING }
    };
    Ok(ARMS.into_iter().enumerate().map(cell).collect())
}

fn table(cells: &[Cell]) -> Vec<rows::Row> {
    let mut rows = Rows::default();
    let base = &cells[0];
    let retransmitted = responses(|one| one.is_retransmitted);
    tables::met(&mut rows, base, "retransmission rate", "%", tables::retransmission_rate(base), 2.5);
    let share = percent(base, retransmitted, responses(|_| true));
    tables::met(&mut rows, base, "responses with retransmissions", "%", share, 6.1);
    tables::met(&mut rows, base, "fast retransmits per fast recovery", "", tables::per_recovery(base), 3.15);
    tables::totals(&mut rows, "Table 8", cells, TABLE_8);
    let header = ("Table 9", "latency of responses with retransmissions, mean, difference from Linux", "%");
    rows.differences(header, cells, &[], tables::latency_difference);
    rows.differences(
        ("Table 9", "latency of all responses, mean, difference from Linux", "%"),
        cells,
        &[],
        |base, arm| total(base, arm, latency(|_| true)),
    );
    rows.0
}

fn chart(cells: &[Cell]) -> BarChart {
    let labels = ["all", "fast", "timeouts in recovery"];
    let ours = |(label, (_, of, _)): (&'static str, Total)| {
        (label, cells[1..].iter().map(move |arm| Some(total(&cells[0], arm, count(of)).mean)).collect::<Vec<_>>())
    };
    let papers = |(label, (_, _, papers)): (&'static str, Total)| (label, papers.map(Some).to_vec());
    BarChart::new(
        "Table 8 on shared bottlenecks: retransmissions, difference from Linux",
        "retransmissions",
        "difference (%)",
        cells[1..].iter().map(|cell| cell.arm.name),
    )
    .panel("simulated", labels.into_iter().zip(TABLE_8).map(ours))
    .panel("the paper's", labels.into_iter().zip(TABLE_8).map(papers))
}
