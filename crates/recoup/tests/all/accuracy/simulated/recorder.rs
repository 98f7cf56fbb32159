//! Records the truth about each simulated packet.

use crate::accuracy::truth::{Carries, Reason, Sent};
use recoup_recovery::{Event, Transmission};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};
use std::collections::HashMap;

/// Records why each packet was sent and whether it arrived, with its frames in both captures.
#[derive(Debug, Default)]
pub struct TruthRecorder {
    pub sent: Vec<Sent>,
    /// The index in `sent` of each packet of the current flow, by its ordinal at client and server.
    places: [HashMap<u64, usize>; 2],
    /// Indexes of packets whose sender has not reported a reason yet, at client and server.
    unexplained: [Vec<usize>; 2],
    isns: [Option<SeqNumber>; 2],
    /// Frames in the captures at client and server.
    frames: [u64; 2],
}

impl TruthRecorder {
    fn on_sent(&mut self, by: Host, packet: &Packet, frame: u64) {
        let segment = &packet.segment;
        if by == Host::Client && packet.ordinal == 0 {
            self.places.iter_mut().for_each(HashMap::clear);
            self.isns = [None; 2];
            // A SYN-ACK that answers a duplicated SYN has no sender event.
            self.unexplained = [vec![], vec![]];
        }
        let syn = segment.flags.contains(Flags::SYN);
        if syn {
            self.isns[by as usize] = Some(segment.seq);
        }
        let (Some(isn), len @ 1..) = (self.isns[by as usize], segment.sequence_len()) else {
            return;
        };
        // The flows are too short for sequence numbers to wrap.
        let start = Offset(u64::from(segment.seq.since(isn)));
        self.unexplained[by as usize].push(self.sent.len());
        self.places[by as usize].insert(packet.ordinal, self.sent.len());
        self.sent.push(Sent {
            flow: packet.flow.0,
            by,
            span: Span::at(start, u64::from(len)),
            carries: Carries::of(syn, segment.payload_len > 0),
            frame,
            arrived: None,
            intact: false,
            reason: None,
        });
    }

    fn on_arrived(&mut self, by: Host, packet: &Packet, frame: u64) {
        if let Some(place) = self.places[by as usize].get(&packet.ordinal) {
            let sent = &mut self.sent[*place];
            sent.arrived.get_or_insert(frame);
            sent.intact |= packet.damage.is_none();
        }
    }
}

impl Observer for TruthRecorder {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        let by = match direction {
            Direction::Up => Host::Client,
            Direction::Down => Host::Server,
        };
        let far = match by {
            Host::Client => Host::Server,
            Host::Server => Host::Client,
        };
        let at = match point {
            Point::Sent => by,
            Point::Arrived => far,
            Point::Dropped(_) => return,
        };
        self.frames[at as usize] += 1;
        let frame = self.frames[at as usize];
        match point {
            Point::Sent => self.on_sent(by, packet, frame),
            _ => self.on_arrived(by, packet, frame),
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, host: Host, event: &Event) {
        let Event::Sent { what, .. } = *event else {
            return;
        };
        if what.span().is_none() {
            return;
        }
        let reason = match what {
            Transmission::Again(_, trigger) => Some(Reason::Trigger(trigger)),
            Transmission::Copy(_) => Some(Reason::Copy),
            Transmission::New(_) | Transmission::NewProbe(_) | Transmission::WindowProbe => None,
        };
        let unexplained = &mut self.unexplained[host as usize];
        let matches = |i: &usize| Some(self.sent[*i].span) == what.span();
        let place = unexplained.iter().position(matches).expect("a packet is observed before its event");
        self.sent[unexplained.remove(place)].reason = reason;
    }
}
