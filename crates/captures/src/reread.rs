//! Reads chosen connections of a capture, after an analysis has found them.

use recoup_trace::finding::{CapturePoint, Connection};
use recoup_trace::read::{CapturedPacket, PacketSource, Tunnel};
use recoup_units::Direction;
use recoup_wire::Endpoints;
use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

/// The number of packets between two calls of `go_on`.
const WATCH_INTERVAL: u64 = 4096;

/// A connection whose packets are read again.
#[derive(Clone, Debug)]
pub(crate) struct Sought {
    /// Its number in the capture.
    pub id: u64,
    /// Its ends: the source opened the connection.
    pub endpoints: Endpoints,
    /// Its first and last frame.
    pub frames: RangeInclusive<u64>,
    /// The capture point whose packets are read.
    pub point: CapturePoint,
    /// The tunnels of each direction, if they tell it from other connections.
    pub tunnels: [Vec<Tunnel>; 2],
}

impl Sought {
    pub fn of(connection: &Connection) -> Self {
        Self {
            id: connection.id,
            endpoints: connection.endpoints,
            frames: connection.frames.clone(),
            point: connection.capture_point.clone(),
            tunnels: connection.tunnels.clone(),
        }
    }

    /// Whether a packet between its ends may be one of its own.
    fn holds(&self, direction: Direction, packet: &CapturedPacket) -> bool {
        let side = direction as usize;
        let tunnels = &self.tunnels[side];
        self.point.holds(side, packet) && (tunnels.is_empty() || tunnels.contains(&packet.tunnel))
    }
}

/// Takes the packets of the connections sought, which are numbered in the order given.
pub(crate) trait TakesPackets {
    /// A packet of a connection. `Up` is what the end that opened the connection sent.
    fn packet(&mut self, connection: usize, direction: Direction, packet: &CapturedPacket);

    /// The last packet of the connection was read.
    fn last(&mut self, _connection: usize) {}
}

/// Connections that are read along with others, and what takes their packets.
pub(crate) struct Also<'a> {
    pub sought: Vec<&'a Sought>,
    pub takes: &'a mut dyn TakesPackets,
}

/// Two that take packets: the first those of the first connections.
struct Both<'a, A> {
    first: &'a mut A,
    /// How many connections are the first one's.
    count: usize,
    other: &'a mut dyn TakesPackets,
}

impl<A: TakesPackets> TakesPackets for Both<'_, A> {
    fn packet(&mut self, connection: usize, direction: Direction, packet: &CapturedPacket) {
        match connection.checked_sub(self.count) {
            None => self.first.packet(connection, direction, packet),
            Some(others) => self.other.packet(others, direction, packet),
        }
    }

    fn last(&mut self, connection: usize) {
        match connection.checked_sub(self.count) {
            None => self.first.last(connection),
            Some(others) => self.other.last(others),
        }
    }
}

/// Reads the packets of connections, as [`read_connections`] does, and those of others in the same reading.
pub(crate) fn read_both<S: PacketSource>(
    source: S,
    sought: Vec<&Sought>,
    takes: &mut impl TakesPackets,
    also: Option<Also<'_>>,
    go_on: impl FnMut(&S) -> bool,
) {
    let Some(also) = also else {
        return read_connections(source, &sought, takes, go_on);
    };
    let mut both = Both { first: takes, count: sought.len(), other: also.takes };
    let all: Vec<&Sought> = sought.into_iter().chain(also.sought).collect();
    read_connections(source, &all, &mut both, go_on);
}

/// Reads the packets of connections. `go_on` is called every few thousand packets; reading stops when it
/// returns `false`.
pub(crate) fn read_connections<S: PacketSource>(
    mut source: S,
    sought: &[&Sought],
    takes: &mut (impl TakesPackets + ?Sized),
    mut go_on: impl FnMut(&S) -> bool,
) {
    let mut by_ends = ByEnds::new(sought);
    let mut by_last_frame: Vec<usize> = (0..sought.len()).collect();
    by_last_frame.sort_by_key(|number| *sought[*number].frames.end());
    let mut ending = by_last_frame.into_iter().peekable();
    let mut count = 0_u64;
    while ending.peek().is_some() {
        let due = count.is_multiple_of(WATCH_INTERVAL);
        count += 1;
        if due && !go_on(&source) {
            return;
        }
        let Some(packet) = source.next_segment() else {
            break;
        };
        // Connections that ended before this frame have no more packets.
        while let Some(number) = ending.next_if(|i| *sought[*i].frames.end() < packet.frame) {
            takes.last(number);
        }
        by_ends.pass_on(&packet, sought, takes);
    }
    ending.for_each(|number| takes.last(number));
}

/// The connections between two ends, in the order of their first frames.
struct ByEnds {
    /// Keys name the end that opened the connection first.
    ends: HashMap<Endpoints, VecDeque<usize>>,
    /// Whether a connection has these ports, by [`ports`]. Most packets are of connections that nobody seeks, and need no lookup.
    ports: Vec<bool>,
}

/// The ports of a packet as one number, the same in both directions.
fn ports(ends: &Endpoints) -> usize {
    usize::from(ends.src.port() ^ ends.dst.port())
}

impl ByEnds {
    fn new(sought: &[&Sought]) -> Self {
        let mut by_first_frame: Vec<usize> = (0..sought.len()).collect();
        by_first_frame.sort_by_key(|number| *sought[*number].frames.start());
        let mut by_ends = Self { ends: HashMap::new(), ports: vec![false; 1 << 16] };
        for number in by_first_frame {
            let ends = sought[number].endpoints;
            by_ends.ends.entry(ends).or_default().push_back(number);
            by_ends.ports[ports(&ends)] = true;
        }
        by_ends
    }

    fn pass_on(&mut self, packet: &CapturedPacket, sought: &[&Sought], takes: &mut (impl TakesPackets + ?Sized)) {
        if !self.ports[ports(&packet.endpoints)] {
            return;
        }
        let ways = [(Direction::Up, packet.endpoints), (Direction::Down, packet.endpoints.reverse())];
        for (direction, ends) in ways {
            let Some(numbers) = self.ends.get_mut(&ends) else {
                continue;
            };
            // Frames only rise: what has ended has no more packets.
            let has_ended = |number: &usize| *sought[*number].frames.end() < packet.frame;
            while numbers.front().is_some_and(has_ended) {
                numbers.pop_front();
            }
            for &number in numbers.iter() {
                let one = &sought[number];
                if *one.frames.start() > packet.frame {
                    break;
                }
                if one.frames.contains(&packet.frame) && one.holds(direction, packet) {
                    takes.packet(number, direction, packet);
                }
            }
        }
    }
}
