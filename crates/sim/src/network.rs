//! Networks: they carry packets between hosts.

use crate::Packet;
use recoup_path::{Chain, ChainError, Exit, PathSpec};
use recoup_units::{Direction, FlowId, Instant};

/// Where hosts put their packets in.
pub trait Entrance {
    /// The host that sends in `direction` sent this packet.
    fn enter(&mut self, now: Instant, direction: Direction, packet: Box<Packet>);
}

/// A network between the two hosts of a flow.
///
/// The simulation moves its clock to the earliest event and takes out all packets that leave by then.
pub trait Network: Entrance {
    /// Starts again at [`Instant::ZERO`] for flow number `flow` of `seed`, without packets inside.
    fn begin(&mut self, seed: u64, flow: FlowId);

    /// When something happens next inside, a packet's exit at the latest. `None`: it is empty.
    fn next_event(&self) -> Option<Instant>;

    /// When something happens next to packets that travel in `direction`, or earlier.
    fn next_event_of(&self, _direction: Direction) -> Option<Instant> {
        self.next_event()
    }

    /// Takes out the next packet of `direction` that leaves by `now`, delivered or dropped.
    fn next_exit(&mut self, now: Instant, direction: Direction) -> Option<Exit<Box<Packet>>>;
}

/// A path: a chain of hops for each direction.
#[derive(Debug)]
pub struct Chains {
    /// Up and down.
    both: [Chain<Box<Packet>>; 2],
}

impl Chains {
    /// The chains of this path.
    ///
    /// # Errors
    /// When a hop cannot be built.
    pub fn new(path: &PathSpec) -> Result<Self, ChainError> {
        Ok(Self { both: [Chain::new(&path.up, Direction::Up, 0)?, Chain::new(&path.down, Direction::Down, 0)?] })
    }

    const fn chain(&mut self, direction: Direction) -> &mut Chain<Box<Packet>> {
        &mut self.both[direction as usize]
    }
}

/// The earlier of two events.
#[inline]
pub(crate) fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

impl Entrance for Chains {
    #[inline]
    fn enter(&mut self, now: Instant, direction: Direction, packet: Box<Packet>) {
        self.chain(direction).enter(now, packet);
    }
}

impl Network for Chains {
    fn begin(&mut self, seed: u64, _: FlowId) {
        self.both.iter_mut().for_each(|chain| chain.reset(seed));
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        let [up, down] = &self.both;
        earlier(up.next_event(), down.next_event())
    }

    #[inline]
    fn next_event_of(&self, direction: Direction) -> Option<Instant> {
        self.both[direction as usize].next_event()
    }

    #[inline]
    fn next_exit(&mut self, now: Instant, direction: Direction) -> Option<Exit<Box<Packet>>> {
        self.chain(direction).next_exit(now)
    }
}
