//! Peers that lie, renege or cheat. No ACK may make a sender panic, stall, lose a byte, or send faster than
//! the acknowledged data justifies. Impossible ACKs and blocks are counted and ignored.
//!
//! After each attack the receiver is honest again, and must receive all data.

use super::super::*;
use super::network::{Cause, Fate, Network, copying};
use super::script::MSS;
use crate::ack::Ack;
use crate::detect::LossRule;
use crate::profile::{BASES, Profile};
use crate::slp::Kind;
use proptest::collection::vec;
use proptest::prelude::*;

/// Every base, and combinations of mechanisms that no base has.
fn profiles() -> impl Iterator<Item = String> {
    let mixes = [
        "linux-3.17+rtor+tlpr",
        "linux-3.17+nofack+prrcrb+ernaive",
        "linux-6+reno+prr+tlprfc",
        "linux-6+nosack",
        "rfc6675+rack+prrsafe+undo+cubic",
        "reno+prr+undo+frto",
        "linux-2.6+rack+tlp+rescue",
        "linux-3.17+tlpr+slp",
        "linux-6+slp",
        "linux-2.6+slp",
        "rfc6675+slp",
        "reno+slp",
    ];
    let bases = BASES.iter().map(|(name, ..)| *name);
    bases.chain(mixes).map(String::from)
}

fn mechanisms_of(profile: &str) -> Mechanisms {
    *profile.parse::<Profile>().unwrap().mechanisms()
}

/// A flow of `profile` with an initial window of ten segments, which the attacks assume.
fn network(profile: &str, data: &[Fate]) -> Network {
    let rules = mechanisms_of(profile);
    let mechanisms = Mechanisms {
        initial_window: rules.initial_window.max(Segments(10)),
        slp: rules.slp.map(|_| copying(&[Kind::Psh])),
        ..rules
    };
    Network::of(&mechanisms, data, &[], 1)
}

/// Ten segments were just sent.
fn ten_in_flight(profile: &str) -> Network {
    let mut network = network(profile, &[]);
    network.write(0, 10);
    assert!(network.until(|n| n.sender.pipe() == Segments(10)), "{profile}");
    network
}

/// The first of twenty segments was lost and fast retransmit has begun.
fn in_recovery(profile: &str) -> Network {
    let mut network = network(profile, &[Fate::Lost]);
    network.write(0, 20);
    let recovers = |n: &Network| n.sender.state() == State::Recovery;
    assert!(network.until(recovers), "{profile}");
    network
}

/// An ACK of nothing new.
fn repeated(network: &Network, blocks: &[Span]) -> Ack {
    let window = network.window;
    Ack::new(network.sender.una(), window).with_blocks(blocks.iter().copied())
}

fn check(network: &Network, profile: &str) {
    let sender = &network.sender;
    if let Err(broken) = sender.check() {
        panic!("{profile}: {broken}");
    }
    let waits = sender.una() < sender.limit();
    assert!(!waits || sender.next_timer().is_some(), "{profile}: stalled: {sender:?}");
}

/// From now on, the receiver is honest.
fn finish(mut network: Network, profile: &str) -> Counters {
    check(&network, profile);
    assert!(network.until(Network::is_done), "{profile}: {:?}", network.sender);
    network.sender.counters()
}

/// Checks that nothing is SACKed or lost and that the window is unchanged.
fn unmoved(network: &Network, cwnd: Segments, profile: &str) {
    let sender = &network.sender;
    assert!(sender.board().iter().all(|s| !s.sacked && !s.lost), "{profile}");
    assert_eq!(sender.cwnd(), cwnd, "{profile}");
    assert_eq!(sender.ssthresh(), Segments::MAX, "{profile}");
}

