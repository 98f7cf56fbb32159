//! The claims of §4 that the flows of `properties` decide; those of §4.3 in the paper's wording and in an exact one, which is ours.

mod algorithm;

use super::{Check, Moment, Network, OWN_SETTINGS, Property, PropertyCell, Scheme};
use crate::prelude::*;
use recoup_lab::settings;

/// PRR as in the paper.
const PAPER: &[Scheme] = &[Scheme::Prr, Scheme::PrrCubic];

/// PRR with every bound.
const EVERY_BOUND: &[Scheme] =
    &[Scheme::Prr, Scheme::PrrCubic, Scheme::PrrConservative, Scheme::PrrSafe, Scheme::PrrUnlimited];

/// All cells, and the scenario that repeats them.
struct Cells<'a> {
    cells: Grid<'a, PropertyCell>,
    base: &'a Scenario,
}

/// A property's results, added up over the flows of some schemes.
struct Sum<'a> {
    cases: u64,
    broken: u64,
    /// The check with the largest excess, and its cell.
    worst: Option<(&'a PropertyCell, &'a Check)>,
}

impl Sum<'_> {
    fn holds(&self) -> bool {
        self.cases > 0 && self.broken == 0
    }

    /// Our result; `what` names the cases.
    fn ours(&self, what: &str) -> (String, bool) {
        let text = format!("broken in {} of {} {what}", self.broken, self.cases);
        (text, self.holds())
    }
}

impl<'a> Cells<'a> {
    fn of(&self, schemes: &[Scheme]) -> impl Iterator<Item = &'a PropertyCell> {
        self.cells.0.iter().filter(move |cell| schemes.contains(&cell.scheme))
    }

    fn get(&self, network: Network, scheme: Scheme) -> &'a PropertyCell {
        self.cells.at((network, scheme))
    }

    fn sum(&self, schemes: &[Scheme], property: Property) -> Sum<'a> {
        let checks = || self.of(schemes).map(|cell| (cell, cell.check(property)));
        let broken = checks().filter(|(_, check)| check.broken > 0);
        Sum {
            cases: checks().map(|(_, check)| check.cases).sum(),
            broken: checks().map(|(_, check)| check.broken).sum(),
            // The first of several.
            worst: broken.reduce(|a, b| if b.1.excess > a.1.excess { b } else { a }),
        }
    }

    /// The names of the networks on which a property does not always hold.
    fn networks(&self, schemes: &[Scheme], property: Property) -> String {
        let breaks = |cell: &PropertyCell| cell.check(property).broken > 0;
        let on = |network| self.of(schemes).any(|c| c.network == network && breaks(c));
        let names: Vec<&str> = Network::ALL.into_iter().filter(|network| on(*network)).map(Network::name).collect();
        names.join(", ")
    }

    /// Describes the case with the largest excess, with the command that shows it.
    fn counterexample(&self, sum: &Sum<'_>, describe: fn(&Moment) -> String) -> String {
        let Some((cell, moment)) = sum.worst.and_then(|(cell, check)| Some((cell, check.worst?))) else {
            return "we found none".into();
        };
        format!(
            "{} on the network \"{}\", flow {} at {:.6} ms: {}. `{}`",
            cell.scheme.name(),
            cell.network.name(),
            moment.flow,
            moment.at_ms,
            describe(&moment),
            command(self.base, cell, moment.flow)
        )
    }
}

/// The command whose events show a flow.
fn command(base: &Scenario, cell: &PropertyCell, flow: u64) -> String {
    let mut command = format!("recoup run prr --profile {} --flows {} --seed {}", cell.profile, flow + 1, base.seed);
    let usual = Scenario::load(super::NAME).map_or_else(|_| Settings::default(), |s| s.settings);
    let changed = settings::all()
        .map(|setting| setting.key)
        .filter(|key| !OWN_SETTINGS.contains(key) && base.settings.get(key) != usual.get(key))
        .map(|key| (key, base.settings.get(key).unwrap_or_default()));
    let own = super::settings_of(cell.network).map(|(key, value)| (key, value.to_string()));
    for (key, value) in changed.chain(own) {
        if usual.get(key).as_deref() != Some(&value) {
            command += &format!(" --set {key}={value}");
        }
    }
    command + &format!(" --events - | grep '\"flow\":{flow},'")
}

/// All claims, in the order of §4.3.
pub fn all(cells: &[PropertyCell], base: &Scenario) -> Vec<Claim> {
    let c = Cells { cells: Grid::new(cells), base };
    [algorithm::all(&c), clocking(&c), convergence(&c), banking(&c), precision(&c), proportion(&c)]
        .into_iter()
        .flatten()
        .collect()
}

