//! One user's connection with one arm, and what is counted of it.

use super::users::{Hosts, User};
use crate::prelude::*;
use recoup_recovery::Recovery;
use recoup_sim::world::{FlowEnd, RouteId, Start, Traffic, World};
use recoup_tcp::flow::{Response, ScriptProgress};

/// A connection that takes longer is cut off.
const LONGEST: Duration = Duration::from_secs(6 * 3600);

/// The cost of a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// Data segments that the server sent.
    pub segments_sent: u64,
    /// Time in which the server had unacknowledged data, in ms.
    pub busy_ms: f64,
    /// The smoothed RTT at the end, in ms; 0 without a sample.
    pub srtt_ms: f64,
    /// The responses that were acknowledged.
    pub responses: Vec<Answer>,
    /// Counts of a disturbed connection; `None` if all packets to the client arrived in order and the server
    /// retransmitted nothing. The server then received no duplicate ACK, and all arms do the same.
    pub disturbed: Option<Box<Disturbed>>,
}

/// A response that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Its TCP latency, in ms.
    pub latency_ms: f64,
    /// The least RTT that the server had measured, in ms.
    pub min_rtt_ms: f64,
    /// Its bytes.
    pub bytes: u64,
    /// Whether a byte of it was retransmitted.
    pub is_retransmitted: bool,
    /// Whether it lost a segment and has more than one.
    pub lost_one_of_several: bool,
}

/// Counts of a disturbed connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disturbed {
    /// The counters of the server's sender.
    pub counters: Counters,
    /// Its recoveries.
    pub recoveries: Vec<Recovery>,
    /// The most segments sent on one ACK in each recovery.
    pub bursts: Vec<u32>,
    /// Recoveries in which losses brought pipe below ssthresh, by more than what an ACK delivered.
    pub below_ssthresh: u64,
    /// Early retransmissions.
    pub early: u64,
    /// Early retransmissions that a DSACK reported as duplicates.
    pub early_reported: u64,
}

impl Connection {
    /// Runs the connection of user `number`.
    ///
    /// # Errors
    /// A network that cannot be built.
    pub fn run(user: &User, hosts: &Hosts, seed: u64, number: u64) -> Result<Self, String> {
        // The seed of the world decides the losses, which differ between users.
        let seed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut world = World::new(&user.network.topology(), seed).map_err(|e| e.to_string())?;
        let mut traffic = OneConnection { spec: hosts.spec(user), has_begun: false, found: None };
        let mut watch = Watch::default();
        let ended = world.run(&mut traffic, Instant::ZERO + LONGEST, &mut watch);
        if ended.open > 0 {
            world.cut_off(&mut traffic);
        }
        let Some((mut connection, counters, recoveries)) = traffic.found else {
            return Ok(Self::default());
        };
        let is_disturbed = watch.is_disturbed || counters.retransmissions.total() > 0;
        connection.disturbed = is_disturbed.then(|| {
            Box::new(Disturbed {
                counters,
                recoveries,
                bursts: watch.bursts,
                below_ssthresh: watch.below_ssthresh,
                early: watch.early,
                early_reported: watch.early_reported,
            })
        });
        Ok(connection)
    }

    /// A count of the server's sender; 0 where nothing was disturbed.
    pub fn count(&self, of: impl Fn(&Counters) -> u64) -> f64 {
        self.disturbed.as_ref().map_or(0, |it| of(&it.counters)) as f64
    }

    /// Its recoveries.
    pub fn recoveries(&self) -> &[Recovery] {
        self.disturbed.as_ref().map_or(&[], |it| &it.recoveries)
    }
}

impl Answer {
    fn of(response: &Response) -> Option<Self> {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Some(Self {
            latency_ms: ms(response.latency()?),
            min_rtt_ms: ms(response.min_rtt?),
            bytes: response.bytes(),
            is_retransmitted: response.is_retransmitted(),
            lost_one_of_several: response.lost_one_of_several(),
        })
    }
}

/// The traffic of a user.
struct OneConnection {
    spec: FlowSpec,
    has_begun: bool,
    found: Option<(Connection, Counters, Vec<Recovery>)>,
}

impl Traffic for OneConnection {
    type Application = ScriptProgress;

