//! The columns of flows, of segments sent and of the sender's steps.

use super::cell::{Exit, Flow, SchemeCell, Sent, Step};
use crate::columns_of_figure;
use recoup_table::Columns;

/// The columns of a cell in the table for people.
pub const TEXT: [&str; 11] = [
    "scheme",
    "ack",
    "entered_ms",
    "exit_at_ms",
    "exit_ssthresh",
    "exit_pipe_before",
    "exit_cwnd",
    "retransmitted_at_ms",
    "largest_burst",
    "second_write_rounds",
    "second_write_ms",
];

/// The columns that identify a flow.
fn flow_columns<R: 'static>(figure: &'static str, flow: fn(&R) -> Flow) -> Columns<R> {
    columns_of_figure::<R>(figure)
        .text(("scheme", "", "the sender's rate control"), move |r| Some(flow(r).scheme.name().into()))
        .text(("profile", "", "the sender's profile"), move |r| Some(flow(r).scheme.profile().into()))
        .text(("ack", "", "the receiver's `ack` setting"), move |r| Some(flow(r).acks.name().into()))
}

/// A row per flow.
pub fn cells(figure: &'static str) -> Columns<SchemeCell> {
    const AFTER: &str = "ms after the first write";
    let exit = Columns::<Exit>::new()
        .real(("at_ms", AFTER, "end of recovery"), |e| Some(e.at_ms))
        .heading("to")
        .integer(("ssthresh", "segments", "slow-start threshold at the end of recovery"), |e| Some(e.ssthresh.into()))
        .heading("ssthresh")
        .integer(("pipe_before", "segments", "segments in flight before the ACK that ended recovery"), |e| {
            Some(e.pipe_before.into())
        })
        .heading("pipe before")
        .integer(("cwnd", "segments", "congestion window after recovery"), |e| Some(e.cwnd.into()))
        .heading("cwnd after");
    flow_columns::<SchemeCell>(figure, |c| c.flow)
        .real(("entered_ms", AFTER, "beginning of recovery"), |c| c.entered_ms)
        .heading("recovery from")
        .group("exit", exit, |c| c.exit.as_ref())
        .text(("retransmitted_at_ms", AFTER, "times of retransmissions"), |c| Some(c.retransmission_times().into()))
        .heading("retransmissions at")
        .integer(
            ("largest_burst", "segments", "largest number of segments sent at one instant after the first write"),
            |c| Some(c.largest_burst().into()),
        )
        .heading("largest burst")
        .text(("second_write_rounds", "segments", "segments of the second write sent in each round trip"), |c| {
            Some(c.rounds().into())
        })
        .heading("second write by RTT")
        .real(("second_write_ms", "ms after the second write", "time until the second write was acknowledged"), |c| {
            c.second_write_ms
        })
        .heading("acknowledged")
}

/// A row per segment sent.
pub fn segments(figure: &'static str) -> Columns<(Flow, Sent)> {
    flow_columns::<(Flow, Sent)>(figure, |(flow, _)| *flow)
        .real(("at_ms", "ms", "time since the first write"), |(_, sent)| Some(sent.at_ms))
        .integer(("segment", "", "number of the segment in the stream, from 1"), |(_, sent)| Some(sent.segment))
        .flag(("again", "", "a retransmission"), |(_, sent)| sent.trigger.is_some())
        .text(("trigger", "", "trigger of a retransmission"), |(_, sent)| sent.trigger.map(Into::into))
        .integer(("pipe", "segments", "segments in flight, this one included"), |(_, sent)| Some(sent.pipe.into()))
        .integer(("cwnd", "segments", "congestion window"), |(_, sent)| Some(sent.cwnd.into()))
}

/// A row per instant at which the sender responded to an ACK, a write or a timer.
pub fn steps(figure: &'static str) -> Columns<(Flow, Step)> {
    flow_columns::<(Flow, Step)>(figure, |(flow, _)| *flow)
        .real(("at_ms", "ms", "time since the first write"), |(_, step)| Some(step.at_ms))
        .flag(("on_ack", "", "a response to an ACK"), |(_, step)| step.ack)
        .flag(("recovery", "", "in recovery afterwards"), |(_, step)| step.recovery)
        .integer(("sent", "segments", "segments sent"), |(_, step)| Some(step.sent.into()))
        .integer(("pipe", "segments", "segments in flight afterwards"), |(_, step)| Some(step.pipe.into()))
        .integer(("cwnd", "segments", "congestion window afterwards"), |(_, step)| Some(step.cwnd.into()))
}
