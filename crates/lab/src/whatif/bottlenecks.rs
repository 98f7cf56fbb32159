//! The bottlenecks of paths.
//!
//! A connection seldom shows the limit of a queue by itself. All connections of a path together do, and each
//! is then rerun over the bottleneck of its path. A path is known by the address of the peer.

use crate::run::in_parallel_with;
use recoup_whatif::Recorded;
use recoup_whatif::bottleneck::Bottleneck;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;

/// Lets each connection pass the bottleneck that the connections to the same peer show, if they show one.
pub(super) fn apply(connections: &mut [(IpAddr, Recorded)], threads: usize) {
    let mut paths: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    for (number, (peer, _)) in connections.iter().enumerate() {
        paths.entry(*peer).or_default().push(number);
    }
    let paths: Vec<Vec<usize>> = paths.into_values().collect();
    let infer = |(): &mut (), path: usize| {
        let transmissions = paths[path]
            .iter()
            .map(|i| connections[*i].1.transmissions());
        let transmissions: Vec<_> = transmissions.collect();
        Ok::<_, Infallible>(Bottleneck::infer(&transmissions))
    };
    let Ok(found) = in_parallel_with(paths.len(), threads, || (), infer);
    for (path, bottleneck) in paths.iter().zip(found) {
        let Some(bottleneck) = bottleneck else {
            continue;
        };
        for number in path {
            connections[*number].1.set_bottleneck(&bottleneck);
        }
    }
}
