//! §3.3, figure 4: web pages over persistent connections.
//!
//! A browser downloads a page: the HTML document, then all other objects over six connections per subdomain
//! ([`recoup_sim::traffic::web`]). All connections of a download share a link of 10 Mbit/s. The object completion time (OCT)
//! is the time from the request to the last byte. It includes the handshake for a connection's first object. The browser closes a
//! connection when no object is left for it, so that the ACK of its last data is not delayed.
//!
//! The paper counts "all objects in flows where at least one object experienced a segment retransmission in one of the four
//! last segments of the object". We read a flow as the burst of one object, and so count the OCT of each object with such a
//! retransmission. Three things speak for it. The figures are "completion time for web objects", and the text has shares "of
//! all OCTs". The selection is to "reduce the amount of noise"; of a whole connection of the newspaper's page, 26 of 27
//! objects would be noise. And the paper's experiments before this one call a burst a flow. The other reading, a flow is a
//! connection, stands beside it: a download then counts with the mean OCT of all objects on the selected connections. It cannot
//! show what the paper prints: one timeout moves the mean of 27 objects by some 10 ms. The paper also averages the objects
//! selected in a download before it draws them; the share of these averages below 1 s is a column.
//!
//! A spurious retransmission selects an object, too, so the mechanism influences what is selected. The selection by segments
//! that were lost when they were first sent stands beside both.
//!
//! Download n has the same seed with all mechanisms: their channels are in the same state for packet n of the download. A
//! difference of two mechanisms has the confidence interval of paired samples ([`difference`]), with downloads as units.
//!
//! Not in the paper, and chosen by us: the sizes of the objects (module `sites`), the queue (100 packets), the hosts' timers
//! (the jiffies of Linux 3.17 at 250 Hz, the kernel's default; [`recoup_sim::TimerModel`]), and the parameters of the
//! Gilbert–Elliott channel. Ours loses every packet in its bad state, and 1.5 % of all packets from the server, SYN-ACKs included.
//! The mean length of the bad state is fitted to the baseline alone (fit `tail-loss-web`). The channel steps with every packet of
//! the download, whatever its connection. The way to the server loses nothing. `--set` changes `rate`, `queue`, `drop`, `timers`
//! and the settings of the hosts.

mod claims;
mod columns;
mod sites;
mod watch;

pub use watch::Selection;

use super::NAME;
use super::cell::{Acks, MECHANISMS, Mechanism};
use crate::distribution;
use crate::prelude::*;
use recoup_sim::traffic::Mix;
use recoup_sim::traffic::web::{Browser, Fetch, Page};
use recoup_sim::world::{Topology, World};
use watch::Watch;

/// The name on the command line.
pub const ID: &str = "fig4";

/// The round-trip times of the figure's rows, in ms. The paper prints the first two rows, its panels a to f.
pub const RTTS: [u64; 3] = [10, 160, 40];

/// Downloads of a page with each mechanism at the full and the quick effort, unless the user says otherwise.
pub const DOWNLOADS: [usize; 2] = [300, 80];

/// The settings that the cells set themselves.
pub const OWN_SETTINGS: [&str; 7] = ["rtt", "ack", "request", "segments", "writes", "exchanges", "close"];

/// The path and the hosts' timers, where the user changes nothing: settings and values, beside the channel's.
const PATH: [(&str, &str); 3] = [("rate", "10Mbit"), ("queue", "100"), ("timers", "linux-jiffies:250")];

/// The share of packets that the channel loses (§3.3).
const LOSS: f64 = 0.015;

/// A simulated hour: a download that takes longer is incomplete.
const LONGEST: Duration = Duration::from_secs(3600);

/// The fit of the channel.
pub const FIT: Fitted =
    Fitted { name: "tail-loss-web", toml: include_str!("../../fits/tail-loss-web.toml"), measure: measure_baseline };

