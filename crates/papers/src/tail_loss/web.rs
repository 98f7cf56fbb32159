//! §3.3, figure 4: web pages over persistent connections.
//!
//! A browser downloads a page: the HTML document, then all other objects over six connections per subdomain
//! ([`recoup_sim::traffic::web`]). All connections of a download share a link of 10 Mbit/s. The object completion time (OCT)
//! is the time from the request to the last byte. It includes the handshake for a connection's first object.
//!
//! A download counts with one value: the mean OCT of all objects on those connections on which an object had a retransmission
//! in one of its last four segments. A spurious retransmission qualifies, too, so the mechanism influences what is selected.
//! The selection by segments that were lost when they were first sent stands beside it.
//!
//! Download n has the same seed with all mechanisms: their channels are in the same state for packet n of the download. A
//! difference of two mechanisms has the confidence interval of paired samples ([`difference`]).
//!
//! Not in the paper, and chosen by us: the sizes of the objects (module `sites`), the queue (100 packets), and the parameters
//! of the Gilbert–Elliott channel. Ours loses every packet in its bad state, which lasts two packets on average, and 1.5 %
//! of all packets from the server, SYN-ACKs included. It steps with every packet of the download, whatever its connection.
//! The way to the server loses nothing. `--set` changes `rate`, `queue`, `drop` and the settings of the hosts.

mod claims;
mod columns;
mod sites;
pub mod subdomains;
mod watch;

pub use watch::Selection;

use super::NAME;
use super::cell::{Acks, MECHANISMS, Mechanism};
use crate::distribution;
use crate::prelude::*;
use recoup_sim::traffic::Mix;
use recoup_sim::traffic::web::{Browser, Page};
use recoup_sim::world::{Topology, World};
use watch::Watch;

/// The name on the command line.
pub const ID: &str = "fig4";

/// The round-trip times of the figure's rows, in ms.
pub const RTTS: [u64; 2] = [10, 160];

/// Downloads of a page with each mechanism at the full and the quick effort, unless the user says otherwise.
pub const DOWNLOADS: [usize; 2] = [400, 120];

/// Downloads of a page with each mechanism in the paper (§3.3).
pub const PAPERS_DOWNLOADS: usize = 2000;

/// The settings that the cells set themselves.
pub const OWN_SETTINGS: [&str; 7] = ["rtt", "ack", "request", "segments", "writes", "exchanges", "close"];

/// The path, where the user changes nothing: settings and values.
const PATH: [(&str, &str); 3] = [("rate", "10Mbit"), ("queue", "100"), ("drop", "gilbert-elliott:0.0076142,0.5")];

/// A simulated hour: a download that takes longer is incomplete.
const LONGEST: Duration = Duration::from_secs(3600);

/// A download of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Download {
    /// The mean OCT of all objects, in ms; `None` if one never arrived.
    pub oct_ms: Option<f64>,
    /// The mean OCT of the objects on selected connections, in ms, by selection in the order of [`Selection::ALL`].
    /// `None` without such connections, and if an object of the page never arrived.
    pub selected_ms: [Option<f64>; 2],
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Spurious retransmissions of data.
    pub spurious: u64,
    /// Packets that the servers sent.
    pub packets: u64,
    /// Those of them that the channel lost.
    pub lost: u64,
}

impl Download {
    /// The mean OCT of the objects on connections selected in this way, in ms.
    pub const fn selected(&self, selection: Selection) -> Option<f64> {
        self.selected_ms[selection as usize]
    }
}

/// The downloads of a page with one mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct WebCell {
    /// The page's place in the figure, from 0.
    pub page: usize,
    /// The page's name.
    pub site: String,
    /// The round-trip time without queueing, in ms.
    pub rtt_ms: u64,
    /// The mechanism.
    pub mechanism: Mechanism,
    /// The downloads, in the order of their seeds.
    pub downloads: Vec<Download>,
}

impl WebCell {
    /// The mean OCTs of the selected downloads, in ms, in ascending order.
    pub fn octs(&self, selection: Selection) -> Vec<f64> {
        let mut octs: Vec<f64> = self.downloads.iter().filter_map(|one| one.selected(selection)).collect();
        octs.sort_by(f64::total_cmp);
        octs
    }

    /// Downloads with an object that never arrived.
    pub fn incomplete(&self) -> usize {
        self.downloads.iter().map(|one| one.oct_ms).filter(Option::is_none).count()
    }