#[test]
fn blocks_of_data_never_sent_are_counted_and_ignored() {
    for profile in profiles() {
        let mut network = ten_in_flight(&profile);
        let cwnd = network.sender.cwnd();
        let nxt = network.sender.nxt();
        let lies = [
            Span::at(nxt, MSS),
            Span::at(Offset(nxt.0 - MSS), MSS + 1),
            Span::at(nxt + (1 << 40), MSS),
            Span::new(Offset::DATA, Offset(u64::MAX)),
        ];
        network.inject(&repeated(&network, &lies));
        unmoved(&network, cwnd, &profile);
        let sack = mechanisms_of(&profile).sack;
        let counted = finish(network, &profile).impossible_blocks;
        assert!(!sack || counted == 4, "{profile}: {counted}");
    }
}

#[test]
fn blocks_below_and_across_snd_una_are_ignored() {
    for profile in profiles() {
        let mut network = ten_in_flight(&profile);
        network.until(|n| n.sender.una() > Offset::DATA + 3 * MSS);
        let (una, cwnd) = (network.sender.una(), network.sender.cwnd());
        let ahead = Span::at(una + MSS, MSS);
        let old = Span::at(Offset::DATA, MSS);
        let across = Span::at(Offset(una.0 - 500), MSS);
        let sacked = |n: &Network| n.sender.board().iter().filter(|s| s.sacked).count();
        network.inject(&repeated(&network, &[across, across]));
        assert_eq!(sacked(&network), 0, "{profile}");
        // The first block of the next one could be a duplicate's; the second is merely old.
        network.inject(&repeated(&network, &[ahead, old, across]));
        let sack = mechanisms_of(&profile).sack;
        assert_eq!(sacked(&network), usize::from(sack), "{profile}");
        // By RFC 9002, what is SACKed grows the window.
        let grows = mechanisms_of(&profile).detection.rule == LossRule::PacketTime;
        let most = cwnd + Segments(u32::from(grows));
        assert!(network.sender.cwnd() <= most, "{profile}");
        let counted = finish(network, &profile).impossible_blocks;
        assert!(!sack || counted >= 2, "{profile}: {counted}");
    }
}

#[test]
fn overlapping_and_reversed_blocks_deliver_once() {
    for profile in profiles() {
        let mut network = ten_in_flight(&profile);
        let at = |n: u64| Offset::DATA + n * MSS;
        let blocks = [
            Span::new(at(4), at(6)),
            Span::new(at(3), at(5)),
            Span::new(at(9), at(7)), // reversed
            Span::new(at(4), at(7)),
        ];
        let step = network.inject(&repeated(&network, &blocks));
        let Cause::Acked(summary, _) = step.cause else {
            panic!("{step:?}");
        };
        let sacked = if mechanisms_of(&profile).sack { 4 } else { 0 };
        assert_eq!(summary.newly_sacked, Segments(sacked), "{profile}");
        assert!(summary.delivered.0 <= sacked.max(1), "{profile}");
        finish(network, &profile);
    }
}

#[test]
fn acks_of_data_never_sent_are_counted_and_ignored() {
    for profile in profiles() {
        let mut network = ten_in_flight(&profile);
        let cwnd = network.sender.cwnd();
        let (nxt, timer) = (network.sender.nxt(), network.sender.next_timer());
        for beyond in [1, MSS, 1 << 40, u64::MAX] {
            let step = network.inject(&Ack::new(nxt + beyond, 1 << 20));
            assert!(step.sent.is_empty(), "{profile}");
            assert_eq!(network.sender.una(), Offset::DATA, "{profile}");
            assert_eq!(network.sender.next_timer(), timer, "{profile}");
        }
        unmoved(&network, cwnd, &profile);
        assert_eq!(finish(network, &profile).impossible_acks, 4, "{profile}");
    }
}

#[test]
fn reneging_causes_the_retransmission_of_everything() {
    for profile in profiles() {
        let mut network = network(&profile, &[Fate::Lost]);
        network.write(0, 10);
        network.until(|n| n.sender.board().sacked() == Segments(9));
        network.receiver.renege();
        let counters = finish(network, &profile);
        let reneged = u64::from(mechanisms_of(&profile).sack);
        assert_eq!(counters.reneged, reneged, "{profile}");
    }
}

