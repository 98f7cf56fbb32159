//! A diagram of a simulated flow: the data of one of its hosts.

use recoup_draw::sequence::{AckArrival, Mark, MarkRecorder, Panel, control_flags, window_edge};
use recoup_recovery::{Event, Transmission};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant, Span};
use recoup_wire::{Flags, Segment, SeqNumber};

/// Observes the segments that one host of a flow sends, and the ACKs that it receives.
#[derive(Clone, Debug)]
pub struct Watch {
    host: Host,
    recorder: MarkRecorder,
    /// The initial sequence number of the host's data.
    isn: Option<SeqNumber>,
    /// The window scales that the host and its peer offered; `None` before the SYN of each.
    scales: [Option<Option<u8>>; 2],
}

impl Watch {
    /// An observer of the data of `host`.
    pub fn new(host: Host) -> Self {
        Self { host, recorder: MarkRecorder::default(), isn: None, scales: [None; 2] }
    }

    /// The marks of the flow; time 0 is the flow's start.
    pub fn into_marks(self) -> Vec<Mark> {
        self.recorder.into_marks()
    }

    /// The marks of the flow, as a panel.
    pub fn into_panel(self, title: impl Into<String>) -> Panel {
        Panel { title: title.into(), marks: self.into_marks() }
    }

    fn flags_sent(&mut self, now: Instant, segment: &Segment) {
        let near = self.recorder.highest();
        let start = self.isn.and_then(|isn| segment.seq.unwrap(isn, near));
        let Some(start) = start else {
            return;
        };
        for (flag, offset) in control_flags(segment, start) {
            self.recorder.control_sent(now, flag, offset);
        }
    }

    fn ack_arrived(&mut self, now: Instant, packet: &Packet) {
        let segment = &packet.segment;
        let (Some(isn), true) = (self.isn, segment.flags.contains(Flags::ACK)) else {
            return;
        };
        let near = self.recorder.highest();
        let offset = |seq: SeqNumber| seq.unwrap(isn, near);
        let Some(una) = offset(segment.ack) else {
            return;
        };
        let blocks = segment.options.sack.iter();
        let blocks = blocks.filter_map(|[a, b]| Some(Span::new(offset(a)?, offset(b)?)));
        let arrival = AckArrival {
            una,
            may_be_duplicate: segment.is_pure_ack(),
            window: window_edge(una, segment.window, segment.flags, self.scales),
        };
        self.recorder.ack_arrived(now, arrival, blocks);
    }
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let outgoing = direction == self.host.sends();
        let segment = &packet.segment;
        if segment.flags.contains(Flags::SYN) {
            self.scales[usize::from(!outgoing)] = Some(segment.options.window_scale);
        }
        match point {
            Point::Sent if outgoing => {
                if segment.flags.contains(Flags::SYN) {
                    self.isn = Some(segment.seq);
                }
                self.flags_sent(now, segment);
            }
            Point::Arrived if !outgoing && packet.damage.is_none() => self.ack_arrived(now, packet),
            _ => {}
        }
    }

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if host != self.host {
            return;
        }
        match *event {
            Event::Sent { what: Transmission::New(span) | Transmission::NewProbe(span), .. } => {
                self.recorder.data_sent(now, span)
            }
            Event::Sent { what: Transmission::Again(span, trigger), .. } => {
                self.recorder.retransmitted(now, span, Some(trigger.name()))
            }
            Event::Sent { what: Transmission::Copy(span), .. } => self.recorder.extra_copy_sent(now, span),
            _ => {}
        }
    }
}
