//! The claims of §4 that the flows of `properties` decide; those of §4.3 in the paper's wording and in an exact one, which is ours.

mod algorithm;

use super::{Check, Moment, Network, OWN_SETTINGS, Property, PropertyCell, Scheme};
use crate::claims::{Claim, claim, of_rfc, ours};
use crate::grid::Grid;
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::{self, Settings};

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
        let cells = self.cells.0.iter();
        cells.filter(move |cell| schemes.contains(&cell.scheme))
    }

    fn get(&self, network: Network, scheme: Scheme) -> &'a PropertyCell {
        self.cells.at((network, scheme))
    }

    fn sum(&self, schemes: &[Scheme], property: Property) -> Sum<'a> {
        let checks = || {
            let cells = self.of(schemes);
            cells.map(|cell| (cell, cell.check(property)))
        };
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
    let keys = settings::all().map(|setting| setting.key);
    let changed = keys.filter(|key| !OWN_SETTINGS.contains(key) && base.settings.get(key) != usual.get(key));
    let changed = changed.map(|key| (key, base.settings.get(key).unwrap_or_default()));
    let own = super::settings_of(cell.network);
    let own = own.map(|(key, value)| (key, value.to_string()));
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
    let parts = [algorithm::all(&c), clocking(&c), convergence(&c), banking(&c), precision(&c), proportion(&c)];
    parts.into_iter().flatten().collect()
}

/// A claim that is expected to fail, and the reason.
fn fails(claim: Claim, reason: String) -> Claim {
    Claim { note: Some(reason), ..claim }
}

fn clocking(c: &Cells<'_>) -> Vec<Claim> {
    let paced = c.sum(PAPER, Property::Paced);
    let most = |scheme| c.get(Network::Bursts, scheme).most_on_an_ack;
    let linux = c.of(&[Scheme::Linux]).map(|cell| cell.most_on_an_ack).max();
    let beyond = c.sum(&[Scheme::Rfc3517], Property::Clocked);
    vec![
        claim(
            "clocked",
            "4.3 (1)",
            "PRR maintains ACK clocking: an ACK releases at most the segments banked or the segments it delivers, plus one",
            "segments sent on each ACK of recovery ≤ max(prr_delivered − prr_out, DeliveredData) + 1; Reno and CUBIC",
            c.sum(PAPER, Property::Clocked).ours("ACKs"),
        ),
        fails(
            ours(claim(
                "paced",
                "4.3 (1)",
                "In a stricter sense of ACK clocking than the paper's: an ACK releases at most the segments it delivers, plus one",
                "segments sent on each ACK of recovery ≤ DeliveredData + 1; Reno and CUBIC",
                paced.ours("ACKs"),
            )),
            format!(
                "segments that the proportional part holds back count as banked. PRR sends them in one burst when further losses bring pipe below ssthresh, although the application does not stall: {}",
                c.counterexample(&paced, |m| format!(
                    "{} segments on one ACK, with {} delivered and {} sent so far; pipe then equals ssthresh, {}",
                    m.burst, m.delivered, m.sent, m.ssthresh
                ))
            ),
        ),
        claim(
            "rfc3517-bursts",
            "4.3 (1)",
            "Under heavy losses RFC 3517 sends bursts as large as ssthresh − pipe",
            "with bursts of losses: its largest burst on one ACK exceeds PRR's, and it breaks PRR's bound",
            (
                format!(
                    "{} segments (PRR {}, Linux {}); PRR's bound broken {} times",
                    most(Scheme::Rfc3517),
                    most(Scheme::Prr),
                    most(Scheme::Linux),
                    beyond.broken
                ),
                most(Scheme::Rfc3517) > most(Scheme::Prr) && beyond.broken > 0,
            ),
        ),
        claim(
            "linux-clocked",
            "4.3 (1)",
            "Linux maintains ACK clocking by reducing cwnd to pipe + 1",
            "it sends at most one segment on any ACK of recovery",
            (format!("{}", linux.unwrap_or(0)), linux == Some(1)),
        ),
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
        ours(claim(
            "converges",
            "4.3 (2)",
            "With few losses PRR converges to exactly ssthresh, with every reduction bound",
            "U is the part of the flight that is not delivered before recovery. If losses ≤ U − ssthresh, U ≤ RecoverFS, data are unlimited, and all other segments of U are reported before the ACK that ends recovery, without duplicates: pipe = cwnd = ssthresh before that ACK",
            c.sum(EVERY_BOUND, Property::Converges).ours("recoveries"),
        )),
        fails(
            claim(
                "converges-as-stated",
                "4.3 (2)",
                "If losses ≤ RecoverFS − ssthresh, PRR converges to exactly ssthresh",
                "RecoverFS is the flight size at the beginning of recovery, data are unlimited: pipe = cwnd = ssthresh before the ACK that ends recovery; Reno and CUBIC",
                stated.ours("recoveries"),
            ),
            format!(
                "networks with failures: {}. Pipe is above ssthresh then, and cwnd becomes ssthresh all the same. In {} of {} recoveries the last ACK is the first to report some segments: PRR converges only after the whole flight is delivered, and it does not process the ACK that ends recovery. In the other {} the ACK that begins recovery moves snd_una, because earlier ACKs were lost. Algorithm 2 counts this data in prr_delivered and not in RecoverFS = snd.nxt − snd.una, and sends more than ssthresh; RFC 9937 §6.1 adds it to RecoverFS. {}",
                c.networks(PAPER, Property::ConvergesAsStated),
                late,
                stated.broken,
                stated.broken - late,
                c.counterexample(&stated, |m| format!("pipe {} before the last ACK, ssthresh {}", m.pipe, m.ssthresh))
            ),
        ),
        claim(
            "rfc3517-converges",
            "4.3 (2)",
            "With enough new data RFC 3517 fills pipe to ssthresh regardless of the amount of loss",
            "data are unlimited: pipe ≥ ssthresh before the ACK that ends recovery",
            c.sum(&[Scheme::Rfc3517], Property::Refills).ours("recoveries"),
        ),
        claim(
            "linux-below-ssthresh",
            "4.3 (2)",
            "Linux does not converge when losses are heavy or the application runs out of data",
            "with bursts of losses and with application stalls, Linux has more recoveries than PRR that end with cwnd below ssthresh",
            (
                format!(
                    "{} of {} and {} of {} (PRR {} of {} and {} of {})",
                    linux[0],
                    of(Scheme::Linux)[0],
                    linux[1],
                    of(Scheme::Linux)[1],
                    prr[0],
                    of(Scheme::Prr)[0],
                    prr[1],
                    of(Scheme::Prr)[1]
                ),
                more,
            ),
        ),
    ]
}

