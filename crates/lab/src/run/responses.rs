//! The TCP latency of many responses: Tables 9 and 11 of the 2011 paper.

use recoup_support::merge::Merge;
use recoup_support::merge_fields;
use recoup_support::stats::Durations;
use recoup_tcp::flow::Response;

/// The responses of many flows, and the distributions of their TCP latency (see [`Response::latency`]).
#[derive(Clone, Debug, Default)]
pub struct ResponseTimes {
    /// Responses that servers wrote.
    pub written: u64,
    /// The latency of all acknowledged responses: of those whose last byte was acknowledged.
    pub all: Durations,
    /// The latency of acknowledged responses with a retransmission (Table 9).
    pub retransmitted: Durations,
    /// The latency of acknowledged responses that lost a segment and have more than one (Table 11).
    pub lossy: Durations,
}

impl ResponseTimes {
    /// Adds responses.
    pub fn add(&mut self, responses: &[Response]) {
        self.written += responses.len() as u64;
        for response in responses {
            let Some(latency) = response.latency() else {
                continue;
            };
            self.all.add(latency);
            if response.is_retransmitted() {
                self.retransmitted.add(latency);
            }
            if response.lost_one_of_several() {
                self.lossy.add(latency);
            }
        }
    }
}

impl Merge for ResponseTimes {
    fn merge(&mut self, other: &Self) {
        merge_fields!(self, other: written, all, retransmitted, lossy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_units::{Instant, Offset, Span};

    /// A response of `segments` segments that takes `ms` milliseconds.
    fn response(segments: u64, ms: Option<u64>, retransmissions: u32, lost: u32) -> Response {
        Response {
            ordinal: 0,
            span: Span::at(Offset::DATA, segments * 1448),
            segments,
            first_sent_at: Some(Instant::from_millis(40)),
            acknowledged_at: ms.map(|ms| Instant::from_millis(40 + ms)),
            retransmissions,
            lost,
            min_rtt: None,
        }
    }

    #[test]
    fn each_distribution_covers_its_responses() {
        let (mut one, mut other) = (ResponseTimes::default(), ResponseTimes::default());
        one.add(&[
            response(5, Some(100), 0, 0),
            response(5, Some(200), 1, 0), // a spurious retransmission
            response(5, Some(300), 1, 1),
        ]);
        other.add(&[
            response(1, Some(400), 1, 1),
            response(5, None, 3, 1), // never acknowledged
        ]);
        one.merge(&other);
        assert_eq!(one.written, 5);
        let range = |d: &Durations| {
            let summary = d.summary().unwrap();
            (d.count(), summary.min, summary.max)
        };
        assert_eq!(range(&one.all), (4, 100.0, 400.0));
        assert_eq!(range(&one.retransmitted), (3, 200.0, 400.0));
        assert_eq!(range(&one.lossy), (1, 300.0, 300.0));
    }
}
