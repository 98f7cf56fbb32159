//! Hosts of the stack on a network in virtual time, where anything may happen to packets. Applications open thousands of
//! connections, attackers forge packets, links change, memory is scarce.
//!
//! What must hold in any case:
//!
//! - every byte arrives once and in order, whatever the path does, unless an attacker who sees the connection's packets
//!   changed some;
//! - a connection that nobody broke off delivers everything, and ends, once the path is without faults;
//! - attackers who see no packets harm nobody;
//! - the memory of all connections is within its bound, and is free when there are none;
//! - packets are never longer than the link permits, counters are right, and no timer fires for ever.
//!
//! A fuzzer's bytes or a seed choose what happens ([`choices`]).
//!
//! | module | contents |
//! | --- | --- |
//! | `choices` | where decisions come from |
//! | `settings` | settings of hosts, sockets and applications |
//! | `path` | what happens to packets between hosts |
//! | `packets`, `forge` | packets of any kind; what attackers send |
//! | `ends`, `applications` | streams that need no copy to be checked; what applications do |
//! | `datagrams` | UDP and echoes |
//! | `steps` | what happens in a row |
//! | `verdict` | the end: all connections finish, and what must hold is checked |
//! | `stranger` | one host, and packets of any kind |

mod applications;
pub mod choices;
mod datagrams;
mod ends;
mod forge;
mod packets;
mod path;
mod settings;
mod steps;
pub mod stranger;
mod verdict;

use choices::{Choices, Draws};
use datagrams::Datagrams;
use ends::End;
use path::{Fate, HOSTS, Packet, Path, addresses};
use recoup_stack::host::{ConnectionId, Host, ListenerId, Secret, Sink};
use recoup_units::Instant;
use recoup_wire::{Endpoints, decode};
use settings::Plan;
use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
    time::Duration,
};
pub use verdict::{Summary, of_seed};

/// Timers that may fire within a millisecond although nothing happens: each connection's once or twice.
const IDLE_TIMERS: u64 = 1000;

/// Packets that arrive in a network, at most: many times as many as in any that ends.
const MOST_PACKETS: u64 = 3_000_000;

/// One host with its applications.
struct Node {
    host: Host,
    mtu: u16,
    /// The ends of its connections.
    ids: HashMap<ConnectionId, usize>,
    listeners: Vec<ListenerId>,
    /// Whether its applications accept connections.
    accepts: bool,
    datagrams: Datagrams,
    /// Packets for which the device has room at once.
    room: usize,
    given: u64,
    taken: u64,
    /// Timers that fired in this millisecond, and the millisecond.
    fired: (u64, u64),
}

/// All of it.
pub struct Network {
    now: Instant,
    nodes: Vec<Node>,
    path: Path,
    ends: Vec<End>,
    /// Ends by their keys.
    keys: HashMap<u64, usize>,
    /// Packets lost, by the ends of their connection.
    lost: HashMap<Endpoints, u32>,
    /// Paths of connections that an application broke off, or that were refused: they need not deliver everything.
    excused: HashSet<Endpoints>,
    /// Paths of connections that an attacker may have changed.
    tainted: HashSet<Endpoints>,
    /// Strangers sent packets: datagrams may be theirs.
    strangers: bool,
    /// Connections in all.
    most: usize,
    /// What applications decide.
    draws: Draws,
    /// At the end: all applications read everything and close.
    ending: bool,
    /// Packets that have arrived.
    delivered: u64,
    scratch: Vec<u8>,
    expected: Vec<u8>,
}

/// A host's way to the path.
struct Out<'a> {
    path: &'a mut Path,
    lost: &'a mut HashMap<Endpoints, u32>,
    now: Instant,
    from: usize,
    mtu: u16,
    room: usize,
    taken: &'a mut u64,
}

impl Sink for Out<'_> {
    fn send(&mut self, packet: &[u8]) {
        let (len, most) = (packet.len(), self.mtu);
        assert!(len <= most.into(), "a packet of {len} bytes, MTU {most}: {:?}", decode(packet));
        *self.taken += 1;
        trace(self.now, "sent", packet);
        self.room = self.room.saturating_sub(1);
        if self.path.forward(self.now, self.from, packet) == Fate::Lost
            && let Ok(decoded) = decode(packet)
        {
            *self.lost.entry(decoded.endpoints).or_default() += 1;
        }
    }

    fn room(&self) -> usize {
        self.room
    }
}

