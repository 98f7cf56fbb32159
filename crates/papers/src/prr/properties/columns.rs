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
    let mut columns = columns_of_figure::<PropertyCell>(ID)
        .column("network", "", "the network", |c| c.network.name())
        .column("scheme", "", "the sender's rate control", |c| c.scheme.name())
        .column("profile", "", "the sender's profile", |c| c.profile)
        .column("flows", "", "flows run", |c| c.flows)
        .column("recoveries", "", "recoveries begun", |c| c.recoveries)
        .column("acks", "", "ACKs processed in recovery", |c| c.acks)
        .heading("ACKs")
        .column("most_on_an_ack", "segments", "largest number of segments sent on one ACK of recovery", |c| {
            c.most_on_an_ack
        })
        .heading("largest burst on an ACK")
        .column("most_with_a_write", "segments", "largest number of segments sent on one write in recovery", |c| {
            c.most_with_a_write
        })
        .heading("largest burst on a write")
        .column("complete", "recoveries", "recoveries ended by an ACK of the recovery point", |c| c.complete)
        .column(
            "below_ssthresh",
            "recoveries",
            "recoveries of `complete` with cwnd below ssthresh before that ACK",
            |c| c.below_ssthresh,
        )
        .heading("cwnd below ssthresh at the end")
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
    columns_of_figure::<Counterexample>(ID)
        .column("network", "", "the network", |c| c.network.name())
        .column("scheme", "", "the sender's rate control", |c| c.scheme.name())
        .column("property", "", "the property", |c| c.property.name())
        .column("excess", "segments", "by how much the bound is exceeded; 1 for a property that is no bound", |c| {
            c.excess
        })
        .all_of(moments(), |c| Some(&c.moment))
}

fn moments() -> Columns<Moment> {
    Columns::<Moment>::new()
        .column("flow", "", "the flow's number", |m| m.flow)
        .column("at_ms", "ms", "time since the flow began", |m| m.at_ms)
        .column("delivered", "segments", "segments delivered in the recovery so far", |m| m.delivered)
        .column("sent", "segments", "segments sent in the recovery so far", |m| m.sent)
        .column("acks", "", "ACKs processed in the recovery so far", |m| m.acks)
        .column("burst", "segments", "segments sent at that moment", |m| m.burst)
        .column("pipe", "segments", "segments in flight afterwards", |m| m.pipe)
        .column("ssthresh", "segments", "slow-start threshold", |m| m.ssthresh)
}
