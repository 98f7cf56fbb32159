//! A diagram of a simulated flow, as one of its hosts sees it.

use recoup_draw::sequence::{Arrival, Mark, Panel, Recorder};
use recoup_recovery::{Event, Send};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};

/// Watches what one host of one flow sends, and what it hears of it.
#[derive(Clone, Debug)]
pub struct Watch {
    host: Host,
    recorder: Recorder,
    /// The initial sequence number of the host's data.
    isn: Option<SeqNumber>,
    /// The window scales offered by the host and its peer, once their SYNs went by.
    scales: [Option<Option<u8>>; 2],
}

impl Watch {
    /// Watches the data of `host`.
    pub fn new(host: Host) -> Self {
        Self {
            host,
            recorder: Recorder::default(),
            isn: None,
            scales: [None; 2],
        }
    }

    /// What was seen; time 0 is the flow's start.
    pub fn into_marks(self) -> Vec<Mark> {
        self.recorder.into_marks()
    }

    /// What was seen, as a panel.
    pub fn into_panel(self, title: impl Into<String>) -> Panel {
        Panel {
            title: title.into(),
            marks: self.into_marks(),
        }
    }

    fn hear(&mut self, now: Instant, packet: &Packet) {
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
        let arrival = Arrival {
            una,
            pure: segment.is_pure_ack(),
            window: window_edge(una, segment.window, segment.flags, self.scales),
        };
        self.recorder.heard(now, arrival, blocks);
    }
}

/// The end of the window an ACK of `una` offers; `scales` are those the two SYNs offered, in use
/// only when both did (RFC 7323 §2.2), and never on a SYN itself. Without both SYNs it is unknown.
pub(super) fn window_edge(
    una: Offset,
    field: u16,
    flags: Flags,
    scales: [Option<Option<u8>>; 2],
) -> Option<Offset> {
    let [own, peer] = scales;
    let scale = match (flags.contains(Flags::SYN), own?, peer?) {
        (false, Some(_), Some(scale)) => scale.min(14),
        _ => 0,
    };
    Some(una + (u64::from(field) << scale))
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
            Point::Sent if outgoing && segment.flags.contains(Flags::SYN) => {
                self.isn = Some(segment.seq);
            }
            Point::Arrived if !outgoing && packet.damage.is_none() => self.hear(now, packet),
            _ => {}
        }
    }

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if host != self.host {
            return;
        }
        match *event {
            Event::Sent {
                what: Send::New(span) | Send::NewProbe(span),
                ..
            } => self.recorder.sent(now, span),
            Event::Sent {
                what: Send::Again(span, trigger),
                ..
            } => self.recorder.sent_again(now, span, Some(trigger)),
            Event::Sent {
                what: Send::Copy(span),
                ..
            } => self.recorder.copied(now, span),
            _ => {}
        }
    }
}