impl Network {
    /// Hosts as the choices say, with listeners and sockets.
    pub fn new(choices: &mut Choices<'_>) -> Self {
        let mut draws = Draws::new(choices.number().into());
        let count = choices.one(&[2, 2, 2, HOSTS]);
        let mut path = Path::new(Draws::new(draws.number()));
        let nodes = (0..count).map(|number| {
            let mtu = settings::mtu(choices);
            if choices.chance(60) {
                path.mtus[number] = choices.one(&[1400, 1280, 1300, 576]);
            }
            let config = settings::config(choices, addresses(number));
            let mut host = Host::new(config, mtu, Secret::from_key([number as u8 + 1; 16]));
            let listeners = listen(&mut host, number, choices);
            let datagrams = Datagrams::new(&mut host, number);
            let room = choices.one(&[usize::MAX, usize::MAX, 64, 3]);
            Node {
                host,
                mtu,
                ids: HashMap::new(),
                listeners,
                accepts: true,
                datagrams,
                room,
                given: 0,
                taken: 0,
                fired: (0, 0),
            }
        });
        let nodes = nodes.collect();
        Self {
            now: Instant::from_millis(1),
            nodes,
            path,
            ends: Vec::new(),
            keys: HashMap::new(),
            lost: HashMap::new(),
            excused: HashSet::new(),
            tainted: HashSet::new(),
            strangers: false,
            most: 4000,
            draws,
            ending: false,
            delivered: 0,
            scratch: vec![0; 100_000],
            expected: vec![0; 100_000],
        }
    }

    /// Lets `duration` pass.
    fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.step(end) {}
        self.now = end;
    }

    /// Goes on to the next event by `end`. Returns false if there is none.
    fn step(&mut self, end: Instant) -> bool {
        self.settle();
        let timers = self.nodes.iter().filter_map(|node| node.host.next_timer());
        let next = timers.chain(self.path.next()).min();
        let Some(next) = next.filter(|at| *at <= end) else {
            return false;
        };
        self.now = self.now.max(next);
        self.fire();
        while let Some(packet) = self.path.take(self.now) {
            self.deliver(packet);
        }
        true
    }

    /// Timers that are due fire.
    fn fire(&mut self) {
        let now = self.now;
        for node in &mut self.nodes {
            if node.host.next_timer().is_none_or(|at| at > now) {
                continue;
            }
            let millisecond = now.as_nanos() / 1_000_000;
            node.fired = if node.fired.1 == millisecond { (node.fired.0 + 1, millisecond) } else { (1, millisecond) };
            let most = IDLE_TIMERS + 10 * node.host.connections() as u64 + node.host.time_waits() as u64;
            assert!(node.fired.0 <= most, "timers of a host fire for ever at {now:?}");
            node.host.on_timer(now);
        }
    }

    /// A packet arrives.
    fn deliver(&mut self, packet: Packet) {
        let now = self.now;
        if let Some(node) = self.nodes.get_mut(packet.to) {
            node.given += 1;
            self.delivered += 1;
            let packet_text = || format!("{:?}", decode(&packet.bytes));
            assert!(self.delivered < MOST_PACKETS, "packets go on for ever at {now:?}: {}", packet_text());
            trace(now, "arrives", &packet.bytes);
            let Node { host, mtu, room, taken, .. } = node;
            let (path, lost) = (&mut self.path, &mut self.lost);
            let mut out = Out { path, lost, now, from: packet.to, mtu: *mtu, room: *room, taken };
            host.on_packet(now, &packet.bytes, &mut out);
            Self::check_memory(host);
        }
        self.path.reuse(packet.bytes);
    }

    /// Hosts transmit and applications act, until nothing is left to do at this time.
    fn settle(&mut self) {
        let now = self.now;
        for round in 0.. {
            assert!(round < 100_000, "there is no end of work at {now:?}");
            let mut busy = false;
            for number in 0..self.nodes.len() {
                let Node { host, mtu, room, taken, .. } = &mut self.nodes[number];
                if host.has_work() {
                    busy = true;
                    let (path, lost) = (&mut self.path, &mut self.lost);
                    let mut out = Out { path, lost, now, from: number, mtu: *mtu, room: *room, taken };
                    host.poll_transmit(now, &mut out);
                    Self::check_memory(host);
                }
                busy |= self.attend(number);
            }
            if !busy {
                return;
            }
        }
    }

    fn check_memory(host: &Host) {
        let (memory, most) = (host.memory(), host.config().memory);
        assert!(memory <= most, "{memory} bytes of memory for {} connections: {most} at most", host.connections());
    }

    /// A connection need not deliver everything from now on.
    fn excuse(&mut self, path: Endpoints) {
        self.excused.insert(path);
        self.excused.insert(path.reverse());
    }
}

/// Listeners at all addresses of a host. Those of one port wait for a decision about each SYN.
fn listen(host: &mut Host, number: usize, choices: &mut Choices<'_>) -> Vec<ListenerId> {
    let mut listeners = Vec::new();
    for port in &forge::PORTS[..3] {
        let mut options = if choices.chance(128) { host.config().tcp } else { settings::options(choices) };
        options.decide_first = *port == 82;
        for ip in addresses(number) {
            listeners.push(host.listen_with((ip, *port).into(), &options).expect("a free port"));
        }
    }
    listeners
}

/// Prints a packet if it is to or from the port that `RECOUP_PORT` says, to analyze a failure.
fn trace(now: Instant, what: &str, packet: &[u8]) {
    static PORT: LazyLock<Option<u16>> = LazyLock::new(|| std::env::var("RECOUP_PORT").ok()?.parse().ok());
    if let Some(port) = *PORT
        && let Ok(decoded) = decode(packet)
        && [decoded.endpoints.src.port(), decoded.endpoints.dst.port()].contains(&port)
    {
        println!("{now:?} {what} {} {}", decoded.endpoints.src, decoded.segment);
    }
}
