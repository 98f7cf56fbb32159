//! The properties of proportional rate reduction (see those of [`crate::rate`]) for a whole sender. The
//! network loses, duplicates and reorders segments and ACKs, and the receiver acknowledges as rarely as it
//! likes. The tests count the segments actually sent, extra copies included. One property is about selective
//! loss prevention: if no segment is copied, the behaviour is unchanged.

use super::super::*;
use super::network::{Cause, Fate, Network, Step, copying};
use crate::counters::Ended;
use crate::profile::{Mechanism, Profile};
use crate::rate::{Bound, RateControl, RecoverFs};
use proptest::collection::vec;
use proptest::prelude::*;

/// Each loss detection used with PRR, with Reno's threshold and with CUBIC's.
const BASES: [&str; 6] =
    ["linux-3.17", "linux-3.17+reno", "linux-3.17+nofack", "linux-6", "linux-6+reno", "rfc6675+cubic"];

const BOUNDS: [(&str, Bound); 6] = [
    ("prr", Bound::SlowStart),
    ("prrcrb", Bound::Conservative),
    ("prrsafe", Bound::SafeAck),
    ("prrub", Bound::Unlimited),
    ("prrlinux", Bound::SafeAck),
    ("prrlinux3", Bound::SlowStart),
];

/// One reduction as seen from outside: Recovery, CWR, or CWR and then Recovery.
#[derive(Clone, Copy, Debug)]
struct Episode {
    delivered: u64,
    acks: u64,
    safe: u64,
    /// Segments sent on ACKs.
    sent: u64,
    /// Segments sent on timers.
    by_timer: u64,
    marked: u32,
    /// The state before the ACK that began it.
    pipe: Segments,
    cwnd: Segments,
    /// Whether an ACK began it, only ACKs followed, and no duplicate was reported.
    plain: bool,
}

/// Watches reductions.
struct Audit {
    bound: Bound,
    /// The application always has data.
    unlimited: bool,
    episode: Option<Episode>,
    /// A timer and no ACK permitted the present transmissions.
    by_timer: bool,
    /// Reductions that had to converge, and those of them that had before their last ACK.
    checked: u32,
    converged: u32,
}

impl Audit {
    fn new(bound: Bound, unlimited: bool) -> Self {
        Self { bound, unlimited, episode: None, by_timer: false, checked: 0, converged: 0 }
    }

    fn watch(&mut self, step: &Step, sender: &Sender) -> Result<(), TestCaseError> {
        sender.check().map_err(TestCaseError::fail)?;
        let marked = step.events.iter().filter(|e| matches!(e, Event::MarkedLost { .. })).count() as u32;
        let mut window = step.cwnd;
        for event in &step.events {
            if let Event::StateChanged { from, to, cwnd, .. } = *event {
                self.on_state(from, to, window, step, sender)?;
                window = cwnd; // an ACK can end one reduction and begin the next
            }
        }
        let Some(episode) = &mut self.episode else {
            return Ok(());
        };
        episode.marked += marked;
        match step.cause {
            // A rate control does not hear of it.
            Cause::Acked(summary, _) if summary.reports_copy_alone() => {}
            Cause::Acked(summary, fresh) => {
                // Linux since 4.18 counts the duplicates a DSACK reports.
                let again = sender.mechanisms.ack_processing == crate::profile::AckProcessing::Linux4_13;
                let again = u32::from(again && summary.dsack.is_some());
                prop_assert_eq!(summary.delivered.0, fresh + again, "delivered");
                episode.delivered += u64::from(summary.delivered.0);
                episode.acks += 1;
                episode.safe += u64::from(summary.una_advanced > 0 && marked == 0);
                episode.plain &= summary.dsack.is_none();
                // RFC 9937 leaves the window of before to an ACK that delivers nothing.
                let stands = self.bound == Bound::SafeAck && summary.delivered == Segments::ZERO;
                self.by_timer = stands && (self.by_timer || marked > 0);
            }
            Cause::Fired | Cause::Congested => {
                episode.plain = false;
                self.by_timer = true;
            }
            Cause::Wrote => {}
        }
        let probe = |s: &&Transmission| matches!(s, Transmission::NewProbe(_) | Transmission::Again(_, Trigger::Tlp));
        let probes = step.sent.iter().filter(probe).count() as u64;
        let sent = step.sent.len() as u64 - probes;
        match self.by_timer {
            true => episode.by_timer += sent,
            false => episode.sent += sent,
        }
        let Episode { delivered, acks, safe, sent, .. } = *episode;
        let most = match self.bound {
            Bound::Unlimited => u64::MAX,
            Bound::Conservative => delivered + 1,
            Bound::SlowStart => delivered + acks,
            Bound::SafeAck => delivered + safe + 1,
        };
        prop_assert!(sent <= most, "{:?}: {:?}", self.bound, episode);
        Ok(())
    }

