//! What §II-A says that these numbers decide.

use super::{CODES, Cell, Code};
use crate::claims::{Claim, Verdict, claim};

/// The loss rate the paper takes where it takes one (§II-C1).
const TYPICAL: f64 = 0.02;

/// A probability in percent, a small one by its order of magnitude.
pub fn percent(p: f64) -> String {
    match 100.0 * p {
        small if small > 0.0 && small < 1e-3 => format!("{small:.1e}"),
        percent => {
            let text = format!("{percent:.3}");
            text.trim_end_matches('0').trim_end_matches('.').into()
        }
    }
}

/// The codes but ARQ.
fn codes() -> impl Iterator<Item = Code> {
    CODES.into_iter().filter(|code| *code != Code::ARQ)
}

/// The codes with the least and the largest of these numbers, each with its number as `write` puts it.
fn range(number: impl Fn(Code) -> f64, write: impl Fn(f64) -> String) -> String {
    let by_number = |a: &Code, b: &Code| number(*a).total_cmp(&number(*b));
    let ends = [codes().min_by(by_number), codes().max_by(by_number)];
    let written = ends.map(|end| {
        end.map(|code| format!("{} ({})", write(number(code)), code.name()))
            .unwrap_or_default()
    });
    written.join(" to ")
}

/// The claims decided here.
pub fn all(cells: &[Cell]) -> Vec<Claim> {
    vec![
        arq_within_the_border(),
        nothing_sent_again(),
        not_cost_effective(),
        as_simulated(cells),
    ]
}

/// Loss rates of 0.1 to 99.9 %.
fn rates() -> impl Iterator<Item = f64> {
    (1..1000).map(|i| f64::from(i) / 1000.0)
}

fn arq_within_the_border() -> Claim {
    // The border itself is among the cases: rounding must not decide it.
    let less = |ours: f64, theirs: f64| ours < theirs - 1e-12;
    let (mut within, mut otherwise) = (0, 0);
    for code in (1..=64).flat_map(|n| (1..=64).map(move |k| Code { n, k })) {
        let inside = |p: &f64| !less(code.border(), *p);
        for p in rates().filter(inside).chain([code.border()]) {
            within += 1;
            otherwise += u32::from(less(1.0 - p, code.paper(p)));
        }
    }
    let beaten = |code: Code| rates().filter(|p| less(1.0 - p, code.with_arq(*p))).count();
    let mut claim = claim(
        "arq-at-least-fec",
        "II-A",
        "If p ≤ k/(n + k), ARQ's goodput is at least FEC's",
        "1 − p ≥ n/(n + k) for n and k of 1 to 64 and p of 0.1 to 99.9 % up to the border, and at it",
        (
            format!("not so in {otherwise} of {within} cases"),
            otherwise == 0,
        ),
    );
    claim.note = Some(format!(
        "it is the same inequality written twice. Beyond the border n/(n + k) is more than the 1 − p that arrives at all, which no code delivers; with what it cannot recover sent again, FEC has more than ARQ in {} of {} cases, at any p",
        codes().map(beaten).sum::<usize>(),
        codes().count() * rates().count(),
    ));
    claim
}

fn nothing_sent_again() -> Claim {
    let at_border = |code: Code| code.fails(code.border());
    let fails = |code: Code| code.fails(TYPICAL);
    let write = |p| format!("{} %", percent(p));
    let never = codes().all(|code| at_border(code) == 0.0 && fails(code) == 0.0);
    let mut claim = claim(
        "no-retransmission",
        "II-A",
        "p ≤ k/(n + k) ensures that FEC recovers what is lost without any retransmission",
        "the probability that a group loses more than k is 0, at the border and at 2 %, which all codes here have within it",
        (
            format!(
                "a group fails with {} at the border, with {} at 2 %",
                range(at_border, write),
                range(fails, write),
            ),
            never,
        ),
    );
    claim.known = Verdict::Fails;
    claim.note = Some(
        "p ≤ k/(n + k) says that a group loses no more than k on average. What it loses is spread around that: at the border more than k in a quarter of the groups of the smallest code, and nearer to half the longer the groups. Nothing but p = 0 ensures it".into(),
    );
    claim
}

fn not_cost_effective() -> Claim {
    let cost = |code: Code| f64::from(code.k) / f64::from(code.n);
    let saved = |code: Code| {
        Code::ARQ.retransmissions(TYPICAL) - code.retransmissions(TYPICAL) / f64::from(code.n)
    };
    let write = |packets| format!("{packets:.4}");
    let mut claim = claim(
        "fec-costs-more",
        "I",
        "At a low loss rate, FEC for all packets is not cost effective",
        "at 2 %, redundant packets for each data packet against the retransmissions they save, for each code",
        (
            format!(
                "costs {} packets a data packet, saves {}",
                range(cost, write),
                range(saved, write)
            ),
            codes().all(|code| cost(code) > saved(code)),
        ),
    );
    let most = Code { n: 20, k: 4 };
    claim.note = Some(format!(
        "in packets; what FEC is for is time, which goodput does not show: of {} packets none needs to be sent again in {} % of cases with ARQ, in {} % with {}",
        most.n,
        percent((1.0 - TYPICAL).powi(most.n as i32)),
        percent(1.0 - most.fails(TYPICAL)),
        most.name(),
    ));
    claim
}

fn as_simulated(cells: &[Cell]) -> Claim {
    let simulated = || cells.iter().flat_map(|cell| [cell.alone, cell.with_arq]);
    let (agree, all) = (
        simulated().filter(|g| g.agrees).count(),
        simulated().count(),
    );
    let seed = cells.first().map_or(0, |cell| cell.seed);
    claim(
        "closed-forms",
        "II-A",
        "ARQ's goodput is 1 − p; FEC's, with what the paper leaves out, is as above",
        "the closed form lies in the interval of what was simulated, in every cell",
        (format!("{agree} of {all}, seed {seed}"), agree == all),
    )
}
