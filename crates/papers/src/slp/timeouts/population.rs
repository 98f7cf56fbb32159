//! The population, captured at both ends, studied, and its flows with SYN loss run again.

use super::SENDER;
use crate::population::{FLOWS_PER_CAPTURE, LogNormal, Networks, Population, Receivers, Traffic};
use recoup_lab::run::{cores, in_parallel, simulation};
use recoup_lab::settings::SettingsError;
use recoup_lab::study::slp::study_packets;
use recoup_recovery::slp::{Kind, Likelihoods, SlpRules};
use recoup_recovery::{Event, Profile};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::flow::Host;
use recoup_trace::analyze::Settings;
use recoup_trace::study::slp::{Capture, Report, SynLoss};
use recoup_units::{Direction, FlowId, Instant, Ppm};
use recoup_wire::Flags;
use std::ops::Range;

/// Paths of a backbone: no link pauses, and both directions lose packets alike. The paper measured a mean
/// loss rate of 2 % in the CAIDA captures (§II-C1), and so the mean is 2 % here. The other numbers are our
/// choice.
const NETWORKS: Networks = Networks {
    rtt: LogNormal {
        median: 60.0,
        sigma: 0.7,
        least: 5.0,
        most: 500.0,
    },
    rate: LogNormal {
        median: 20.0,
        sigma: 1.0,
        least: 1.0,
        most: 1000.0,
    },
    queue: LogNormal {
        median: 100.0,
        sigma: 0.7,
        least: 20.0,
        most: 1000.0,
    },
    loss: LogNormal {
        median: 0.015,
        sigma: 0.8,
        least: 0.001,
        most: 0.1,
    },
    ack_loss: 1.0,
    bursty: 0.5,
    burst: 1.7,
    reordering: 0.15,
    reordered: 0.01,
    reordering_delay: LogNormal {
        median: 8.0,
        sigma: 0.8,
        least: 1.0,
        most: 200.0,
    },
    pausing: 0.0,
    pause_interval: 1.0,
    pause: LogNormal {
        median: 1.0,
        sigma: 0.0,
        least: 1.0,
        most: 1.0,
    },
    pausing_rate: 1.0,
};

/// Requests and responses of the web: few connections have more than 200 packets (§II-B3).
const TRAFFIC: Traffic = Traffic {
    exchanges: 2.0,
    response: LogNormal {
        median: 12_000.0,
        sigma: 1.5,
        least: 200.0,
        most: 2_000_000.0,
    },
    think_time: LogNormal {
        median: 500.0,
        sigma: 1.2,
        least: 10.0,
        most: 20_000.0,
    },
};

/// Hosts of the 2010s, most of which offer SACK.
const RECEIVERS: Receivers = Receivers {
    sack: 0.95,
    timestamps: 0.5,
    delayed_acks: 0.8,
    buffer: 1 << 20,
};

/// The population and what its captures show.
#[derive(Clone, Debug)]
pub struct Studied {
    /// Flows simulated.
    pub flows: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// The paper's analysis.
    pub report: Report,
    /// The flows with SYN loss, in order.
    pub reruns: Vec<RerunFlow>,
}

/// A flow with SYN loss. Times last from its first SYN to the last packet with data or FIN, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RerunFlow {
    /// Its number in the population.
    pub flow: u64,
    /// Without SLP.
    pub without_s: f64,
    /// With SLP, as the paper computes it.
    pub computed_s: f64,
    /// Run again with duplicated SYNs; `None` if nothing was exchanged.
    pub rerun_s: Option<f64>,
}

/// Simulates, captures and studies so many flows.
///
/// # Errors
/// If a path cannot be built. Those of this population can.
pub fn study(flows: u64, seed: u64) -> Result<Studied, SettingsError> {
    let population = Population {
        flows,
        seed,
        networks: NETWORKS,
        traffic: TRAFFIC,
        receivers: RECEIVERS,
    };
    let sender: Profile = SENDER.parse().expect("a profile that exists");
    let parts = usize::try_from(flows.div_ceil(FLOWS_PER_CAPTURE)).unwrap_or(usize::MAX);
    let parts = in_parallel(parts, cores(), |i| {
        let first = i as u64 * FLOWS_PER_CAPTURE;
        let flows = first..(first + FLOWS_PER_CAPTURE).min(population.flows);
        part(&population, &sender, flows)
    })?;
    let mut capture = Capture::default();
    let mut reruns = Vec::new();
    for (part, more) in parts {
        capture.merge(part);
        reruns.extend(more);
    }
    Ok(Studied {
        flows,
        seed,
        report: Report::new(&capture),
        reruns,
    })
}

fn part(
    population: &Population,
    sender: &Profile,
    flows: Range<u64>,
) -> Result<(Capture, Vec<RerunFlow>), SettingsError> {
    let settings = Settings {
        profile: Some(sender.clone()),
        threads: 0,
        ..Settings::default()
    };
    let captures = population.capture_both_ends(sender, flows.clone())?;
    let mut capture = study_packets(&captures.at_clients, &settings);
    let at_servers = study_packets(&captures.at_servers, &settings);
    let sent = |direction: Direction| {
        move |capture: &Capture| {
            let sent = capture.samples.iter();
            sent.filter(move |sample| sample.direction == direction)
                .copied()
                .collect::<Vec<_>>()
        }
    };
    capture.samples = [
        sent(Direction::Up)(&capture),
        sent(Direction::Down)(&at_servers),
    ]
    .concat();
    let [_, down] = at_servers.packets;
    capture.packets[Direction::Down as usize] = down;
    capture.unseen = 0;
    let mut reruns = Vec::new();
    for loss in &capture.syn_losses {
        reruns.extend(rerun(population, sender, flows.start, loss)?);
    }
    Ok((capture, reruns))
}

/// Runs a flow with SYN loss again. Connections have the order of their flows, because each flow begins
/// after the one before.
fn rerun(
    population: &Population,
    sender: &Profile,
    first: u64,
    loss: &SynLoss,
) -> Result<Option<RerunFlow>, SettingsError> {
    let Some(without) = loss.completion else {
        return Ok(None);
    };
    let number = first + loss.connection;
    let flow = population.flow(number);
    let mut spec = flow.spec(sender);
    let mut rules = SlpRules::PAPER;
    rules.likelihoods = Likelihoods::default().with(Kind::Syn, Ppm::ONE);
    spec.client.mechanisms.slp = Some(rules);
    let mut seen = Completion::default();
    simulation(&flow.path)?.run(&spec, population.seed, FlowId(number), &mut seen);
    let ended = seen.begun.zip(seen.last_data);
    Ok(Some(RerunFlow {
        flow: number,
        without_s: without.as_secs_f64(),
        computed_s: without.saturating_sub(loss.wait).as_secs_f64(),
        rerun_s: ended.map(|(begun, end)| end.since(begun).as_secs_f64()),
    }))
}

/// The packets that pass a client.
#[derive(Debug, Default)]
struct Completion {
    begun: Option<Instant>,
    last_data: Option<Instant>,
}

impl Observer for Completion {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let at_client = match direction {
            Direction::Up => Point::Sent,
            Direction::Down => Point::Arrived,
        };
        if point != at_client {
            return;
        }
        self.begun.get_or_insert(now);
        let segment = &packet.segment;
        if segment.payload_len > 0 || segment.flags.contains(Flags::FIN) {
            self.last_data = Some(now);
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}