/// A receiver SACKs data that never arrived. The cumulative ACK reveals it on reaching that data.
#[test]
fn what_was_sacked_but_never_arrived_is_sent_again() {
    for profile in profiles() {
        let lost: Vec<Fate> = (0..10).map(|n| [Fate::Passes, Fate::Lost][n % 2]).collect();
        let mut network = network(&profile, &lost);
        network.write(0, 10);
        network.until(|n| n.sender.pipe() == Segments(10));
        let all = Span::new(Offset::DATA + MSS, network.sender.nxt());
        network.inject(&repeated(&network, &[all]));
        check(&network, &profile);
        finish(network, &profile);
    }
}

/// In slow start, the window grows by segments acknowledged, even if ACKs are divided.
//= test: RFC 5681 §3.1
#[test]
fn ack_division_opens_the_window_no_faster_than_whole_segments() {
    for profile in profiles() {
        let mut network = network(&profile, &[]);
        network.pieces = 20;
        network.write(0, 200);
        let initial = network.sender.cwnd();
        while !network.is_done() {
            network.step();
            let acked = network.sender.una().since(Offset::DATA) / MSS;
            let most = initial + Segments(acked as u32);
            assert!(network.sender.cwnd() <= most, "{profile}: {acked} acknowledged");
        }
    }
}

/// In recovery, the window stays within ssthresh. Afterwards, it grows no faster than with one ACK per segment.
#[test]
fn ack_division_gains_nothing_in_recovery_and_after_it() {
    for profile in profiles() {
        let windows = [1, 7].map(|pieces| {
            let mut fates = vec![Fate::Passes; 12];
            fates.push(Fate::Lost);
            let mut network = network(&profile, &fates);
            network.pieces = pieces;
            network.write(0, 500);
            while !network.is_done() {
                let step = network.step().unwrap();
                check(&network, &profile);
                let sender = &network.sender;
                if step.state == State::Recovery && sender.state() == State::Recovery {
                    let most = sender.ssthresh().max(step.cwnd);
                    assert!(sender.cwnd() <= most, "{profile}: {} > {most}", sender.cwnd());
                }
            }
            network.sender.cwnd()
        });
        let [whole, divided] = windows;
        assert!(divided <= whole + Segments::ONE, "{profile}: {divided} > {whole}");
    }
}

/// The whole flight is acknowledged as soon as it is sent. The sender cannot detect this. Its window grows
/// as on a very short path, not faster.
#[test]
fn optimistic_acks_grow_the_window_by_what_they_acknowledge() {
    for profile in profiles() {
        let mut network = network(&profile, &[]);
        network.write(0, 400);
        let initial = network.sender.cwnd();
        network.step();
        for _ in 0..200 {
            if network.sender.una() == network.sender.limit() {
                break;
            }
            network.now += Duration::from_micros(100);
            let all = Ack::new(network.sender.nxt(), network.window);
            network.inject(&all);
            check(&network, &profile);
            let acked = network.sender.una().since(Offset::DATA) / MSS;
            let most = initial + Segments(acked as u32);
            assert!(network.sender.cwnd() <= most, "{profile}");
        }
        finish(network, &profile);
    }
}

#[test]
fn a_flood_of_dsacks_moves_no_window() {
    for profile in profiles() {
        let mut network = in_recovery(&profile);
        network.until(|n| n.sender.una() == n.sender.limit());
        network.write(0, 40);
        network.step();
        // The first may take the reduction back, which came with 20 segments in flight at most.
        let cwnd = network.sender.cwnd().max(Segments(20));
        for i in 0..500 {
            let old = Span::at(Offset::DATA + (i % 20) * MSS, MSS);
            network.inject(&repeated(&network, &[old]));
            check(&network, &profile);
            let sender = &network.sender;
            assert!(sender.cwnd() <= cwnd, "{profile} after {i}");
            // Without SACK these are duplicate ACKs, whatever they carry.
            let lost = sender.board().lost() > Segments::ZERO;
            assert!(!lost || !sender.uses_sack(), "{profile} after {i}");
        }
        finish(network, &profile);
    }
}

