//! The columns of cells and of counterexamples.

use super::{Check, ID, Moment, Network, Property, PropertyCell, Scheme};
use crate::prelude::*;

/// The columns of a cell in the table for people.
pub const TEXT: [&str; 8] =
    ["network", "scheme", "recoveries", "acks", "most_on_an_ack", "most_with_a_write", "most_short", "below_ssthresh"];

/// A case in which a property did not hold.
#[derive(Clone, Copy, Debug)]
pub struct Counterexample {
    network: Network,
    scheme: Scheme,
    property: Property,
    excess: u64,
    moment: Moment,
}

impl Counterexample {
    /// The worst case of every property in every cell.
    pub fn of(cells: &[PropertyCell]) -> Vec<Self> {
        let of_check = |cell: &PropertyCell, property: Property| {
            let Check { worst, excess, .. } = *cell.check(property);
            Some(Self { network: cell.network, scheme: cell.scheme, property, excess, moment: worst? })
        };
        let of_cell = |cell| Property::ALL.into_iter().filter_map(move |property| of_check(cell, property));
        cells.iter().flat_map(of_cell).collect()
    }
}

/// A row per network and scheme: for each property the number of cases and of broken ones.
pub fn cells() -> Columns<PropertyCell> {
    let mut columns = columns!(columns_of_figure::<PropertyCell>(ID), c;
        network, "", "the network" => c.network.name();
        scheme, "", "the sender's rate control" => c.scheme.name();
        profile, "", "the sender's profile";
        flows, "", "flows run";
        recoveries, "", "recoveries begun";
        acks, "", "ACKs processed in recovery", "ACKs";
        most_on_an_ack, "segments", "largest number of segments sent on one ACK of recovery", "largest burst on an ACK";
        most_with_a_write, "segments", "largest number of segments sent on one write in recovery", "largest burst on a write";
        complete, "recoveries", "recoveries ended by an ACK of the recovery point";
        below_ssthresh, "recoveries", "recoveries of `complete` with cwnd below ssthresh before that ACK", "cwnd below ssthresh at the end";
    )
        .share_of(|c| c.complete)
        .column("most_short", "segments", "largest shortfall from PRR's proportional share", |c| c.most_short)
        .heading("largest shortfall from PRR's share")
        .column("at_ssthresh", "recoveries", "recoveries of `complete` after which cwnd was ssthresh", |c| {
            c.at_ssthresh
        })
        .column(
            "sent_one",
            "recoveries",
            "recoveries with data to send in which only the first retransmission was sent",
            |c| c.sent_one,
        )
        .column("timed_out", "recoveries", "recoveries that a timeout ended", |c| c.timed_out);
    for property in Property::ALL {
        let check = Columns::<PropertyCell>::new()
            .column("cases", "", "cases in which the property was checked", move |c| c.check(property).cases)
            .column("broken", "", "cases in which the property did not hold", move |c| c.check(property).broken);
        columns = columns.group(property.name(), check, |c| Some(c));
    }
    columns
}

/// A row per network, scheme and property that did not hold: the worst case.
pub fn counterexamples() -> Columns<Counterexample> {
    columns!(columns_of_figure::<Counterexample>(ID), c;
        network, "", "the network" => c.network.name();
        scheme, "", "the sender's rate control" => c.scheme.name();
        property, "", "the property" => c.property.name();
        excess, "segments", "by how much the bound is exceeded; 1 for a property that is no bound";
    )
    .all_of(moments(), |c| Some(&c.moment))
}

fn moments() -> Columns<Moment> {
    columns!(Columns::<Moment>::new(), m;
        flow, "", "the flow's number";
        at_ms, "ms", "time since the flow began";
        delivered, "segments", "segments delivered in the recovery so far";
        sent, "segments", "segments sent in the recovery so far";
        acks, "", "ACKs processed in the recovery so far";
        burst, "segments", "segments sent at that moment";
        pipe, "segments", "segments in flight afterwards";
        ssthresh, "segments", "slow-start threshold";
    )
}
