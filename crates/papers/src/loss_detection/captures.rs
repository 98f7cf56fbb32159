//! Four populations in place of the study's four traces (§III, Table II).
//!
//! | trace | the study | here: RTT, rate (medians) |
//! | --- | --- | --- |
//! | jap | a link from Japan to the United States | 180 ms, 1 Mbit/s; some paths pause |
//! | unc | the link of a campus to the Internet | fitted, 4 Mbit/s |
//! | ibi | the servers of a popular site | 80 ms, 4 Mbit/s |
//! | wls | 600 wireless access points of a campus | 40 ms, 2 Mbit/s; some paths pause |
//!
//! The study gives no RTTs and no rates: they are our choice. Losses, pauses, reordering, the sizes of responses and the RTT
//! of the campus, where most senders were, are fitted to what the study prints of its unmodified senders ([`FIT`]). Every
//! receiver delays ACKs, as the systems of that time did.

use crate::population::{LogNormal, Networks, Population, Receivers, Traffic};
use crate::prelude::*;

/// The fit of these populations.
pub const FIT: &str = "loss-detection-traces";

/// A population in place of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Capture {
    /// The study's name of the trace.
    pub trace: &'static str,
    /// Its name in legends.
    pub title: &'static str,
    /// Its RTTs; their median is a parameter.
    rtt: LogNormal,
    rate: LogNormal,
    /// Whether the share of its paths that pause is fitted; otherwise none does.
    pauses: bool,
    /// The parameters of its own: the median RTT and loss rate, the lost ACKs for each lost packet, and the median response.
    median_rtt: &'static str,
    loss: &'static str,
    ack_loss: &'static str,
    response: &'static str,
    /// The deviation of the logarithm of its responses.
    spread: f64,
    /// The mean number of requests on a connection.
    exchanges: f64,
}

const fn lognormal(median: f64, sigma: f64, least: f64, most: f64) -> LogNormal {
    LogNormal { median, sigma, least, most }
}

/// In the order of Table II.
pub const CAPTURES: [Capture; 4] = [
    Capture {
        trace: "jap",
        title: "jap: trans-Pacific",
        rtt: lognormal(180.0, 0.4, 100.0, 1000.0),
        rate: lognormal(1.0, 1.0, 0.128, 20.0),
        pauses: true,
        median_rtt: "rtt_jap",
        loss: "loss",
        ack_loss: "ack_loss_jap",
        response: "response_jap",
        spread: 1.4,
        exchanges: 1.5,
    },
    Capture {
        trace: "unc",
        title: "unc: campus",
        rtt: Networks::WIDE_AREA.rtt,
        rate: Networks::WIDE_AREA.rate,
        pauses: false,
        median_rtt: "rtt_unc",
        loss: "loss",
        ack_loss: "ack_loss",
        response: "response_unc",
        spread: 1.8,
        exchanges: 2.0,
    },
    Capture {
        trace: "ibi",
        title: "ibi: web servers",
        rtt: lognormal(80.0, 0.7, 5.0, 1000.0),
        rate: Networks::WIDE_AREA.rate,
        pauses: false,
        median_rtt: "rtt_ibi",
        loss: "loss_ibi",
        ack_loss: "ack_loss",
        response: "response_ibi",
        spread: 2.0,
        exchanges: 1.3,
    },
    Capture {
        trace: "wls",
        title: "wls: wireless",
        rtt: lognormal(40.0, 0.9, 5.0, 1000.0),
        rate: lognormal(2.0, 0.7, 0.128, 20.0),
        pauses: true,
        median_rtt: "rtt_wls",
        loss: "loss",
        ack_loss: "ack_loss",
        response: "response_wls",
        spread: 1.8,
        exchanges: 1.5,
    },
];

/// The share of packets that other packets overtake, on the paths that reorder, but for ibi.
const REORDERED: f64 = 0.05;

/// The receive buffer of Windows 2000 and XP over Ethernet, in bytes: twelve segments ("Windows 2000 TCP/IP", Microsoft).
const WINDOWS_BUFFER: u64 = 17_520;

impl Capture {
    /// So many flows of it, with these values of the fitted parameters. The populations have different seeds, so that no
    /// flow is in two of them.
    pub fn population(&self, fitted: &Parameters, flows: u64, seed: u64) -> Population {
        let place = CAPTURES.iter().position(|one| one.trace == self.trace);
        let usual = Networks::WIDE_AREA;
        let reordered = if self.trace == "ibi" { fitted.get("reordered_ibi") } else { REORDERED };
        Population {
            flows,
            seed: seed.wrapping_add(1_000_003 * place.unwrap_or_default() as u64),
            networks: Networks {
                rtt: LogNormal { median: fitted.get(self.median_rtt), ..self.rtt },
                rate: self.rate,
                loss: LogNormal { median: fitted.get(self.loss), ..usual.loss },
                burst: fitted.get("burst"),
                ack_loss: fitted.get(self.ack_loss),
                reordered,
                reordering_delay: LogNormal { median: fitted.get("reordering_delay"), ..usual.reordering_delay },
                pausing: if self.pauses { fitted.get("pausing") } else { 0.0 },
                pause_interval: 4000.0,
                pause: LogNormal { median: fitted.get("pause"), ..usual.pause },
                ..usual
            },
            traffic: Traffic {
                exchanges: self.exchanges,
                request: Traffic::SHORT_REQUEST,
                response: lognormal(fitted.get(self.response), self.spread, 200.0, 5_000_000.0),
                think_time: Traffic::WEB.think_time,
            },
            receivers: Receivers {
                sack: fitted.get("sack"),
                delayed_acks: fitted.get("delayed_acks"),
                buffer: WINDOWS_BUFFER,
                ..Receivers::MIXED
            },
            users: None,
        }
    }
}

/// Notes whether the path loses data of the server.
#[derive(Debug, Default)]
struct Losses(bool);

impl Observer for Losses {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        let is_data = direction == Direction::Down && packet.segment.payload_len > 0;
        self.0 |= is_data && matches!(point, Point::Dropped(_));
    }
}

/// The first flows from number `first` on which the path loses data of a server of this profile: as many as are wanted, or
/// those of the first [`FLOWS_FOR_A_LOSSY_ONE`] flows for each.
///
/// # Errors
/// If a path cannot be built. Those of these populations can.
pub fn lossy_flows(population: &Population, sender: &Profile, first: u64, wanted: u64) -> Result<Vec<u64>> {
    let mut found = vec![];
    let most = first + wanted * FLOWS_FOR_A_LOSSY_ONE;
    let mut next = first;
    while (found.len() as u64) < wanted && next < most {
        let pieces = in_parallel(PIECES, cores(), |piece| {
            let from = next + piece as u64 * PIECE;
            let mut lossy = vec![];
            for number in (from..from + PIECE).take_while(|number| *number < most) {
                let mut losses = Losses::default();
                population.bench(number, |flow| flow.spec(sender))?.observe(number, &mut losses);
                if losses.0 {
                    lossy.push(number);
                }
            }
            Ok::<_, ExperimentError>(lossy)
        })?;
        found.extend(pieces.into_iter().flatten());
        next += PIECES as u64 * PIECE;
    }
    found.truncate(wanted as usize);
    Ok(found)
}

/// After so many flows for each one that is wanted the search for lossy ones ends.
const FLOWS_FOR_A_LOSSY_ONE: u64 = 60;

/// Flows simulated in one piece of work, and such pieces at once.
const PIECE: u64 = 32;
const PIECES: usize = 8;