fn clocking(c: &Cells<'_>) -> Vec<Claim> {
    let paced = c.sum(PAPER, Property::Paced);
    let most = |scheme| c.get(Network::Bursts, scheme).most_on_an_ack;
    let linux = c.of(&[Scheme::Linux]).map(|cell| cell.most_on_an_ack).max();
    let beyond = c.sum(&[Scheme::Rfc3517], Property::Clocked);
    vec![
        claim("clocked").result(c.sum(PAPER, Property::Clocked).ours("ACKs")),
        claim("paced").result(paced.ours("ACKs")).fill(&[&c.counterexample(&paced, |m| {
            format!(
                "{} segments on one ACK, with {} delivered and {} sent so far; pipe then equals ssthresh, {}",
                m.burst, m.delivered, m.sent, m.ssthresh
            )
        })]),
        claim!(
            "rfc3517-bursts",
            "{} segments (PRR {}, Linux {}); PRR's bound broken {} times",
            most(Scheme::Rfc3517),
            most(Scheme::Prr),
            most(Scheme::Linux),
            beyond.broken
        )
        .holds(most(Scheme::Rfc3517) > most(Scheme::Prr) && beyond.broken > 0),
        claim!("linux-clocked", "{}", linux.unwrap_or(0)).holds(linux == Some(1)),
    ]
}

fn convergence(c: &Cells<'_>) -> Vec<Claim> {
    let stated = c.sum(PAPER, Property::ConvergesAsStated);
    let late: u64 = c.of(PAPER).map(|cell| cell.not_yet_reported).sum();
    let heavy = [Network::Bursts, Network::Stalls];
    let below = |scheme| heavy.map(|network| c.get(network, scheme).below_ssthresh);
    let of = |scheme| heavy.map(|network| c.get(network, scheme).complete);
    let (linux, prr) = (below(Scheme::Linux), below(Scheme::Prr));
    let more = linux.iter().zip(prr).all(|(linux, prr)| *linux > prr);
    vec![
        claim("converges").result(c.sum(EVERY_BOUND, Property::Converges).ours("recoveries")),
        claim("converges-as-stated").result(stated.ours("recoveries")).fill(&[
            &c.networks(PAPER, Property::ConvergesAsStated),
            &late,
            &stated.broken,
            &(stated.broken - late),
            &c.counterexample(&stated, |m| format!("pipe {} before the last ACK, ssthresh {}", m.pipe, m.ssthresh)),
        ]),
        claim("rfc3517-converges").result(c.sum(&[Scheme::Rfc3517], Property::Refills).ours("recoveries")),
        claim!(
            "linux-below-ssthresh",
            "{} of {} and {} of {} (PRR {} of {} and {} of {})",
            linux[0],
            of(Scheme::Linux)[0],
            linux[1],
            of(Scheme::Linux)[1],
            prr[0],
            of(Scheme::Prr)[0],
            prr[1],
            of(Scheme::Prr)[1]
        )
        .holds(more),
    ]
}

fn banking(c: &Cells<'_>) -> Vec<Claim> {
    let stated = c.sum(PAPER, Property::BanksAsStated);
    let most = |scheme| c.get(Network::Stalls, scheme).most_with_a_write;
    vec![
        claim("banks").result(c.sum(PAPER, Property::Banks).ours("writes")),
        claim("banks-as-stated").result(stated.ours("writes")).fill(&[&c.counterexample(&stated, |m| {
            format!("{} segments, after which {} are sent and {} delivered", m.burst, m.sent, m.delivered)
        })]),
        claim!(
            "linux-banks-nothing",
            "{} (PRR {}, RFC 3517 {})",
            most(Scheme::Linux),
            most(Scheme::Prr),
            most(Scheme::Rfc3517)
        )
        .holds(most(Scheme::Linux) <= 1),
    ]
}

fn precision(c: &Cells<'_>) -> Vec<Claim> {
    let short = |network, scheme| c.get(network, scheme).most_short;
    let [alone, lost] = [Network::Random, Network::AckLoss].map(|n| short(n, Scheme::Linux));
    let prr = short(Network::AckLoss, Scheme::Prr);
    vec![
        claim("precise").result(c.sum(PAPER, Property::Precise).ours("ACKs")),
        claim!("linux-imprecise", "{lost} segments with ACK loss, {alone} without (PRR {prr} with ACK loss)")
            .holds(lost > alone.max(prr)),
    ]
}

fn proportion(c: &Cells<'_>) -> Vec<Claim> {
    let stated = c.sum(PAPER, Property::Twice);
    let others = |scheme| c.sum(&[scheme], Property::TwiceIfDelivering);
    let (rfc, linux) = (others(Scheme::Rfc3517), others(Scheme::Linux));
    vec![
        claim("twice-delivered").result(stated.ours("moments")).fill(&[
            &c.counterexample(&stated, |m| format!("{} sent, {} delivered, {} ACKs", m.sent, m.delivered, m.acks))
        ]),
        claim("twice-delivered-if-each-delivers").result(c.sum(PAPER, Property::TwiceIfDelivering).ours("moments")),
        claim("slow-start-bound").result(c.sum(PAPER, Property::DeliveredAndAcks).ours("moments")),
        claim("conservative-bound")
            .result(c.sum(&[Scheme::PrrConservative], Property::DeliveredAndOne).ours("moments")),
        claim("safe-ack-bound").result(c.sum(&[Scheme::PrrSafe], Property::DeliveredAndSafe).ours("moments")),
        claim!("rfc3517-not-in-proportion", "{} of {} moments", rfc.broken, rfc.cases).holds(rfc.broken > 0),
        claim!("linux-not-in-proportion", "{} of {} moments", linux.broken, linux.cases).holds(linux.broken > 0),
    ]
}
