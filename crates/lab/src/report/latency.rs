//! The TCP latency of responses: Tables 9 and 11 of Dukkipati et al. 2011.
//!
//! Only the simulator measures it: the network of real packets does not know which write a packet belongs to.

use super::columns::summary;
use crate::run::ResponseTimes;
use recoup_support::stats::{Durations, Summary};
use recoup_table::Columns;

/// The responses of one profile's servers.
#[derive(Clone, Copy, Debug)]
pub struct ResponseLatencies {
    /// Responses written.
    pub written: u64,
    /// Responses whose last byte was acknowledged.
    pub all: Latency,
    /// Acknowledged responses with a retransmission (Table 9).
    pub retransmitted: Latency,
    /// Acknowledged responses that lost a segment and have more than one (Table 11).
    pub lossy: Latency,
}

/// A choice of responses and their TCP latency.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// The number of these responses.
    pub count: u64,
    /// The number of all acknowledged responses.
    pub acknowledged: u64,
    /// In ms; `None` without a response.
    pub latency: Option<Summary>,
}

impl ResponseLatencies {
    /// Summarizes these responses.
    pub(crate) fn new(times: &ResponseTimes) -> Self {
        let of = |latency: &Durations| Latency {
            count: latency.count(),
            acknowledged: times.all.count(),
            latency: latency.summary(),
        };
        Self {
            written: times.written,
            all: of(&times.all),
            retransmitted: of(&times.retransmitted),
            lossy: of(&times.lossy),
        }
    }
}

/// The responses of one profile.
pub(super) fn responses() -> Columns<ResponseLatencies> {
    Columns::<ResponseLatencies>::new()
        .column("written", "", "responses: writes of the server", |r| r.written)
        .heading("Responses written")
        .group(
            "all",
            latency(
                "Responses acknowledged",
                "responses whose last byte was acknowledged",
                "TCP latency",
                "TCP latency: from when the server sent the first byte until the ACK of the last byte arrived",
            ),
            |r| Some(&r.all),
        )
        .group(
            "retransmitted",
            latency(
                "Responses with a retransmission",
                "acknowledged responses with a retransmission, needed or spurious",
                "TCP latency with a retransmission",
                "TCP latency of responses with a retransmission",
            ),
            |r| Some(&r.retransmitted),
        )
        .group(
            "lossy",
            latency(
                "Responses of several segments with a loss",
                "acknowledged responses of several segments, one of which was lost when it was first sent",
                "TCP latency with a loss",
                "TCP latency of responses of several segments with a loss",
            ),
            |r| Some(&r.lossy),
        )
}

fn latency(
    heading: &'static str,
    about: &'static str,
    latency_heading: &'static str,
    latency_about: &'static str,
) -> Columns<Latency> {
    Columns::<Latency>::new()
        .column("count", "", about, |l| l.count)
        .heading(heading)
        .share_of(|l| l.acknowledged)
        .group("latency_ms", summary(latency_heading, latency_about), |l| l.latency.as_ref())
}
