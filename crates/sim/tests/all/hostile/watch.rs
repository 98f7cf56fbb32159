//! An observer that checks both senders after every event, and recounts the flow's record from the
//! packets.

use recoup_path::DropCause;
use recoup_recovery::{Event, Transmission};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_tcp::{Endpoint, State};
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};

/// More events than any flow in these tests needs. A flow with more events does not end.
const MOST_EVENTS: u64 = 300_000;

/// The packets and events of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    isn: Option<SeqNumber>,
    /// The end of the payload, once a FIN was sent.
    end: Option<Offset>,
    /// The sequence space of each packet, by ordinal.
    sent: Vec<Span>,
    /// The number of packets that the sender's events have reported.
    reported: usize,
    /// Ordinals of extra copies, and of SYN-ACKs that answer the copy of a SYN. Neither are
    /// retransmissions.
    extra: Vec<usize>,
    copies: u64,
    /// Ordinals of packets whose data the receiver had after their arrival, in order of arrival.
    held: Vec<usize>,
    /// The packet that has just arrived.
    arriving: Option<usize>,
    segments: u64,
    bytes: u64,
    dropped: u64,
    /// Payload bytes of the packets in `held` that reached an open endpoint.
    arrived_bytes: u64,
}

/// The progress of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Progress {
    una: Offset,
    next: Offset,
    edge: Offset,
    /// When it was established.
    established: Option<Instant>,
    closed: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watch {
    seen: [Seen; 2],
    progress: [Progress; 2],
    events: u64,
    last: Instant,
    /// The first violation found.
    wrong: Option<String>,
}

impl Watch {
    fn claim(&mut self, now: Instant, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.wrong.is_none() {
            self.wrong = Some(format!("at {now}: {}", what()));
        }
    }

    /// Compares the record with the packets seen. `client_sends`: the client has data to send.
    pub fn verdict(&self, record: &FlowRecord, client_sends: bool) -> Result<(), String> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let sum = |count: fn(&Seen) -> u64| self.seen.iter().map(count).sum::<u64>();
        let counts = [
            ("segments sent", record.segments_sent, sum(|s| s.segments)),
            ("bytes sent", record.bytes_sent, sum(|s| s.bytes)),
            ("packets dropped", record.packets_dropped, sum(|s| s.dropped)),
            ("retransmissions", record.counters.retransmissions.total(), sum(|s| s.retransmissions().count() as u64)),
            ("copies", record.counters.copies, sum(|s| s.copies)),
            ("spurious retransmissions", record.spurious, sum(|s| s.spurious(|_| true))),
            (
                "spurious retransmissions with payload",
                record.spurious_data,
                sum(|s| s.spurious(|span| !s.payload(span).is_empty())),
            ),
            ("unnecessary bytes", record.unnecessary_bytes, sum(|s| s.arrived_bytes) - self.delivered_bytes()),
        ];
        let sender = if client_sends { 0 } else { 1 };
        let opened = self.progress[sender].established;
        let before = opened.map(|at| at.since(Instant::ZERO));
        if record.fct.zip(before).map(|(fct, before)| fct - before) != record.fct_established {
            return Err(format!("opened at {opened:?}: {record:?}"));
        }
        match counts.iter().find(|(_, recorded, counted)| recorded != counted) {
            Some((what, recorded, counted)) => Err(format!("{what}: recorded {recorded}, counted {counted}")),
            None => Ok(()),
        }
    }

    /// Payload bytes delivered, each counted once.
    fn delivered_bytes(&self) -> u64 {
        self.seen.iter().map(Seen::delivered_bytes).sum()
    }
}

impl Seen {
    /// The sender reports that it sent `span`. Returns whether such a packet was seen, and for a copy
    /// whether its original was seen before.
    fn take_reported(&mut self, span: Span, copy: bool) -> bool {
        let unreported = self.sent[self.reported..].iter();
        let Some(i) = unreported.clone().position(|sent| *sent == span) else {
            return false;
        };
        let ordinal = self.reported + i;
        self.note_unreported(ordinal);
        self.reported = ordinal + 1;
        if copy {
            self.extra.push(ordinal);
            self.copies += 1;
        }
        !copy || self.sent[..ordinal].contains(&span)
    }

    /// Packets that the sender did not report are not retransmissions of its own.
    fn take_unreported(&mut self) {
        self.note_unreported(self.sent.len());
        self.reported = self.sent.len();
    }

    fn note_unreported(&mut self, end: usize) {
        let carries = |i: &usize| !self.sent[*i].is_empty();
        let unreported: Vec<usize> = (self.reported..end).filter(carries).collect();
        self.extra.extend(unreported);
    }

    /// Ordinals of retransmissions.
    fn retransmissions(&self) -> impl Iterator<Item = usize> {
        let mut highest = Offset::SYN;
        self.sent.iter().enumerate().filter_map(move |(ordinal, span)| {
            let extra = self.extra.binary_search(&ordinal).is_ok();
            let again = !span.is_empty() && span.start < highest && !extra;
            highest = highest.max(span.end);
            again.then_some(ordinal)
        })
    }

