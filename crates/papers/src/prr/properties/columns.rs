//! The columns of cells and of counterexamples.

use super::{Check, ID, Moment, Network, Property, PropertyCell, Scheme};
use crate::columns_of_figure;
use recoup_table::Columns;

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
        .text(("network", "", "the network"), |c| Some(c.network.name().into()))
        .text(("scheme", "", "the sender's rate control"), |c| Some(c.scheme.name().into()))
        .text(("profile", "", "the sender's profile"), |c| Some(c.profile.into()))
        .integer(("flows", "", "flows run"), |c| Some(c.flows))
        .integer(("recoveries", "", "recoveries begun"), |c| Some(c.recoveries))
        .integer(("acks", "", "ACKs processed in recovery"), |c| Some(c.acks))
        .heading("ACKs")
        .signed(("most_on_an_ack", "segments", "largest number of segments sent on one ACK of recovery"), |c| {
            Some(c.most_on_an_ack)
        })
        .heading("largest burst on an ACK")
        .signed(("most_with_a_write", "segments", "largest number of segments sent on one write in recovery"), |c| {
            Some(c.most_with_a_write)
        })
        .heading("largest burst on a write")
        .integer(("complete", "recoveries", "recoveries ended by an ACK of the recovery point"), |c| Some(c.complete))
        .integer(
            ("below_ssthresh", "recoveries", "recoveries of `complete` with cwnd below ssthresh before that ACK"),
            |c| Some(c.below_ssthresh),
        )
        .heading("cwnd below ssthresh at the end")
        .share_of(|c| c.complete)
        .signed(("most_short", "segments", "largest shortfall from PRR's proportional share"), |c| Some(c.most_short))
        .heading("largest shortfall from PRR's share")
        .integer(("at_ssthresh", "recoveries", "recoveries of `complete` after which cwnd was ssthresh"), |c| {
            Some(c.at_ssthresh)
        })
        .integer(
            ("sent_one", "recoveries", "recoveries with data to send in which only the first retransmission was sent"),
            |c| Some(c.sent_one),
        )
        .integer(("timed_out", "recoveries", "recoveries that a timeout ended"), |c| Some(c.timed_out));
    for property in Property::ALL {
        let check = Columns::<PropertyCell>::new()
            .integer(("cases", "", "cases in which the property was checked"), move |c| Some(c.check(property).cases))
            .integer(("broken", "", "cases in which the property did not hold"), move |c| {
                Some(c.check(property).broken)
            });
        columns = columns.group(property.name(), check, |c| Some(c));
    }
    columns
}

/// A row per network, scheme and property that did not hold: the worst case.
pub fn counterexamples() -> Columns<Counterexample> {
    columns_of_figure::<Counterexample>(ID)
        .text(("network", "", "the network"), |c| Some(c.network.name().into()))
        .text(("scheme", "", "the sender's rate control"), |c| Some(c.scheme.name().into()))
        .text(("property", "", "the property"), |c| Some(c.property.name().into()))
        .integer(("excess", "segments", "by how much the bound is exceeded; 1 for a property that is no bound"), |c| {
            Some(c.excess)
        })
        .all_of(moments(), |c| Some(&c.moment))
}

fn moments() -> Columns<Moment> {
    Columns::<Moment>::new()
        .integer(("flow", "", "the flow's number"), |m| Some(m.flow))
        .real(("at_ms", "ms", "time since the flow began"), |m| Some(m.at_ms))
        .integer(("delivered", "segments", "segments delivered in the recovery so far"), |m| Some(m.delivered))
        .integer(("sent", "segments", "segments sent in the recovery so far"), |m| Some(m.sent))
        .integer(("acks", "", "ACKs processed in the recovery so far"), |m| Some(m.acks))
        .integer(("burst", "segments", "segments sent at that moment"), |m| Some(m.burst.into()))
        .integer(("pipe", "segments", "segments in flight afterwards"), |m| Some(m.pipe.into()))
        .integer(("ssthresh", "segments", "slow-start threshold"), |m| Some(m.ssthresh.into()))
}
