//! What §4.3 says, in its words and exactly.

use super::{Cell, Check, Moment, Network, OWN_SETTINGS, Property, Scheme};
use crate::claims::{Claim, Verdict, claim};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::{self, Settings};

/// PRR as the paper has it.
const PAPER: &[Scheme] = &[Scheme::Prr, Scheme::PrrCubic];

/// PRR with every bound.
const EVERY_BOUND: &[Scheme] = &[
    Scheme::Prr,
    Scheme::PrrCubic,
    Scheme::PrrConservative,
    Scheme::PrrSafe,
    Scheme::PrrUnlimited,
];

/// All cells, and what repeats them.
struct Cells<'a> {
    cells: &'a [Cell],
    base: &'a Scenario,
}

/// A property over the flows of some schemes.
struct Sum<'a> {
    cases: u64,
    broken: u64,
    /// The check farthest from holding, and its cell.
    worst: Option<(&'a Cell, &'a Check)>,
}

impl Sum<'_> {
    fn holds(&self) -> bool {
        self.cases > 0 && self.broken == 0
    }

    /// What came out, the cases being so many `what`.
    fn ours(&self, what: &str) -> (String, bool) {
        let text = format!("broken in {} of {} {what}", self.broken, self.cases);
        (text, self.holds())
    }
}

impl<'a> Cells<'a> {
    fn of(&self, schemes: &[Scheme]) -> impl Iterator<Item = &'a Cell> {
        let cells = self.cells.iter();
        cells.filter(move |cell| schemes.contains(&cell.scheme))
    }

    fn get(&self, network: Network, scheme: Scheme) -> &'a Cell {
        let is_it = |cell: &&Cell| (cell.network, cell.scheme) == (network, scheme);
        let found = self.cells.iter().find(is_it);
        found.expect("a cell for each scheme on each network")
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

    /// The moment farthest from holding, told, with the command that shows it.
    fn counterexample(&self, sum: &Sum<'_>, tell: fn(&Moment) -> String) -> String {
        let Some((cell, moment)) = sum
            .worst
            .and_then(|(cell, check)| Some((cell, check.worst?)))
        else {
            return "none was found".into();
        };
        format!(
            "{} on the network \"{}\", flow {} at {:.6} ms: {}. `{}`",
            cell.scheme.name(),
            cell.network.name(),
            moment.flow,
            moment.at_ms,
            tell(&moment),
            command(self.base, cell, moment.flow)
        )
    }
}