/// A receiver that reports every retransmission as spurious undoes its own reduction, no more.
#[test]
fn forged_dsacks_return_at_most_the_window_before() {
    for profile in profiles() {
        let mut network = network(&profile, &[Fate::Lost]);
        network.write(0, 20);
        let mut largest = Segments::ZERO;
        while network.sender.state() != State::Recovery {
            largest = largest.max(network.sender.cwnd());
            network.step();
        }
        for _ in 0..50 {
            let first = Span::at(Offset::DATA, MSS);
            let una = network.sender.una();
            let ack = Ack::new(una.max(first.end), network.window).with_blocks([first]);
            // The cumulative ACK has to pass the duplicate for it to be one.
            network.inject(&ack);
            check(&network, &profile);
            let grown = network.sender.una().since(Offset::DATA) / MSS;
            let most = largest + Segments(grown as u32);
            assert!(network.sender.cwnd() <= most, "{profile}");
        }
    }
}

/// A DSACK for data never sent, in the form of a first block inside the second, explains nothing.
#[test]
fn a_dsack_of_data_never_sent_explains_no_retransmission() {
    for profile in profiles() {
        let mut network = in_recovery(&profile);
        let nxt = network.sender.nxt();
        let forged = [Span::at(nxt + 5 * MSS, MSS), Span::at(nxt + 2 * MSS, 9 * MSS)];
        for _ in 0..3 {
            network.inject(&repeated(&network, &forged));
        }
        let counters = network.sender.counters();
        assert_eq!(counters.dsacks, 0, "{profile}");
        assert_eq!(counters.undone.iter().sum::<u64>(), 0, "{profile}");
        assert_eq!(network.sender.state(), State::Recovery, "{profile}");
        finish(network, &profile);
    }
}

/// The peer shrinks a window it had offered (RFC 9293 §3.8.6 requires robustness).
#[test]
fn a_window_that_shrinks_holds_new_data_and_loses_none() {
    for profile in profiles() {
        for room in [0, 1, 2 * MSS] {
            let mut network = network(&profile, &[Fate::Passes, Fate::Lost]);
            network.write(0, 30);
            network.until(|n| n.sender.una() > Offset::DATA);
            let before = network.sender.nxt();
            network.window = room;
            for _ in 0..60 {
                let Some(step) = network.step() else { break };
                check(&network, &profile);
                let edge = network.sender.una() + room;
                let new = step.sent.iter().filter_map(|s| match s {
                    Transmission::New(span) | Transmission::NewProbe(span) => Some(span.end),
                    _ => None,
                });
                let (nxt, una) = (network.sender.nxt(), network.sender.una());
                for end in new.filter(|_| una > before) {
                    assert!(end <= edge.max(before), "{profile}: {end} sent to {nxt}");
                }
            }
            assert!(network.sender.una() <= network.sender.limit());
            network.window = 1 << 20;
            finish(network, &profile);
        }
    }
}

/// SACK blocks do not change the scoreboard of a sender that did not negotiate SACK.
#[test]
fn blocks_without_agreement_are_ignored() {
    for profile in profiles() {
        let mut network = ten_in_flight(&profile);
        network.sender.mechanisms.sack = Sack::Refused; // as a handshake without SACK leaves it
        network.receiver.sack = false;
        let all = Span::new(Offset::DATA + MSS, network.sender.nxt());
        for _ in 0..6 {
            network.inject(&repeated(&network, &[all]));
            check(&network, &profile);
            let sacked = network.sender.board().iter().filter(|s| s.sacked).count();
            assert_eq!(sacked, 0, "{profile}");
        }
        assert_eq!(finish(network, &profile).reneged, 0, "{profile}");
    }
}

/// One action of a hostile peer, in segments from `snd_una`.
#[derive(Clone, Debug)]
enum Attack {
    /// Nothing, for this many steps.
    Wait(usize),
    Write(u64),
    /// Any blocks, in bytes, below and above; never a cumulative ACK of data that has not arrived.
    Lie {
        blocks: Vec<(u64, u64)>,
        back: u64,
        window: u64,
    },
    /// From here on, each honest ACK is divided into this many ACKs.
    Divide(u64),
    Renege,
    Timestamp(u64),
    Congest,
}