fn banking(c: &Cells<'_>) -> Vec<Claim> {
    let stated = c.sum(PAPER, Property::BanksAsStated);
    let most = |scheme| c.get(Network::Stalls, scheme).most_with_a_write;
    vec![
        ours(claim(
            "banks",
            "4.3 (3)",
            "After a stall in recovery PRR sends a burst of at most the segments banked or the segments the last ACK delivered, plus one",
            "segments sent on each write in recovery ≤ max(prr_delivered − prr_out, DeliveredData of the last ACK) + 1; Reno and CUBIC",
            c.sum(PAPER, Property::Banks).ours("writes"),
        )),
        fails(
            claim(
                "banks-as-stated",
                "4.3 (3)",
                "After a stall in recovery PRR sends a burst of at most prr_delivered − prr_out + 1",
                "the burst on each write in recovery is within the bound; Reno and CUBIC",
                stated.ours("writes"),
            ),
            format!(
                "if slow start sent more than was delivered before the stall, prr_out is above prr_delivered. PRR still sends the segments that the last ACK delivered, plus one: {}",
                c.counterexample(&stated, |m| format!(
                    "{} segments, after which {} are sent and {} delivered",
                    m.burst, m.sent, m.delivered
                ))
            ),
        ),
        claim(
            "linux-banks-nothing",
            "4.3 (3)",
            "Linux banks nothing, because its cwnd tracks pipe",
            "it sends at most one segment on a write in recovery",
            (
                format!("{} (PRR {}, RFC 3517 {})", most(Scheme::Linux), most(Scheme::Prr), most(Scheme::Rfc3517)),
                most(Scheme::Linux) <= 1,
            ),
        ),
    ]
}