    /// The number of retransmissions whose data earlier packets delivered, at any time, among those with
    /// this sequence space.
    fn spurious(&self, which: impl Fn(Span) -> bool) -> u64 {
        let needless = |&ordinal: &usize| {
            let earlier = self.held.iter().filter(|&&held| held < ordinal);
            covers(earlier.map(|&held| self.sent[held]), self.sent[ordinal])
        };
        let which = |&ordinal: &usize| which(self.sent[ordinal]);
        self.retransmissions().filter(which).filter(needless).count() as u64
    }

    /// The payload within `span`, without SYN and FIN.
    fn payload(&self, span: Span) -> Span {
        let end = self.end.map_or(span.end, |end| span.end.min(end));
        Span::new(span.start.max(Offset::DATA), end)
    }

    fn delivered_bytes(&self) -> u64 {
        let mut spans: Vec<_> = self.held.iter().map(|&ordinal| self.sent[ordinal]).collect();
        spans.sort();
        let (mut bytes, mut end) = (0, Offset::DATA);
        for span in spans.into_iter().map(|span| self.payload(span)) {
            bytes += span.end.since(span.start.max(end));
            end = end.max(span.end);
        }
        bytes
    }
}

/// Whether `parts` together cover `whole`.
fn covers(parts: impl Iterator<Item = Span>, whole: Span) -> bool {
    let mut parts: Vec<_> = parts.filter(|part| part.overlaps(whole)).collect();
    parts.sort();
    let reached = parts.iter().fold(
        whole.start,
        |reached, part| {
            if part.start <= reached { reached.max(part.end) } else { reached }
        },
    );
    reached >= whole.end
}

fn index(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        self.claim(now, self.last <= now, || "time ran backwards".into());
        self.last = now;
        let far = self.progress[1 - index(direction)];
        let seen = &mut self.seen[index(direction)];
        let segment = &packet.segment;
        let payload = u64::from(segment.payload_len);
        match point {
            Point::Sent => {
                let isn = *seen.isn.get_or_insert(segment.seq);
                let near = seen.sent.last().map_or(Offset::SYN, |span| span.end);
                let reset = segment.flags.contains(Flags::RST);
                let start = segment.seq.unwrap(isn, near).filter(|_| !reset);
                let len = u64::from(segment.sequence_len());
                let span = Span::at(start.unwrap_or(near), len);
                if segment.flags.contains(Flags::FIN) {
                    seen.end = Some(Offset(span.end.0 - 1));
                }
                let fits = seen.sent.len() as u64 == packet.ordinal;
                seen.sent.push(span);
                seen.segments += u64::from(payload > 0);
                seen.bytes += u64::from(20 + segment.header_len()) + payload;
                self.claim(now, fits, || format!("ordinal {}", packet.ordinal));
                let window = far.edge.max(Offset::DATA);
                self.claim(now, len == 0 || span.end <= window, || {
                    format!("{span} sent, but the window ends at {window}")
                });
            }
            Point::Arrived if packet.damage.is_none() => {
                seen.arriving = Some(packet.ordinal as usize);
            }
            Point::Arrived => {}
            // A thinned ACK is not a loss.
            Point::Dropped(DropCause::Thinned) => {}
            Point::Dropped(_) => seen.dropped += 1,
        }
    }

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if let Event::Sent { what, .. } = event
            && let Some(span) = what.span()
        {
            let copy = matches!(what, Transmission::Copy(_));
            let sound = self.seen[index(host.sends())].take_reported(span, copy);
            self.claim(now, sound, || format!("{what:?} reported, but not seen"));
        }
        self.claim(now, *event != Event::Reneged, || {
            "the sender detects reneging, but the receiver does not renege".into()
        });
    }

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        self.events += 1;
        assert!(self.events < MOST_EVENTS, "the flow never ends: {endpoint:?}");
        let side = index(host.sends());
        self.seen[side].take_unreported();
        let before = self.progress[side];
        let arriving = &mut self.seen[1 - side];
        if let Some(ordinal) = arriving.arriving.take() {
            let span = arriving.sent[ordinal];
            // An endpoint may reject a segment for an old timestamp (RFC 7323 §5.3).
            if !span.is_empty() && endpoint.receiver().holds(span) {
                arriving.held.push(ordinal);
                let payload = arriving.payload(span).len();
                arriving.arrived_bytes += if before.closed { 0 } else { payload };
            }
        }
        let after = Progress {
            una: endpoint.sender().una(),
            next: endpoint.receiver().next(),
            edge: endpoint.receiver().edge(),
            established: before.established.or(endpoint.is_open().then_some(now)),
            closed: matches!(endpoint.state(), State::Closed(_)),
        };
        self.progress[side] = after;
        let checked = endpoint.sender().check();
        self.claim(now, checked.is_ok(), || format!("{}: {checked:?}", host.name()));
        let forwards = before.una <= after.una && before.next <= after.next && before.edge <= after.edge;
        self.claim(now, forwards, || format!("{}: {before:?}, then {after:?}", host.name()));
        // Only data that arrived can be acknowledged.
        let far = self.progress[1 - side];
        self.claim(now, after.una <= far.next.max(Offset::SYN), || {
            format!("{}: snd_una {} beyond {}", host.name(), after.una, far.next)
        });
    }
}