/// The command whose events show a flow.
fn command(base: &Scenario, cell: &Cell, flow: u64) -> String {
    let mut command = format!(
        "recoup run prr --profile {} --flows {} --seed {}",
        cell.profile,
        flow + 1,
        base.seed
    );
    let usual = Scenario::load(super::NAME).map_or_else(|_| Settings::default(), |s| s.settings);
    let keys = settings::all().map(|setting| setting.key);
    let changed =
        keys.filter(|key| !OWN_SETTINGS.contains(key) && base.settings.get(key) != usual.get(key));
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
pub fn all(cells: &[Cell], base: &Scenario) -> Vec<Claim> {
    let c = Cells { cells, base };
    let parts = [
        clocking(&c),
        convergence(&c),
        banking(&c),
        precision(&c),
        proportion(&c),
    ];
    parts.into_iter().flatten().collect()
}

/// A claim known to fail, and why.
fn fails(claim: Claim, why: String) -> Claim {
    Claim {
        known: Verdict::Fails,
        note: Some(why),
        ..claim
    }
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
            "PRR maintains ACK clocking: an ACK releases no more than is banked or than it delivers, and one",
            "segments sent on each ACK of recovery ≤ max(prr_delivered − prr_out, DeliveredData) + 1; Reno and CUBIC",
            c.sum(PAPER, Property::Clocked).ours("ACKs"),
        ),
        fails(
            claim(
                "paced",
                "4.3 (1)",
                "PRR maintains ACK clocking even for large bursts of losses: no ACK releases more than it delivers and one",
                "segments sent on each ACK of recovery ≤ DeliveredData + 1; Reno and CUBIC",
                paced.ours("ACKs"),
            ),
            format!(
                "what the proportional part holds back counts as banked, and goes at once when further losses bring pipe below ssthresh, without any stall of the application: {}",
                c.counterexample(&paced, |m| format!(
                    "{} segments on one ACK, with {} delivered and {} sent until then and pipe brought to ssthresh {}",
                    m.burst,
                    m.delivered,
                    m.sent,
                    m.ssthresh
                ))
            ),
        ),
        claim(
            "rfc3517-bursts",
            "4.3 (1)",
            "Under heavy losses RFC 3517 sends bursts as large as ssthresh − pipe",
            "where losses come in bursts: the most it sends on one ACK, more than PRR; it breaks PRR's bound",
            (
                format!(
                    "{} segments (PRR {}, Linux {}); beyond PRR's bound {} times",
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
            "Linux maintains ACK clocking, by bringing the window down to pipe + 1",
            "the most segments it sends on any ACK of recovery: 1",
            (format!("{}", linux.unwrap_or(0)), linux == Some(1)),
        ),
    ]
}

fn convergence(c: &Cells<'_>) -> Vec<Claim> {
    let stated = c.sum(PAPER, Property::ConvergesAsStated);
    let heavy = [Network::Bursts, Network::Stalls];
    let below = |scheme| heavy.map(|network| c.get(network, scheme).below_ssthresh);
    let of = |scheme| heavy.map(|network| c.get(network, scheme).complete);
    let (linux, prr) = (below(Scheme::Linux), below(Scheme::Prr));
    let more = linux.iter().zip(prr).all(|(linux, prr)| *linux > prr);
    vec![
        claim(
            "converges",
            "4.3 (2)",
            "With few losses PRR converges to exactly ssthresh, whatever its bound",
            "losses ≤ window − ssthresh, the window used up and data unlimited, the survivors reported before the ACK that ends recovery, none twice: before it pipe = cwnd = ssthresh",
            c.sum(EVERY_BOUND, Property::Converges).ours("recoveries"),
        ),
        fails(
            claim(
                "converges-as-stated",
                "4.3 (2)",
                "If losses ≤ RecoverFS − ssthresh, PRR converges to exactly ssthresh",
                "RecoverFS the flight size as recovery begins, data unlimited: before the ACK that ends recovery pipe = cwnd = ssthresh; Reno and CUBIC",
                stated.ours("recoveries"),
            ),
            format!(
                "it takes the deliveries of the whole flight, and the ACK that ends recovery is no more PRR's: where it reports several at once, pipe was above ssthresh before it (the window is set to ssthresh all the same). {}",
                c.counterexample(&stated, |m| format!(
                    "pipe {} before the last ACK, ssthresh {}",
                    m.pipe, m.ssthresh
                ))
            ),
        ),
        claim(
            "rfc3517-converges",
            "4.3 (2)",
            "With enough new data RFC 3517 fills pipe to ssthresh regardless of the amount of loss",
            "data unlimited: before the ACK that ends recovery pipe ≥ ssthresh",
            c.sum(&[Scheme::Rfc3517], Property::Refills)
                .ours("recoveries"),
        ),
        claim(
            "linux-below-ssthresh",
            "4.3 (2)",
            "Linux does not converge when losses are heavy or the application runs out of data",
            "recoveries that end with the window below ssthresh, where losses come in bursts and where the application stalls: more than PRR's",
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
        claim(
            "banks",
            "4.3 (3)",
            "After a stall in recovery PRR sends a burst of at most what is banked or what the last ACK delivered, and one",
            "segments sent with each write in recovery ≤ max(prr_delivered − prr_out, the last DeliveredData) + 1; Reno and CUBIC",
            c.sum(PAPER, Property::Banks).ours("writes"),
        ),
        fails(
            claim(
                "banks-as-stated",
                "4.3 (3)",
                "After a stall in recovery PRR sends a burst of at most prr_delivered − prr_out + 1",
                "segments sent with each write in recovery; Reno and CUBIC",
                stated.ours("writes"),
            ),
            format!(
                "where slow start had run ahead of the deliveries before the stall, prr_out is above prr_delivered, and what the last ACK delivered goes all the same, and one: {}",
                c.counterexample(&stated, |m| format!(
                    "{} segments, which makes {} sent for {} delivered",
                    m.burst, m.sent, m.delivered
                ))
            ),
        ),
        claim(
            "linux-banks-nothing",
            "4.3 (3)",
            "Linux banks nothing: its window tracks pipe",
            "the most segments it sends with a write in recovery: 1",
            (
                format!(
                    "{} (PRR {}, RFC 3517 {})",
                    most(Scheme::Linux),
                    most(Scheme::Prr),
                    most(Scheme::Rfc3517)
                ),
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
            "with pipe above ssthresh and data to send, each ACK leaves prr_out = ⌈prr_delivered · ssthresh / RecoverFS⌉ (or as it was, if more), whatever ACKs reported the deliveries; Reno and CUBIC",
            c.sum(PAPER, Property::Precise).ours("ACKs"),
        ),
        claim(
            "linux-imprecise",
            "4.3 (4)",
            "Linux relies on the number of ACKs and fails to send the right number when some are lost",
            "the most it falls short of that share: more with ACKs lost than without",
            (
                format!("{lost} segments with ACKs lost, {alone} without (PRR {prr} with)"),
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
                "What PRR sends in recovery is in proportion to what is delivered: prr_out ≤ 2 · prr_delivered",
                "after each ACK and write in recovery; Reno and CUBIC",
                stated.ours("moments"),
            ),
            format!(
                "an ACK that delivers nothing may release a segment too: the one that begins recovery always does, and in slow start any other. {}",
                c.counterexample(&stated, |m| format!(
                    "{} sent, {} delivered, {} ACKs",
                    m.sent, m.delivered, m.acks
                ))
            ),
        ),
        claim(
            "twice-delivered-if-each-delivers",
            "4.3 (4)",
            "As long as each ACK of a recovery delivers something, prr_out ≤ 2 · prr_delivered",
            "after each ACK and write in recovery; Reno and CUBIC",
            c.sum(PAPER, Property::TwiceIfDelivering).ours("moments"),
        ),
        claim(
            "slow-start-bound",
            "4.3 (4), RFC 6937 §3",
            "The slow-start bound: prr_out ≤ prr_delivered + ACKs processed",
            "after each ACK and write in recovery; Reno and CUBIC",
            c.sum(PAPER, Property::DeliveredAndAcks).ours("moments"),
        ),
        claim(
            "conservative-bound",
            "RFC 6937 §3",
            "The conservative bound: prr_out ≤ prr_delivered + 1",
            "after each ACK and write in recovery",
            c.sum(&[Scheme::PrrConservative], Property::DeliveredAndOne)
                .ours("moments"),
        ),
        claim(
            "safe-ack-bound",
            "RFC 9937 §6.2",
            "SafeACK: prr_out ≤ prr_delivered + ACKs that advanced and showed no loss + 1",
            "after each ACK and write in recovery",
            c.sum(&[Scheme::PrrSafe], Property::DeliveredAndSafe)
                .ours("moments"),
        ),
        claim(
            "rfc3517-not-in-proportion",
            "4.3 (4)",
            "What RFC 3517 sends has no such relation to what is delivered",
            "moments with more than twice the delivered sent, though each ACK delivered something",
            (
                format!("{} of {} moments", rfc.broken, rfc.cases),
                rfc.broken > 0,
            ),
        ),
        fails(
            claim(
                "linux-not-in-proportion",
                "4.3 (4)",
                "What Linux sends has no such relation either",
                "moments with more than twice the delivered sent, though each ACK delivered something",
                (
                    format!("{} of {} moments", linux.broken, linux.cases),
                    linux.broken > 0,
                ),
            ),
            "with its window at pipe + 1 at most, an ACK releases one segment at most: what it sends stays below what is delivered where each ACK delivers".into(),
        ),
    ]
}