/// A download of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Download {
    /// The mean OCT of all objects, in ms; `None` if one never arrived.
    pub oct_ms: Option<f64>,
    /// The values that count, in ms, by selection in the order of [`Selection::ALL`]: the OCTs of the objects selected, or the
    /// mean OCT of all objects on the connections selected. None if an object of the page never arrived.
    pub selected_ms: [Vec<f64>; 4],
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
    /// The OCTs that count, in ms.
    pub fn selected(&self, selection: Selection) -> &[f64] {
        &self.selected_ms[selection as usize]
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
    /// The OCTs that count, in ms, in ascending order.
    pub fn octs(&self, selection: Selection) -> Vec<f64> {
        let mut octs: Vec<f64> = self.downloads.iter().flat_map(|one| one.selected(selection)).copied().collect();
        octs.sort_by(f64::total_cmp);
        octs
    }

    /// The mean of `of` over the OCTs that count, with its 95 % confidence interval, as in [`difference`].
    pub fn mean_of(&self, selection: Selection, of: impl Fn(f64) -> f64) -> Estimate {
        let Some((mean, terms)) = ratio(&self.values(selection, of)) else {
            return Estimate::UNKNOWN;
        };
        Estimate { mean, ..terms.into_iter().collect::<Estimate>() }
    }

    /// The share of the OCTs that count that are below 1 s.
    pub fn below_1_s(&self, selection: Selection) -> Estimate {
        self.mean_of(selection, |oct| f64::from(u8::from(oct < 1000.0)))
    }

    /// The share below 1 s of the averages of the OCTs that count in a download.
    pub fn averages_below_1_s(&self, selection: Selection) -> Option<f64> {
        let averages = self.downloads.iter().filter_map(|one| columns::mean(one.selected(selection)));
        columns::share_below(&averages.collect::<Vec<_>>(), 1000.0)
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

    /// `of` of the OCTs that count, by download.
    fn values(&self, selection: Selection, of: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
        let of_one = |one: &Download| one.selected(selection).iter().map(|oct| of(*oct)).collect();
        self.downloads.iter().map(of_one).collect()
    }
}

/// Fewer OCTs that count than this decide nothing.
const FEWEST: usize = 20;

/// The mean of `of` over the OCTs that count of `a`, less that of `b`, with its 95 % confidence interval.
///
/// Download n of both cells has the same seed. Each mean is a ratio of two sums over all downloads: of the values
/// of those that count, and of their number. The interval is that of a difference of such ratios, from the first terms of their
/// Taylor series (Cochran, "Sampling Techniques", 1977, §6.5). The interval is unbounded if one of the cells has fewer than
/// 20 OCTs that count.
pub fn difference(a: &WebCell, b: &WebCell, selection: Selection, of: impl Fn(f64) -> f64) -> Estimate {
    let (a, b) = (a.values(selection, &of), b.values(selection, &of));
    let (Some((mean_a, terms_a)), Some((mean_b, terms_b))) = (ratio(&a), ratio(&b)) else {
        return Estimate::UNKNOWN;
    };
    let terms: Estimate = terms_a.iter().zip(&terms_b).map(|(a, b)| a - b).collect();
    Estimate { mean: mean_a - mean_b, ..terms }
}

/// The mean of the values there are, and how much each item moves it. `None` with fewer than [`FEWEST`] values.
fn ratio(values: &[Vec<f64>]) -> Option<(f64, Vec<f64>)> {
    let count = values.iter().map(Vec::len).sum::<usize>();
    if count < FEWEST {
        return None;
    }
    let mean = values.iter().flatten().sum::<f64>() / count as f64;
    let per_item = count as f64 / values.len() as f64;
    let moves = |item: &Vec<f64>| item.iter().map(|value| value - mean).sum::<f64>() / per_item;
    Some((mean, values.iter().map(moves).collect()))
}

/// The network and the hosts of a cell.
struct Testbed {
    topology: Topology,
    spec: FlowSpec,
}

impl Testbed {
    /// The settings of the setup, with the paper's path where they are the scenario's, and the channel of the fit's parameters.
    fn new(setup: &Setup, fitted: &Parameters, rtt_ms: u64, mechanism: Mechanism) -> Result<Self> {
        let paper = Scenario::load(NAME)?;
        let mut settings = setup.base.settings.clone();
        let (rtt, channel) = (format!("{rtt_ms}ms"), channel(fitted));
        let changed = |key: &str| setup.base.settings.get(key) != paper.settings.get(key);
        let path = PATH.into_iter().chain([("drop", channel.as_str())]).filter(|(key, _)| !changed(key));
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
        let browser = &traffic.sources()[0];
        let fetches = if browser.is_complete() { browser.fetches() } else { vec![] };
        let mss = u64::from(self.spec.server.mss);
        let selected = |selection: Selection| {
            let touches = |fetch: &&Fetch| {
                let bytes = page.objects[fetch.object].bytes;
                watch.touches_tail(selection, fetch, bytes, mss)
            };
            if selection.is_per_object() {
                return octs(fetches.iter().filter(touches));
            }
            let connections: Vec<u64> = fetches.iter().filter(touches).map(|fetch| fetch.connection).collect();
            let on_these = fetches.iter().filter(|fetch| connections.contains(&fetch.connection));
            columns::mean(&octs(on_these)).into_iter().collect()
        };
        Ok(Download {
            oct_ms: columns::mean(&octs(fetches.iter())),
            selected_ms: Selection::ALL.map(selected),
            segments_sent: watch.segments_sent,
            spurious: watch.spurious,
            packets: watch.packets,
            lost: watch.lost,
        })
    }
}

/// Completion times in ms.
fn octs<'a>(fetches: impl Iterator<Item = &'a Fetch>) -> Vec<f64> {
    fetches.filter_map(Fetch::completion_time).map(ms).collect()
}