    fn on_state(
        &mut self,
        from: State,
        to: State,
        window: Segments,
        step: &Step,
        sender: &Sender,
    ) -> Result<(), TestCaseError> {
        let reduces = |state| matches!(state, State::Cwr | State::Recovery);
        match (reduces(from), reduces(to)) {
            (true, false) => self.on_end(from, step, sender),
            (false, true) => {
                self.by_timer = false;
                self.episode = Some(Episode {
                    delivered: 0,
                    acks: 0,
                    safe: 0,
                    sent: 0,
                    by_timer: 0,
                    marked: 0,
                    pipe: step.pipe,
                    cwnd: window,
                    plain: begins_plainly(step, sender),
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Convergence: where no more was lost than the reduction was to take, and the window had been in
    /// use, the last ACK but the one that ends it left the pipe and the window at ssthresh; or above,
    /// by what proportion still wants, as long as less than the flight was delivered.
    fn on_end(&mut self, from: State, step: &Step, sender: &Sender) -> Result<(), TestCaseError> {
        let Some(episode) = self.episode.take() else {
            return Ok(());
        };
        let ended = sender.recoveries().last().map(|r| (r.ended, r.ssthresh));
        let ssthresh = match (from, ended) {
            (State::Recovery, Some((Ended::Complete, ssthresh))) => ssthresh,
            _ => return Ok(()),
        };
        let room = episode.cwnd.saturating_sub(ssthresh);
        // Copies take a share of the window that no pipe shows.
        let used = episode.pipe == episode.cwnd && sender.counters().copies == 0;
        let few = Segments(episode.marked) <= room;
        if self.unlimited && episode.plain && used && few {
            self.checked += 1;
            // The ACK that ends it is not PRR's: what stood in it alone was not yet answered.
            let survivors = u64::from((episode.cwnd - Segments(episode.marked)).0);
            let (pipe, cwnd) = (step.pipe, step.cwnd);
            if episode.delivered < survivors {
                prop_assert!(pipe >= ssthresh && cwnd >= ssthresh, "{episode:?}");
                return Ok(());
            }
            let flight = u64::from(episode.cwnd.0);
            let proportion = (episode.delivered * u64::from(ssthresh.0)).div_ceil(flight);
            let on_its_way =
                episode.delivered < flight && pipe > ssthresh && cwnd == pipe && episode.sent == proportion;
            if !on_its_way {
                prop_assert_eq!((pipe, cwnd), (ssthresh, ssthresh), "{:?}", episode);
                self.converged += 1;
            }
        }
        Ok(())
    }
}

/// Whether an ACK began the reduction. Algorithm 2 counts what this ACK acknowledges as delivered, but not in its
/// FlightSize: it then may end above ssthresh.
fn begins_plainly(step: &Step, sender: &Sender) -> bool {
    let flight_size = matches!(sender.mechanisms.rate, RateControl::Prr { recover_fs: RecoverFs::FlightSize, .. });
    match step.cause {
        Cause::Acked(summary, _) => !(flight_size && summary.una_advanced > 0),
        _ => false,
    }
}

fn fates(odds: u32, of: impl Strategy<Value = Fate>) -> impl Strategy<Value = Vec<Fate>> {
    vec(prop_oneof![odds => Just(Fate::Passes), 1 => of], 0..400)
}

fn trouble() -> impl Strategy<Value = Fate> {
    prop_oneof![
        5 => Just(Fate::Lost),
        1 => (1..8u64).prop_map(Fate::Late),
        1 => Just(Fate::Twice),
    ]
}

fn any_profile() -> impl Strategy<Value = (String, Bound)> {
    let select = prop::sample::select(&BASES[..]);
    let copies = prop::sample::select(&["", "+slp"][..]);
    (select, prop::sample::select(&BOUNDS[..]), copies)
        .prop_map(|(base, (rate, bound), copies)| (format!("{base}+{rate}{copies}"), bound))
}

fn run(network: &mut Network, audit: &mut Audit, steps: usize) -> Result<(), TestCaseError> {
    for _ in 0..steps {
        let Some(step) = network.step() else {
            break;
        };
        audit.watch(&step, &network.sender)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn reductions_respect_their_bounds_and_converge(
        (profile, bound) in any_profile(),
        data in fates(30, trouble()),
        acks in fates(8, trouble()),
        stretch in 1..6u32,
        timestamps in any::<bool>(),
    ) {
        let mut network = Network::new(&profile, &data, &acks, stretch);
        network.receiver.timestamps = timestamps;
        network.write(0, 1 << 20);
        let mut audit = Audit::new(bound, true);
        run(&mut network, &mut audit, 1000)?;
    }

    #[test]
    fn the_bounds_hold_for_bursts_of_losses(
        (profile, bound) in any_profile(),
        quiet in 20..120usize,
        bursts in vec((1..40usize, 1..40usize), 1..6),
        stretch in 1..4u32,
    ) {
        let mut data = vec![Fate::Passes; quiet];
        for (lost, passing) in bursts {
            data.extend(vec![Fate::Lost; lost]);
            data.extend(vec![Fate::Passes; passing]);
        }
        let mut network = Network::new(&profile, &data, &[], stretch);
        network.write(0, 1 << 20);
        run(&mut network, &mut Audit::new(bound, true), 600)?;
    }

    #[test]
    fn stalls_and_congestion_signals_keep_the_bounds(
        (profile, bound) in any_profile(),
        data in fates(12, trouble()),
        writes in vec((0..600u64, 1..40u64), 1..20),
        signals in vec(0..600u64, 0..4),
    ) {
        let mut network = Network::new(&profile, &data, &[], 1);
        writes.iter().for_each(|&(ms, segments)| network.write(ms, segments));
        signals.iter().for_each(|&ms| network.congest(ms));
        run(&mut network, &mut Audit::new(bound, false), 1000)?;
    }

    #[test]
    fn where_nothing_is_worth_a_copy_nothing_is_different(
        base in prop::sample::select(crate::profile::BASES.map(|(name, ..)| name).to_vec()),
        mechanisms in vec(prop::sample::select(&Mechanism::ALL[..]), 0..5),
        data in fates(12, trouble()),
        acks in fates(8, trouble()),
        stretch in 1..4u32,
        timestamps in any::<bool>(),
        writes in vec((0..600u64, 1..40u64), 1..20),
        signals in vec(0..600u64, 0..4),
    ) {
        let profile = mechanisms.iter().fold(base.to_string(), |p, m| p + "+" + m.name());
        let profile: Profile = profile.parse().unwrap();
        let [mut off, mut on] = [None, Some(copying(&[]))].map(|slp| {
            let rules = Mechanisms { slp, ..*profile.mechanisms() };
            let mut network = Network::of(&rules, &data, &acks, stretch);
            network.receiver.timestamps = timestamps;
            writes.iter().for_each(|&(ms, segments)| network.write(ms, segments));
            signals.iter().for_each(|&ms| network.congest(ms));
            network
        });
        for _ in 0..1000 {
            let [off, on] = [&mut off, &mut on].map(|n| (n.step(), n.now));
            let ended = off.0.is_none();
            prop_assert_eq!(format!("{off:?}"), format!("{on:?}"));
            if ended {
                break;
            }
        }
        prop_assert_eq!(off.sender.counters(), on.sender.counters());
    }
}

/// Twenty to thirty segments in flight, some of one flight lost: every bound brings the window to
/// ssthresh, however few ACKs report the deliveries.
#[test]
fn the_window_and_the_pipe_end_at_ssthresh() {
    for base in ["linux-3.17", "linux-3.17+reno", "linux-6", "rfc6675+cubic"] {
        for (rate, bound) in BOUNDS {
            for (lost, stretch) in [(1, 1), (1, 3), (4, 1), (4, 2), (5, 2)] {
                let mut data = vec![Fate::Passes; 16];
                data.extend(vec![Fate::Lost; lost]);
                let profile = format!("{base}+{rate}");
                let mut network = Network::new(&profile, &data, &[], stretch);
                network.write(0, 1 << 20);
                let mut audit = Audit::new(bound, true);
                run(&mut network, &mut audit, 200).unwrap();
                assert_eq!(audit.checked, 1, "{profile} {lost} {stretch}");
                assert!(audit.converged == 1 || stretch > 1, "{profile} {lost}");
            }
        }
    }
}