    /// Data segments sent, and spurious retransmissions among them.
    pub fn spurious(&self) -> (u64, u64) {
        let sum = |(sent, spurious): (u64, u64), one: &Download| (sent + one.segments_sent, spurious + one.spurious);
        self.downloads.iter().fold((0, 0), sum)
    }

    /// The letter of its panel; `None` beyond z.
    pub fn panel(&self, pages: usize) -> Option<char> {
        let row = RTTS.iter().position(|rtt| *rtt == self.rtt_ms)?;
        let place = u8::try_from(row * pages + self.page).ok()?;
        ('a'..='z').nth(place.into())
    }
}

/// Fewer selected downloads than this decide nothing.
const FEWEST: usize = 20;

/// The mean of `of` over the selected downloads of `a`, less that over the selected downloads of `b`, with its 95 %
/// confidence interval.
///
/// Download n of both cells has the same seed. Each mean is a ratio of two sums over all downloads: of the values
/// of those selected, and of their number. The interval is that of a difference of such ratios, from the first terms of their
/// Taylor series (Cochran, "Sampling Techniques", 1977, §6.5). The interval is unbounded if one of the cells has fewer than
/// 20 selected downloads.
pub fn difference(a: &WebCell, b: &WebCell, selection: Selection, of: impl Fn(f64) -> f64) -> Estimate {
    let values = |cell: &WebCell| -> Vec<Option<f64>> {
        cell.downloads.iter().map(|one| one.selected(selection)).map(|oct| oct.map(&of)).collect()
    };
    let (a, b) = (values(a), values(b));
    let (Some((mean_a, terms_a)), Some((mean_b, terms_b))) = (ratio(&a), ratio(&b)) else {
        return Estimate::UNKNOWN;
    };
    let terms: Estimate = terms_a.iter().zip(&terms_b).map(|(a, b)| a - b).collect();
    Estimate { mean: mean_a - mean_b, ..terms }
}

/// The mean of the values there are, and how much each item moves it. `None` with fewer than [`FEWEST`] values.
fn ratio(values: &[Option<f64>]) -> Option<(f64, Vec<f64>)> {
    let count = values.iter().flatten().count();
    if count < FEWEST {
        return None;
    }
    let mean = values.iter().flatten().sum::<f64>() / count as f64;
    let share = count as f64 / values.len() as f64;
    let moves = |value: &Option<f64>| value.map_or(0.0, |value| (value - mean) / share);
    Some((mean, values.iter().map(moves).collect()))
}

/// The network and the hosts of a cell.
struct Testbed {
    topology: Topology,
    spec: FlowSpec,
}

impl Testbed {
    /// The settings of the setup, with the paper's path where they are the scenario's.
    fn new(setup: &Setup, rtt_ms: u64, mechanism: Mechanism) -> Result<Self> {
        let paper = Scenario::load(NAME)?;
        let mut settings = setup.base.settings.clone();
        let rtt = format!("{rtt_ms}ms");
        let changed = |key: &str| setup.base.settings.get(key) != paper.settings.get(key);
        let path = PATH.into_iter().filter(|(key, _)| !changed(key));
        let own = [("rtt", rtt.as_str()), ("ack", receiver(setup).name())];
        for (key, value) in path.chain(own) {
            settings.set(key, value, Path::new(""))?;
        }
        Ok(Self { topology: topology(&settings)?, spec: settings.flow(&setup.profile(mechanism.profile())) })
    }

    /// Downloads a page.
    fn download(&self, page: &Page, seed: u64) -> Result<Download, String> {
        let mut world = World::new(&self.topology, seed).map_err(|e| e.to_string())?;
        let route = recoup_sim::world::RouteId(0);
        let mut traffic = Mix::new(vec![Browser::new(page, self.spec.clone(), route)]);
        let mut watch = Watch::default();
        world.run(&mut traffic, Instant::ZERO + LONGEST, &mut watch);
        let fetches = traffic.sources()[0].fetches();
        let is_complete = traffic.sources()[0].is_complete();
        let mss = u64::from(self.spec.server.mss);
        let mean = |is_taken: &dyn Fn(u64) -> bool| {
            let times: Vec<f64> = fetches
                .iter()
                .filter(|fetch| is_taken(fetch.connection))
                .filter_map(|fetch| fetch.completion_time())
                .map(|time| time.as_secs_f64() * 1e3)
                .collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            (is_complete && !times.is_empty()).then_some(mean)
        };
        let selected = |selection| {
            let connections: Vec<u64> = fetches
                .iter()
                .filter(|fetch| {
                    let bytes = page.objects[fetch.object].bytes;
                    watch.touches_tail(selection, fetch, bytes, mss)
                })
                .map(|fetch| fetch.connection)
                .collect();
            mean(&|connection| connections.contains(&connection))
        };
        Ok(Download {
            oct_ms: mean(&|_| true),
            selected_ms: Selection::ALL.map(selected),
            segments_sent: watch.segments_sent,
            spurious: watch.spurious,
            packets: watch.packets,
            lost: watch.lost,
        })
    }
}

