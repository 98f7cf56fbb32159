//! The claims of §I and §II-A that the goodputs decide.

use super::{CODES, Code, CodeCell};
use crate::prelude::*;

/// The loss rate of the paper's examples (§II-C1).
const TYPICAL: f64 = 0.02;

/// A probability in percent; a small one in scientific notation.
pub fn percent(p: f64) -> String {
    match 100.0 * p {
        small if small > 0.0 && small < 1e-3 => format!("{small:.1e}"),
        percent => {
            let text = format!("{percent:.3}");
            text.trim_end_matches('0').trim_end_matches('.').into()
        }
    }
}

/// The codes without ARQ.
fn codes() -> impl Iterator<Item = Code> {
    CODES.into_iter().filter(|code| *code != Code::ARQ)
}

/// The smallest and the largest number with their codes, formatted by `write`.
fn range(number: impl Fn(Code) -> f64, write: impl Fn(f64) -> String) -> String {
    let by_number = |a: &Code, b: &Code| number(*a).total_cmp(&number(*b));
    let ends = [codes().min_by(by_number), codes().max_by(by_number)];
    let written =
        ends.map(|end| end.map(|code| format!("{} ({})", write(number(code)), code.name())).unwrap_or_default());
    written.join(" to ")
}

/// Checks the claims.
pub fn all(cells: &[CodeCell], arq: &[(f64, Vec<u32>)]) -> Vec<Claim> {
    vec![
        transmissions(arq),
        arq_goodput(cells),
        fec_goodput(),
        arq_within_the_border(),
        no_retransmission(),
        not_cost_effective(),
        as_simulated(cells),
    ]
}

/// Whether `hits` of `all` is within four standard errors of a probability.
fn is_likely(hits: f64, all: f64, p: f64) -> bool {
    // One more, because the normal approximation is poor for few hits.
    (hits - all * p).abs() <= 4.0 * (all * p * (1.0 - p)).sqrt() + 1.0
}

fn transmissions(arq: &[(f64, Vec<u32>)]) -> Claim {
    let (mut agree, mut all) = (0, 0);
    let mut means = Vec::new();
    for (p, counts) in arq {
        let packets: f64 = counts.iter().map(|count| f64::from(*count)).sum();
        for (x, count) in (1..=3).zip(counts.iter().chain(&[0; 3])) {
            let expected = p.powi(x - 1) * (1.0 - p);
            all += 1;
            agree += u32::from(is_likely(f64::from(*count), packets, expected));
        }
        let sent = (1..).zip(counts).map(|(x, count)| f64::from(x) * f64::from(*count));
        let (mean, expected) = (sent.sum::<f64>() / packets, 1.0 / (1.0 - p));
        let error = (p / packets).sqrt() / (1.0 - p);
        all += 1;
        agree += u32::from((mean - expected).abs() <= 4.0 * error);
        means.push((*p, mean, expected));
    }
    let shown = means
        .iter()
        .filter(|(p, ..)| [0.02, 0.3].contains(p))
        .map(|(p, mean, expected)| format!("{mean:.4} ({expected:.4}) at {} %", percent(*p)));
    claim!("arq-transmissions", "{agree} of {all} agree; mean {}", shown.joined(", ")).holds(agree == all && all > 0)
}

fn arq_goodput(cells: &[CodeCell]) -> Claim {
    let arq: Vec<&CodeCell> = cells.iter().filter(|cell| cell.code == Code::ARQ).collect();
    let agree = arq
        .iter()
        .filter(|cell| {
            let goodput = cell.with_arq;
            (goodput.low..=goodput.high).contains(&(1.0 - cell.p))
        })
        .count();
    claim!("arq-goodput", "at {agree} of {} loss rates", arq.len()).holds(agree == arq.len())
}

fn fec_goodput() -> Claim {
    let ideal = |code: Code| f64::from(code.n) / f64::from(code.packets());
    let same = codes().filter(|code| code.alone(0.0) == ideal(*code)).count();
    claim("fec-goodput").every(same, codes().count(), "codes")
}

/// Loss rates of 0.1 to 99.9 %.
fn rates() -> impl Iterator<Item = f64> {
    (1..1000).map(|i| f64::from(i) / 1000.0)
}

fn arq_within_the_border() -> Claim {
    // The tolerance keeps rounding from deciding the case at the border itself.
    let less = |ours: f64, theirs: f64| ours < theirs - 1e-12;
    let (mut within, mut violated) = (0, 0);
    for code in (1..=64).flat_map(|n| (1..=64).map(move |k| Code { n, k })) {
        let inside = |p: &f64| !less(code.border(), *p);
        for p in rates().filter(inside).chain([code.border()]) {
            within += 1;
            violated += u32::from(less(1.0 - p, code.paper(p)));
        }
    }
    let beaten = |code: Code| rates().filter(|p| less(1.0 - p, code.with_arq(*p))).count();

    claim!("arq-at-least-fec", "violated in {violated} of {within} cases")
        .holds(violated == 0)
        .fill(&[&codes().map(beaten).sum::<usize>(), &(codes().count() * rates().count())])
}

fn no_retransmission() -> Claim {
    let at_border = |code: Code| code.fails(code.border());
    let fails = |code: Code| code.fails(TYPICAL);
    let write = |p| format!("{} %", percent(p));
    let never = codes().all(|code| at_border(code) == 0.0 && fails(code) == 0.0);

    claim!(
        "no-retransmission",
        "a group fails with probability {} at the border, {} at 2 %",
        range(at_border, write),
        range(fails, write)
    )
    .holds(never)
}

fn not_cost_effective() -> Claim {
    let cost = |code: Code| f64::from(code.k) / f64::from(code.n);
    let saved = |code: Code| Code::ARQ.retransmissions(TYPICAL) - code.retransmissions(TYPICAL) / f64::from(code.n);
    let write = |packets| format!("{packets:.4}");
    let most = Code { n: 20, k: 4 };
    claim!("fec-costs-more", "per data packet, costs {} packets and saves {}", range(cost, write), range(saved, write))
        .holds(codes().all(|code| cost(code) > saved(code)))
        .fill(&[
            &most.n,
            &percent((1.0 - TYPICAL).powi(most.n as i32)),
            &percent(1.0 - most.fails(TYPICAL)),
            &most.name(),
        ])
}

fn as_simulated(cells: &[CodeCell]) -> Claim {
    let simulated = || cells.iter().flat_map(|cell| [cell.alone, cell.with_arq]);
    let (agree, all) = (simulated().filter(|g| g.agrees).count(), simulated().count());
    let seed = cells.first().map_or(0, |cell| cell.seed);
    claim!("closed-forms", "{agree} of {all}, seed {seed}").holds(agree == all)
}