    fn next_start(&self) -> Option<Instant> {
        (!self.has_begun).then_some(Instant::ZERO)
    }

    fn start(&mut self, _: Instant) -> Start<'_, ScriptProgress> {
        self.has_begun = true;
        let workload = &self.spec.workload;
        Start {
            flow: FlowId(0),
            route: RouteId(0),
            applications: [&workload.client, &workload.server].map(ScriptProgress::new),
            spec: &self.spec,
        }
    }

    fn on_end(&mut self, _: Instant, ended: &FlowEnd<'_>) {
        self.found = Some(Connection::of(ended));
    }
}

impl Connection {
    /// An undisturbed connection that has ended, the counters of its server's sender, and its recoveries.
    pub fn of(ended: &FlowEnd<'_>) -> (Self, Counters, Vec<Recovery>) {
        let sender = ended.endpoints[Host::Server as usize].sender();
        let counters = sender.counters();
        let srtt = sender.rtt().srtt().unwrap_or_default();
        let connection = Self {
            segments_sent: counters.segments_sent,
            busy_ms: counters.busy.as_secs_f64() * 1e3,
            srtt_ms: srtt.as_secs_f64() * 1e3,
            responses: ended.responses.iter().filter_map(Answer::of).collect(),
            disturbed: None,
        };
        (connection, counters, sender.recoveries().copied().collect())
    }
}

/// Notices what disturbs a connection, bursts in recovery, and early retransmissions.
#[derive(Debug, Default)]
struct Watch {
    /// The ordinal after that of the last packet that arrived at the client.
    next: u64,
    is_disturbed: bool,
    /// Segments that the server sent since it last had nothing more to do.
    sending: u32,
    is_recovering: bool,
    bursts: Vec<u32>,
    below_ssthresh: u64,
    /// Whether the recovery under way counts among them.
    is_counted: bool,
    /// Segments delivered until the server last had nothing more to do.
    delivered: u64,
    /// Early retransmissions that no DSACK has reported.
    unreported: Vec<Span>,
    early: u64,
    early_reported: u64,
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        if direction != Direction::Down {
            return;
        }
        match point {
            Point::Sent => {}
            Point::Arrived => {
                self.is_disturbed |= packet.ordinal < self.next;
                self.next = packet.ordinal + 1;
            }
            Point::Dropped(_) => self.is_disturbed = true,
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, host: Host, event: &Event) {
        if host != Host::Server {
            return;
        }
        match *event {
            Event::Sent { what, .. } => {
                let span = what.span();
                self.sending += u32::from(span.is_some_and(|span| span.end > Offset::DATA));
                if let Transmission::Again(span, Trigger::Early) = what {
                    self.early += 1;
                    self.unreported.push(span);
                }
            }
            Event::Acked { dsack: Some(duplicate), .. } => {
                let before = self.unreported.len();
                self.unreported.retain(|span| span.start >= duplicate.end || duplicate.start >= span.end);
                self.early_reported += (before - self.unreported.len()) as u64;
            }
            _ => {}
        }
    }

    fn on_settled(&mut self, _: Instant, host: Host, endpoint: &Endpoint) {
        if host != Host::Server {
            return;
        }
        let sent = std::mem::take(&mut self.sending);
        let sender = endpoint.sender();
        let is_recovering = sender.state() == State::Recovery;
        let now_delivered = sender.counters().delivered;
        let delivered = now_delivered - std::mem::replace(&mut self.delivered, now_delivered);
        self.is_counted &= is_recovering && self.is_recovering;
        if is_recovering && !self.is_counted {
            // Before it sent: what the ACK delivered is no shortfall, because as much may follow at once.
            let pipe = u64::from(sender.pipe().0.saturating_sub(sent));
            self.is_counted = pipe + delivered < u64::from(sender.ssthresh().0);
            self.below_ssthresh += u64::from(self.is_counted);
        }
        match (is_recovering, self.is_recovering) {
            (true, false) => self.bursts.push(sent),
            (true, true) => {
                if let Some(burst) = self.bursts.last_mut() {
                    *burst = sent.max(*burst);
                }
            }
            (false, _) => {}
        }
        self.is_recovering = is_recovering;
    }
}