/// The path as a topology: one link each way, and a route over both. Each link has one channel for all connections.
fn topology(settings: &Settings) -> Result<Topology> {
    let path = settings.path()?;
    let mut topology = Topology::default();
    let up = topology.add_link_of_one_channel("up", path.up);
    let down = topology.add_link_of_one_channel("down", path.down);
    topology.add_route(&[up], &[down]);
    Ok(topology)
}

/// The browser's host delays its ACKs (§3.3).
fn receiver(setup: &Setup) -> Acks {
    if setup.is_mutated("quick-acks") { Acks::Quick } else { Acks::Delayed }
}

/// Downloads all pages with all mechanisms, on `threads` cores. The result does not depend on `threads`.
fn run(setup: &Setup, pages: &[Page], downloads: usize, threads: usize) -> Result<Vec<WebCell>> {
    let mut cells = vec![];
    for rtt_ms in RTTS {
        for (page, content) in pages.iter().enumerate() {
            for mechanism in MECHANISMS {
                let testbed = Testbed::new(setup, rtt_ms, mechanism)?;
                let amount = (downloads, threads);
                let web = run_cell(setup, &testbed, (page, content), rtt_ms, mechanism, amount)?;
                cells.push(web);
            }
        }
    }
    Ok(cells)
}

/// Downloads a page, the `place`-th of a figure, so often and on so many cores.
fn run_cell(
    setup: &Setup,
    testbed: &Testbed,
    (place, page): (usize, &Page),
    rtt_ms: u64,
    mechanism: Mechanism,
    (downloads, threads): (usize, usize),
) -> Result<WebCell> {
    let one = |n: usize| testbed.download(page, setup.seed().wrapping_add(n as u64));
    Ok(WebCell {
        page: place,
        site: page.name.clone(),
        rtt_ms,
        mechanism,
        downloads: in_parallel(downloads, threads, one)?,
    })
}

/// Runs all cells and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn figure(setup: &Setup) -> Result<Figure<WebCell>> {
    let [full, quick] = DOWNLOADS;
    let downloads = setup.pages.downloads.unwrap_or(setup.effort.of(full, quick));
    let (contents, is_papers) = match &setup.pages.own {
        Some(own) => (own.clone(), false),
        None => (sites::pages(), true),
    };
    let cells = run(setup, &contents, downloads, cores())?;
    let seed = setup.seed();
    let title = format!("Mean object completion time of {downloads} downloads per page and mechanism, seed {seed}");
    let claims = if is_papers { claims::all(&cells) } else { vec![] };
    Ok(Figure::new(NAME, ID, title, claims, chart(&cells, contents.len()), cells))
}

/// The cells as [`figure`] computes them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let figure = figure(setup)?;
    let cells = figure.cells.clone();
    let sheet = figure.sheet(columns::text, &columns::cells(&cells));
    Ok(sheet.with_rows("distributions", &columns::distributions(), &columns::points(&cells)))
}

fn chart(cells: &[WebCell], pages: usize) -> LineChart {
    let chart = LineChart::new(
        "Mean OCT of downloads with a retransmission in an object's last four segments",
        "mean OCT (ms)",
        "share of the downloads",
        MECHANISMS.map(Mechanism::name),
    );
    cells.chunks(MECHANISMS.len()).fold(chart.logarithmic().up_to(1.0).steps(), |chart, cells| {
        let WebCell { site, rtt_ms, .. } = &cells[0];
        let letter = cells[0].panel(pages).unwrap_or('-');
        let line = |cell: &WebCell| distribution::steps(&cell.octs(Selection::Retransmission));
        chart.panel(format!("({letter}) {site}, RTT {rtt_ms} ms"), cells.iter().map(line))
    })
}

#[cfg(test)]
mod tests;
