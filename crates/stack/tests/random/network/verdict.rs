//! The end: the path is without faults, all applications read everything and close, and what must hold is checked.

use super::{
    Duration, End, Endpoints, HashMap, Network,
    choices::Choices,
    settings::{Ending, Reading},
};

/// How long connections may take to end on a path without faults. A peer that vanished is given up after about a quarter of
/// an hour (Linux `tcp_retries2`); several such waits may follow one another.
const LAST_HOURS: Duration = Duration::from_secs(3 * 3600);

/// How long TIME-WAIT lasts, and fragments wait, at most.
const LAST_MINUTES: Duration = Duration::from_secs(130);

/// Losses that may break a connection off: of SYNs, and of data. A sender that was let go of gives up after four minutes
/// without an ACK, which few timeouts fill once round trips took seconds.
const LOST_SYNS: u32 = 3;
const LOST_SEGMENTS: u32 = 4;

/// What became of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Connections begun.
    pub begun: u64,
    /// Those that delivered everything both ways.
    pub delivered: u64,
    /// Those that an application broke off, or an attacker who saw their packets may have.
    pub excused: u64,
    /// Those that lost packets or refusals of a full host broke off.
    pub broken: u64,
    /// Packets that hosts sent.
    pub packets: u64,
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.begun += other.begun;
        self.delivered += other.delivered;
        self.excused += other.excused;
        self.broken += other.broken;
        self.packets += other.packets;
    }
}

impl Network {
    /// Ends all connections, and checks what must hold.
    pub(super) fn finish(mut self) -> Summary {
        self.path.weather = self.path.weather.calmed();
        self.ending = true;
        for end in &mut self.ends {
            end.plan.bytes = end.written;
            end.plan.ending = Ending::WhenWritten;
        }
        for number in 0..self.nodes.len() {
            self.nodes[number].accepts = true;
            self.accept(number);
        }
        for end in 0..self.ends.len() {
            self.serve(end, true);
        }
        self.wait_for_ends();
        // Where a peer broke off and its reset was lost, nothing tells an application that only reads. It gives up.
        for end in 0..self.ends.len() {
            if !self.ends[end].released {
                self.release(end);
            }
        }
        self.wait_for_ends();
        assert!(self.nodes.iter().all(|node| node.host.connections() == 0), "stuck:\n{}", self.unfinished());
        self.run(LAST_MINUTES);
        self.check_hosts();
        self.judge()
    }

    /// Waits until no connection is left, or nothing happens any more.
    fn wait_for_ends(&mut self) {
        let until = self.now + LAST_HOURS;
        let mut steps = 0_u64;
        while self.nodes.iter().any(|node| node.host.connections() > 0) && self.step(until) {
            steps += 1;
            assert!(steps < 3_000_000, "connections have no end:\n{}", self.unfinished());
        }
    }

    /// The connections that are not over.
    fn unfinished(&self) -> String {
        let mut lines: Vec<String> = self.nodes.iter().map(|node| format!("{:?}", node.host.stats())).collect();
        for (number, node) in self.nodes.iter().enumerate() {
            let timer = node.host.next_timer();
            lines.push(format!(
                "host {number}: {} connections, {} bytes of {}, next timer {timer:?} at {:?}",
                node.host.connections(),
                node.host.memory(),
                node.host.config().memory,
                self.now
            ));
        }
        for end in self.ends.iter().filter(|end| !end.released).take(8) {
            let host = &self.nodes[end.host].host;
            lines.push(format!("{end:?}\n  {:?}\n  {:?}", host.state(end.id), host.info(self.now, end.id)));
        }
        if std::env::var_os("RECOUP_DUMP").is_some() {
            lines.extend(self.nodes.iter().map(|node| format!("{:#?}", node.host)));
        }
        lines.join("\n")
    }

    /// No host has anything left.
    fn check_hosts(&self) {
        for node in &self.nodes {
            let host = &node.host;
            assert_eq!(host.memory(), 0, "memory without connections");
            assert_eq!((host.time_waits(), host.time_wait_memory()), (0, 0), "memory of TIME-WAIT");
            assert_eq!(host.next_timer(), None, "a timer without connections");
            assert!(!host.has_work(), "work without connections");
            let stats = host.stats();
            assert_eq!((stats.packets_in, stats.packets_out), (node.given, node.taken), "packets in and out");
            assert!(stats.ignored <= stats.packets_in, "{stats:?}");
        }
    }

    /// What became of each connection, and whether it may.
    fn judge(&self) -> Summary {
        let mut accepted: HashMap<Endpoints, Vec<&End>> = HashMap::new();
        for end in self.ends.iter().filter(|end| !end.connected) {
            accepted.entry(end.path).or_default().push(end);
        }
        let mut summary =
            Summary { packets: self.nodes.iter().map(|node| node.taken).sum::<u64>(), ..Summary::default() };
        for end in self.ends.iter().filter(|end| end.connected) {
            summary.begun += 1;
            if self.excused.contains(&end.path) {
                summary.excused += 1;
                continue;
            }
            // A copy of its SYN, or of data with a SYN cookie, may have begun another connection, which came to nothing.
            let peers = accepted.get(&end.path.reverse()).map(Vec::as_slice).unwrap_or_default();
            let peer = peers.iter().find(|peer| delivered(end, peer)).or(peers.first()).copied();
            if peer.is_some_and(|peer| delivered(end, peer)) {
                summary.delivered += 1;
            } else {
                summary.broken += 1;
                self.check_excuse(end, peer);
            }
        }
        summary
    }

    /// A connection did not deliver everything: packets were lost, or a host was full.
    fn check_excuse(&self, end: &End, peer: Option<&End>) {
        let lost = |path: &Endpoints| self.lost.get(path).copied().unwrap_or_default();
        let lost = lost(&end.path) + lost(&end.path.reverse());
        let full = self.nodes.iter().any(|node| {
            let stats = node.host.stats();
            let refused = if peer.is_none() { stats.syns_dropped } else { 0 };
            refused + stats.segments_without_memory + stats.challenges_withheld > 0
        });
        // An end that was let go of gives a peer up that reads nothing for minutes.
        let slow =
            |one: &End, other: &End| one.plan.reading != Reading::Eagerly && other.released && other.how.is_none();
        let full = full || peer.is_some_and(|peer| slow(end, peer) || slow(peer, end));
        // A listener without room for the ACK that ends a handshake drops the data with it, as the path would.
        let crowded = self.nodes.iter().any(|node| node.host.stats().syns_dropped > 0);
        let most = if peer.is_some() { LOST_SEGMENTS - u32::from(crowded) } else { LOST_SYNS };
        assert!(full || lost >= most, "{lost} packets lost, but not everything was delivered:\n{end:?}\n{peer:?}");
        // What becomes of a connection that was let go of, only its peer learns, if anybody.
        let may_break = |end: &End| end.is_broken() || (end.released && end.how.is_none());
        let broken = may_break(end) || peer.is_some_and(may_break);
        assert!(broken || peer.is_none(), "nobody broke it off:\n{end:?}\n{peer:?}");
    }
}

/// Whether a connection delivered everything both ways.
fn delivered(end: &End, peer: &End) -> bool {
    end.opened && end.finished && peer.finished && end.read == peer.written && peer.read == end.written
}

/// A network that a seed chooses, and what became of its connections.
pub fn of_seed(seed: u64) -> Summary {
    let mut choices = Choices::of_seed(seed);
    let steps = 20 + choices.below(400) as usize;
    Network::new(&mut choices).play(&mut choices, steps)
}