fn attack() -> impl Strategy<Value = Attack> {
    let blocks = vec((0..30 * MSS, 0..8 * MSS), 0..5);
    let whole = vec((0..30u64, 0..8u64), 0..5)
        .prop_map(|blocks| blocks.iter().map(|&(at, len)| (at * MSS, len * MSS)).collect());
    let window = prop_oneof![3 => Just(1 << 20), 1 => 0..10 * MSS];
    prop_oneof![
        8 => (0..12usize).prop_map(Attack::Wait),
        2 => (1..20u64).prop_map(Attack::Write),
        8 => (prop_oneof![1 => blocks, 3 => whole], 0..3u64, window)
            .prop_map(|(blocks, back, window)| Attack::Lie { blocks, back, window }),
        1 => (1..5u64).prop_map(Attack::Divide),
        2 => Just(Attack::Renege),
        1 => (0..100u64).prop_map(Attack::Timestamp),
        1 => Just(Attack::Congest),
    ]
}

fn launch(network: &mut Network, attack: &Attack) {
    match attack {
        Attack::Wait(steps) => {
            for _ in 0..*steps {
                network.step();
            }
        }
        Attack::Write(segments) => network.write(0, *segments),
        Attack::Lie { blocks, back, window } => {
            let una = network.sender.una();
            let base = Offset(una.0.saturating_sub(8 * MSS).max(1));
            let told = Offset(una.0.saturating_sub(back * MSS)).max(Offset::DATA);
            let blocks = blocks.iter().map(|&(at, len)| Span::at(base + at, len));
            network.inject(&Ack::new(told, *window).with_blocks(blocks));
        }
        Attack::Divide(pieces) => network.pieces = *pieces,
        Attack::Renege => network.receiver.renege(),
        Attack::Timestamp(ms) => {
            let mut ack = repeated(network, &[]);
            ack.echo_sent_before = Some(network.now - Duration::from_millis(*ms));
            ack.timestamp_rtt = Some(Duration::from_millis(*ms));
            network.inject(&ack);
        }
        Attack::Congest => network.congest(0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn no_false_ack_loses_a_byte(
        base in prop::sample::select(BASES.map(|(name, ..)| name).to_vec()),
        mechanisms in vec(prop::sample::select(&crate::profile::Mechanism::ALL[..]), 0..5),
        fates in vec(prop_oneof![
            6 => Just(Fate::Passes),
            1 => Just(Fate::Lost),
            1 => Just(Fate::Twice),
            1 => (1..60u64).prop_map(Fate::Late),
        ], 0..80),
        acks in vec(prop_oneof![6 => Just(Fate::Passes), 1 => Just(Fate::Lost)], 0..40),
        timestamps in any::<bool>(),
        no_sack in prop::bool::weighted(0.1),
        copies in any::<bool>(),
        attacks in vec(attack(), 1..40),
    ) {
        let profile = mechanisms.iter().fold(base.to_string(), |p, m| p + "+" + m.name());
        let mut rules = mechanisms_of(&profile);
        rules.slp = copies.then(|| copying(&Kind::ALL));
        let mut network = Network::of(&rules, &fates, &acks, 1);
        network.receiver.timestamps = timestamps;
        if no_sack {
            network.sender.mechanisms.sack = Sack::Refused;
            network.receiver.sack = false;
        }
        network.write(0, 30);
        for attack in &attacks {
            launch(&mut network, attack);
            check(&network, &profile);
        }
        network.pieces = 1;
        // From now on the receiver drops no data that it has reported.
        prop_assert!(
            network.until(Network::is_done),
            "{}: {:?} {:?}", profile, network.receiver, network.sender
        );
        prop_assert!(network.now < Instant::from_millis(1_000_000), "{} took to {}", profile, network.now);
    }
}