fn precision(c: &Cells<'_>) -> Vec<Claim> {
    let short = |network, scheme| c.get(network, scheme).most_short;
    let [alone, lost] = [Network::Random, Network::AckLoss].map(|n| short(n, Scheme::Linux));
    let prr = short(Network::AckLoss, Scheme::Prr);
    vec![
        claim(
            "precise",
            "4.3 (4)",
            "PRR sends the exact number of segments under ACK loss, ACK reordering and stretch ACKs",
            "with pipe above ssthresh and data to send, after each ACK prr_out = ⌈prr_delivered · ssthresh / RecoverFS⌉ (or unchanged if already larger), whichever ACKs reported the deliveries; Reno and CUBIC",
            c.sum(PAPER, Property::Precise).ours("ACKs"),
        ),
        claim(
            "linux-imprecise",
            "4.3 (4)",
            "Linux relies on the number of ACKs and fails to send the right number when some are lost",
            "its largest shortfall from that share is larger with ACK loss than without, and larger than PRR's",
            (
                format!("{lost} segments with ACK loss, {alone} without (PRR {prr} with ACK loss)"),
                lost > alone.max(prr),
            ),
        ),
    ]
}

fn proportion(c: &Cells<'_>) -> Vec<Claim> {
    let stated = c.sum(PAPER, Property::Twice);
    let others = |scheme| c.sum(&[scheme], Property::TwiceIfDelivering);
    let (rfc, linux) = (others(Scheme::Rfc3517), others(Scheme::Linux));
    vec![
        fails(
            claim(
                "twice-delivered",
                "4.3 (4)",
                "PRR sends in proportion to the segments delivered in recovery: prr_out ≤ 2 · prr_delivered",
                "after each ACK and write in recovery; Reno and CUBIC",
                stated.ours("moments"),
            ),
            format!(
                "an ACK that delivers nothing may also release a segment: the ACK that begins recovery always does, and in slow start any other may. {}",
                c.counterexample(&stated, |m| format!(
                    "{} sent, {} delivered, {} ACKs",
                    m.sent, m.delivered, m.acks
                ))
            ),
        ),
        ours(claim(
            "twice-delivered-if-each-delivers",
            "4.3 (4)",
            "As long as each ACK of a recovery delivers something, prr_out ≤ 2 · prr_delivered",
            "after each ACK and write in recovery; Reno and CUBIC",
            c.sum(PAPER, Property::TwiceIfDelivering).ours("moments"),
        )),
        of_rfc(claim(
            "slow-start-bound",
            "RFC 6937 §3",
            "Slow-start reduction bound: prr_out ≤ prr_delivered + ACKs processed",
            "after each ACK and write in recovery; Reno and CUBIC",
            c.sum(PAPER, Property::DeliveredAndAcks).ours("moments"),
        )),
        of_rfc(claim(
            "conservative-bound",
            "RFC 6937 §3",
            "Conservative reduction bound: prr_out ≤ prr_delivered + 1",
            "after each ACK and write in recovery",
            c.sum(&[Scheme::PrrConservative], Property::DeliveredAndOne)
                .ours("moments"),
        )),
        of_rfc(claim(
            "safe-ack-bound",
            "RFC 9937 §6.2",
            "SafeACK: prr_out ≤ prr_delivered + ACKs that advanced snd_una without new losses + 1",
            "after each ACK and write in recovery",
            c.sum(&[Scheme::PrrSafe], Property::DeliveredAndSafe)
                .ours("moments"),
        )),
        claim(
            "rfc3517-not-in-proportion",
            "4.3 (4)",
            "RFC 3517 does not send in proportion to the segments delivered",
            "at some moment more than twice the delivered segments are sent, although every ACK delivered something",
            (
                format!("{} of {} moments", rfc.broken, rfc.cases),
                rfc.broken > 0,
            ),
        ),
        fails(
            claim(
                "linux-not-in-proportion",
                "4.3 (4)",
                "Linux does not send in proportion to the segments delivered",
                "at some moment more than twice the delivered segments are sent, although every ACK delivered something",
                (
                    format!("{} of {} moments", linux.broken, linux.cases),
                    linux.broken > 0,
                ),
            ),
            "with cwnd ≤ pipe + 1, an ACK releases at most one segment, so Linux never sends more than is delivered while each ACK delivers something".into(),
        ),
    ]
}
