//! What the text says of figures 1 and 2 together: §1, §3.1, §3.3, §3.4 and §5.

use super::{Cells, Group, Mechanism, TailLossCell, list};
use crate::prelude::*;
use crate::tail_loss::cell::{Acks, MECHANISMS, bench};
use crate::tail_loss::{FIG2_RTT, Id, RTTS, cells};
use Mechanism::{Baseline, Rtor, Tlp, Tlpr};

/// The claims. `fig1` are the cells of figure 1.
pub fn claims(fig1: &[TailLossCell], setup: &Setup) -> Result<Vec<Claim>> {
    let mut both = fig1.to_vec();
    both.extend(cells(Id::Fig2, setup)?);
    Ok(vec![
        recovery_takes_round_trips(fig1, setup)?,
        all_reduce(&both),
        larger_gains_of_probes(&both),
        either_may_be_faster(&both),
        gain_depends_on(&both),
        restart_of_the_probe_removes_the_problem(&both),
        best_in_almost_all(&both),
        delayed_ack_slows_the_probe(&Cells::new(fig1)),
    ])
}

fn recovery_takes_round_trips(fig1: &[TailLossCell], setup: &Setup) -> Result<Claim> {
    let mut added = vec![];
    for acks in Acks::ALL {
        for rtt in RTTS {
            let without = bench(setup, acks, rtt, 0, Baseline, "")?.run(0).fct_ms().unwrap_or(NAN);
            let with = Cells::new(fig1).fct(acks, rtt, 1, Baseline);
            added.push((with - without) / rtt as f64);
        }
    }
    Ok(claim!("recovery-takes-round-trips", "{} RTTs", list(added.iter().copied()))
        .holds(added.iter().all(|rtts| *rtts > 2.0)))
}

fn all_reduce(both: &[TailLossCell]) -> Claim {
    let counts = [Rtor, Tlp, Tlpr].map(|one| {
        let faster = Group::all(both).filter(|group| group.is_faster(one, Baseline));
        let slower = Group::all(both).filter(|group| group.is_faster(Baseline, one));
        (one, faster.count(), slower.count())
    });
    let all = Group::all(both).count();
    let shown =
        counts.map(|(one, faster, slower)| format!("{} faster in {faster}, slower in {slower} of {all}", one.name()));
    claim("all-reduce")
        .shows(shown.join("; "))
        .holds(counts.iter().all(|(_, faster, slower)| 2 * faster > all && *slower == 0))
}

fn larger_gains_of_probes(both: &[TailLossCell]) -> Claim {
    let largest = |one| Group::all(both).map(|group| group.gain(one)).fold(f64::NEG_INFINITY, f64::max);
    let [rtor, tlp] = [Rtor, Tlp].map(largest);
    claim!("tlp-has-the-larger-gains", "TLP {:.0} %, RTOR {:.0} %", 100.0 * tlp, 100.0 * rtor).holds(tlp >= 1.5 * rtor)
}

fn either_may_be_faster(both: &[TailLossCell]) -> Claim {
    let rtor = Group::all(both).filter(|group| group.is_faster(Rtor, Tlp)).count();
    let tlp = Group::all(both).filter(|group| group.is_faster(Tlp, Rtor)).count();
    let all = Group::all(both).count();
    claim!("rtor-or-tlp-by-scenario", "RTOR in {rtor}, TLP in {tlp} of {all} groups")
        .holds(4 * rtor >= all && 4 * tlp >= all)
}

fn gain_depends_on(both: &[TailLossCell]) -> Claim {
    let gain = |acks: Acks, rtt_ms, lost| {
        let is_it = |group: &Group<'_>| {
            let one = &group.0[0];
            one.ack == acks.name() && (one.rtt_ms, one.lost) == (rtt_ms, lost)
        };
        let group = Group::all(both).find(is_it);
        group.map_or(NAN, |group| group.gain(Tlp))
    };
    let (delayed, quick) = (Acks::Delayed, Acks::Quick);
    let factors = [
        ("RTT (10, 160 ms)", gain(delayed, 10, 1) - gain(delayed, 160, 1)),
        ("ACKs (delayed, quick)", gain(delayed, 10, 1) - gain(quick, 10, 1)),
        ("loss (2, 1 lost)", gain(quick, FIG2_RTT, 2) - gain(quick, FIG2_RTT, 1)),
    ];
    let shown = factors.map(|(name, change)| format!("{name}: {:+.0} points", 100.0 * change));
    claim("tlp-depends-on-factors").shows(shown.join("; ")).holds(factors.iter().all(|(_, change)| *change >= 0.1))
}

fn restart_of_the_probe_removes_the_problem(both: &[TailLossCell]) -> Claim {
    let groups: Vec<Group<'_>> = Group::all(both).filter(|group| group.is_faster(Rtor, Tlp)).collect();
    let count = |f: &dyn Fn(&Group<'_>) -> bool| groups.iter().filter(|group| f(group)).count();
    let over_tlp = count(&|group| group.is_faster(Tlpr, Tlp));
    let over_rtor = count(&|group| group.is_faster(Tlpr, Rtor));
    let tied = count(&|group| same(group.fct(Tlpr), group.fct(Rtor)));
    let all = groups.len();
    claim!(
        "reset-is-the-reason",
        "of {all} groups faster than TLP in {over_tlp}; faster than RTOR in {over_rtor}, equal in {tied}"
    )
    .holds(all > 0 && over_tlp == all && over_rtor > 0 && over_rtor + tied == all)
}

/// The best need not be the best alone: a tie has two.
fn best_in_almost_all(both: &[TailLossCell]) -> Claim {
    let all = Group::all(both).count();
    let beaten = Group::all(both).filter(|group| MECHANISMS.into_iter().any(|other| group.is_faster(other, Tlpr)));
    let best = all - beaten.count();
    let alone = Group::all(both).filter(|group| group.is_fastest(Tlpr)).count();
    claim!("tlpr-best-in-almost-all", "{best} of {all} groups, alone in {alone}").holds(10 * best >= 9 * all)
}

fn delayed_ack_slows_the_probe(c: &Cells<'_>) -> Claim {
    let behind = |acks| c.fct(acks, 160, 1, Tlp) - c.fct(acks, 160, 1, Rtor);
    let [delayed, quick] = [Acks::Delayed, Acks::Quick].map(behind);
    claim!("delayed-ack-slows-tlp", "{delayed:.1} ms slower with delayed ACKs, {quick:.1} ms with quick ACKs")
        .holds(delayed > 0.0 && delayed - quick >= 200.0)
}
