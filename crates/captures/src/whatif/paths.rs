//! Facts about a path that its connections share: its bottleneck, and how long its receivers delay ACKs.
//!
//! A connection seldom shows the limit of a queue, or the delay of ACKs, by itself. All connections of a path
//! together do, and each is then rerun with what its path shows; without ACK delays on its path, with those
//! of the capture. A path is known by the address of the peer.

use recoup_path::{Policer, Queue};
use recoup_support::threads::in_parallel_with;
use recoup_whatif::bottleneck::Bottleneck;
use recoup_whatif::policing;
use recoup_whatif::transmission::Transmission;
use recoup_whatif::{AckDelays, Recorded};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;

/// Adds to each connection what the connections to the same peer show.
pub(crate) fn share(connections: &mut [(IpAddr, Recorded)], threads: usize) {
    let mut paths: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    for (number, (peer, _)) in connections.iter().enumerate() {
        paths.entry(*peer).or_default().push(number);
    }
    let paths: Vec<Vec<usize>> = paths.into_values().collect();
    let infer = |(): &mut (), path: usize| {
        let of_path = || paths[path].iter().map(|i| &connections[*i].1);
        let transmissions: Vec<_> = of_path().map(Recorded::transmissions).collect();
        let (bottleneck, policer) = limits(&transmissions);
        let slowest = if bottleneck.is_none() { Bottleneck::slowest(&transmissions) } else { None };
        Ok::<_, Infallible>(PathFacts { bottleneck, policer, slowest, ack_delays: ack_delays(of_path()) })
    };
    let Ok(found) = in_parallel_with(paths.len(), threads, || (), infer);
    let of_capture = ack_delays(connections.iter().map(|(_, recorded)| recorded));
    for (path, facts) in paths.iter().zip(found) {
        for number in path {
            let recorded = &mut connections[*number].1;
            recorded.set_ack_delays(&facts.ack_delays);
            recorded.set_ack_delays(&of_capture);
            recorded.set_limits(facts.bottleneck.as_ref(), facts.policer);
            if let Some(slowest) = facts.slowest {
                recorded.set_slowest(slowest);
            }
        }
    }
}

/// Facts about a path.
struct PathFacts {
    bottleneck: Option<Bottleneck>,
    policer: Option<Policer>,
    /// Where none is known: as slow as the path can be.
    slowest: Option<Bottleneck>,
    ack_delays: AckDelays,
}

/// The losses that a policer must explain for each that the limit of the queue explains.
const TIMES_AS_MANY: usize = 2;

/// What limited the packets of a path: its rate and queue, and a policer.
///
/// A queue that drains at a rate and a bucket that fills at it drop alike, so a queue is believed first. By chance, a
/// few losses of a policer coincide with a large backlog: so the policer is believed if it explains [`TIMES_AS_MANY`] losses, and
/// the queue has no limit then.
pub(super) fn limits(connections: &[&[Transmission]]) -> (Option<Bottleneck>, Option<Policer>) {
    let mut bottleneck = Bottleneck::infer(connections);
    let policer = policing::infer(connections).filter(|policer| {
        let by_queue =
            bottleneck.iter().flat_map(|one| connections.iter().map(|sent| overflows(one, sent))).sum::<usize>();
        let by_policer =
            |sent: &&[Transmission]| policing::dropped(*policer, sent).into_iter().filter(|is| *is).count();
        connections.iter().map(by_policer).sum::<usize>() >= TIMES_AS_MANY * by_queue
    });
    if let Some(bottleneck) = bottleneck.as_mut().filter(|_| policer.is_some()) {
        bottleneck.queue = Queue::Unlimited;
    }
    (bottleneck, policer)
}

/// Losses that the limit of the queue explains.
fn overflows(bottleneck: &Bottleneck, sent: &[Transmission]) -> usize {
    bottleneck.passages(sent).passages.iter().filter(|passage| passage.is_overflow).count()
}

fn ack_delays<'a>(connections: impl Iterator<Item = &'a Recorded>) -> AckDelays {
    let mut all = AckDelays::default();
    connections.for_each(|recorded| all.merge(&AckDelays::of(recorded)));
    all
}