/// The channel: bad states of this mean length, which lose all packets, and 1.5 % of the packets in all.
fn channel(fitted: &Parameters) -> String {
    let ends = 1.0 / fitted.get("burst");
    format!("gilbert-elliott:{:.7},{ends:.6}", LOSS / (1.0 - LOSS) * ends)
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
        for page in pages.iter().enumerate() {
            for mechanism in MECHANISMS {
                cells.push(run_cell(setup, page, rtt_ms, mechanism, (downloads, threads))?);
            }
        }
    }
    Ok(cells)
}

/// Downloads a page, the `place`-th of a figure, so often and on so many cores.
fn run_cell(
    setup: &Setup,
    (place, page): (usize, &Page),
    rtt_ms: u64,
    mechanism: Mechanism,
    (downloads, threads): (usize, usize),
) -> Result<WebCell> {
    let testbed = Testbed::new(setup, &setup.fitted(FIT.name), rtt_ms, mechanism)?;
    let one = |n: usize| testbed.download(page, setup.seed().wrapping_add(n as u64));
    Ok(WebCell {
        page: place,
        site: page.name.clone(),
        rtt_ms,
        mechanism,
        downloads: in_parallel(downloads, threads, one)?,
    })
}

/// Figure 4f's baseline alone: the share of the newspaper's OCTs at 160 ms that are below 1 s.
fn measure_baseline(setup: &Setup, parameters: &Parameters, downloads: u32) -> Result<Measured> {
    let (newspaper, rtt_ms) = (2, RTTS[1]);
    let page = &sites::pages()?[newspaper];
    let testbed = Testbed::new(setup, parameters, rtt_ms, Mechanism::Baseline)?;
    let one = |n: usize| testbed.download(page, setup.seed().wrapping_add(n as u64));
    let downloads = in_parallel(downloads as usize, cores(), one)?;
    let cell = WebCell { page: newspaper, site: page.name.clone(), rtt_ms, mechanism: Mechanism::Baseline, downloads };
    Ok(vec![("below_1_s", 100.0 * cell.below_1_s(Selection::Object).mean)])
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
        None => (sites::pages()?, true),
    };
    let amount = (downloads, cores());
    let cells = run(setup, &contents, downloads, cores())?;
    let seed = setup.seed();
    let title = format!("Completion time of web objects, {downloads} downloads per page and mechanism, seed {seed}");
    let mut claims = if is_papers { claims::all(&cells)? } else { vec![] };
    if is_papers {
        let full_restart =
            contents.iter().enumerate().map(|page| run_cell(setup, page, 10, Mechanism::TlprFull, amount));
        claims.push(claims::full_restart(&cells, &full_restart.collect::<Result<Vec<_>>>()?));
    }
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
        "OCT of objects with a retransmission among their last four segments",
        "OCT (ms)",
        "share of the objects",
        MECHANISMS.map(Mechanism::name),
    );
    cells.chunks(MECHANISMS.len()).fold(chart.logarithmic().up_to(1.0).steps(), |chart, cells| {
        let WebCell { site, rtt_ms, .. } = &cells[0];
        let letter = cells[0].panel(pages).unwrap_or('-');
        let line = |cell: &WebCell| distribution::curve(&cell.octs(Selection::Object));
        chart.panel(format!("({letter}) {site}, RTT {rtt_ms} ms"), cells.iter().map(line))
    })
}

#[cfg(test)]
mod tests;
