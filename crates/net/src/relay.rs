//! Carries packets between two devices through the chains of a path, in real time.
//!
//! One thread runs one loop. A packet enters its chain at the time it was read, and leaves at the instant
//! the chain says: the loop asks a chain for its next event and takes out what leaves at that instant. So
//! the loop's lateness is measured for every packet and changes nothing inside the chain. Before the loop
//! reads a packet, every packet that is due leaves.
//!
//! Between devices with offloads, packets are super-packets of up to 64 KiB, which the kernel has not cut
//! into segments. Only a path of delays alone may carry them.

use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::mpsc::Sender,
    thread::available_parallelism,
    time::Duration,
};

use recoup_path::{Chain, DropCause, Exit, HopSpec};
use recoup_units::{Direction, FlowId, Instant};
use rustix::event::{PollFd, PollFlags, poll};

use crate::{
    Block, Clock, NetError, Report, Tun,
    buffers::Buffers,
    capture::{Side, Tap},
    clock::{Vigil, be_punctual, timespec},
    log::{PacketOutcome, PacketRecord},
    packet::{Connections, RelayedPacket, destination, is_link_local},
};

/// The two devices that a relay joins.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The device that packets travelling up are written to.
    pub outside: &'a Tun,
    /// The device that packets travelling down are written to.
    pub inside: &'a Tun,
    /// The addresses at both ends.
    pub(crate) block: Block,
}

impl<'a> Ends<'a> {
    /// The device that packets of this direction are read from.
    const fn near(self, direction: Direction) -> &'a Tun {
        match direction {
            Direction::Up => self.inside,
            Direction::Down => self.outside,
        }
    }

    /// The device that packets of this direction are written to.
    const fn far(self, direction: Direction) -> &'a Tun {
        self.near(direction.reverse())
    }
}

/// The side that packets of this direction come from.
const fn near_side(direction: Direction) -> Side {
    match direction {
        Direction::Up => Side::Inside,
        Direction::Down => Side::Outside,
    }
}

/// Whether a path of these hops may carry super-packets in place of their segments: it only delays
/// packets.
pub fn carries_super_packets(hops: &[HopSpec]) -> bool {
    hops.iter().all(|hop| matches!(hop, HopSpec::Delay(_)))
}

/// Carries packets through two chains.
#[derive(Debug)]
pub struct Relay {
    up: Chain<RelayedPacket>,
    down: Chain<RelayedPacket>,
    clock: Clock,
    connections: Connections,
    buffers: Buffers,
    mtu: u32,
    super_packets: bool,
    watcher: Option<Sender<PacketRecord>>,
    tap: Option<Tap>,
    report: Report,
}

/// The most packets read from one device before the other's turn.
const BATCH: u32 = 32;

/// How long packets in flight are still carried after the stop.
const LAST_PACKETS: Duration = Duration::from_secs(1);

impl Relay {
    /// A relay for packets of up to `mtu` bytes that travel `up` and `down`. All random choices come
    /// from `seed`.
    ///
    /// # Errors
    /// When a chain cannot be built of these hops.
    pub fn new(up: &[HopSpec], down: &[HopSpec], seed: u64, mtu: u32) -> Result<Self, NetError> {
        Ok(Self {
            up: Chain::new(up, Direction::Up, seed)?,
            down: Chain::new(down, Direction::Down, seed)?,
            clock: Clock::start(),
            connections: Connections::default(),
            buffers: Buffers::default(),
            mtu,
            super_packets: carries_super_packets(up) && carries_super_packets(down),
            watcher: None,
            tap: None,
            report: Report::default(),
        })
    }

    /// Sends a record of each packet once its outcome is known.
    pub fn watch(&mut self, watcher: Sender<PacketRecord>) {
        self.watcher = Some(watcher);
    }

    /// Captures each packet when it is read at one end and when it is written at the other.
    pub fn capture(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    /// Numbers connections from `first`, by which the path draws its random choices for them. Only those
    /// that begin with a SYN are numbered.
    pub const fn count_from(&mut self, first: FlowId) {
        self.connections.count_from(first);
    }

    /// Carries packets until `stop` is readable, and then until none is in flight, for at most a second.
    /// The path's time starts when this is called.
    ///
    /// # Errors
    /// When a device is gone; [`NetError::Offloads`] when one device has offloads, but the other device or
    /// the path does not allow them.
    pub fn run(mut self, ends: Ends<'_>, stop: BorrowedFd<'_>) -> Result<Report, NetError> {
        let both = ends.outside.offloads() && ends.inside.offloads();
        if (ends.outside.offloads() || ends.inside.offloads()) && !(both && self.super_packets) {
            return Err(NetError::Offloads);
        }
        self.buffers = Buffers::new(ends.inside.longest(self.mtu));
        let real_time = be_punctual();
        self.clock = Clock::start();
        self.report.started_at = self.clock.monotonic(Instant::ZERO);
        // On a single processor, staying awake would keep all other threads waiting.
        let several = available_parallelism().is_ok_and(|processors| processors.get() > 1);
        let mut vigil = Vigil::new(self.clock.now(), real_time && several);
        let mut end = None;
        loop {
            let now = self.clock.now();
            self.release(now, ends);
            let next = self.next_event();
            let wait = match (end, next) {
                // No packet is in flight: only those that can be read at once are left.
                (Some(_), None) => Some(now),
                (end, next) => next.into_iter().chain(end).min(),
            };
            let now = self.clock.now();
            let wait = wait.map(|at| {
                let wait = at.since(now);
                vigil.as_mut().map_or(wait, |vigil| vigil.sleep(now, wait))
            });
            // After the stop, its descriptor stays readable.
            let stop = end.is_none().then_some(stop);
            let ready = wait_for(ends, stop, wait)?;
            let mut moved = false;
            for (direction, ready) in [(Direction::Up, ready.up), (Direction::Down, ready.down)] {
                moved |= ready && self.take_in(direction, ends)?;
            }
            if ready.stop {
                end = Some(self.clock.now() + LAST_PACKETS);
            }
            let over = |end| now >= end || (next.is_none() && !moved);
            if !ready.stop && end.is_some_and(over) {
                break;
            }
        }
        self.finish();
        Ok(self.report)
    }

    const fn chain(&mut self, direction: Direction) -> &mut Chain<RelayedPacket> {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let events = [self.up.next_event(), self.down.next_event()];
        events.into_iter().flatten().min()
    }

    /// Reads packets of one direction. Returns whether there were any.
    fn take_in(&mut self, direction: Direction, ends: Ends<'_>) -> Result<bool, NetError> {
        let near = ends.near(direction);
        for i in 0..BATCH {
            let mut buffer = self.buffers.take();
            let read = near.read_frame(&mut buffer);
            let read = read.map_err(|e| NetError::system(format!("read from {}", near.name()))(e))?;
            let Some((header, len)) = read else {
                self.buffers.give_back(buffer);
                return Ok(i > 0);
            };
            let packet = &buffer[..len];
            let stale = destination(packet).is_some_and(|to| ends.block.was_inner_end(to));
            if is_link_local(packet) || stale {
                self.buffers.give_back(buffer);
                continue;
            }
            let arrival = self.clock.now();
            let buffer = self.buffers.fit(buffer, len);
            if let Some(tap) = &mut self.tap {
                let at = self.clock.monotonic(arrival);
                tap.see(near_side(direction), at, header, &buffer[..len]);
            }
            // Packets due before this one leave first, in both directions.
            self.release(arrival, ends);
            let (flow, tcp) = self.connections.classify(&buffer[..len]);
            let counts = self.report.counts_mut(direction);
            counts.entered += 1;
            counts.bytes += len as u64;
            let number = counts.entered;
            self.chain(direction)
                .enter(arrival, RelayedPacket { buffer, len, header, number, arrival, flow, tcp, damaged: false });
            // A packet that no hop holds leaves at once.
            self.release(arrival, ends);
        }
        Ok(true)
    }

    /// Lets every packet due by `now` leave, in the order of time.
    fn release(&mut self, now: Instant, ends: Ends<'_>) {
        loop {
            let (up, down) = (self.up.next_event(), self.down.next_event());
            let (direction, due) = match (up, down) {
                (Some(up), Some(down)) if down < up => (Direction::Down, down),
                (Some(up), _) => (Direction::Up, up),
                (None, Some(down)) => (Direction::Down, down),
                (None, None) => return,
            };
            if due > now {
                return;
            }
            while let Some(exit) = self.chain(direction).next_exit(due) {
                self.leave(direction, due, exit, ends);
            }
        }
    }

    fn leave(&mut self, direction: Direction, due: Instant, exit: Exit<RelayedPacket>, ends: Ends<'_>) {
        let (packet, outcome) = match exit {
            Exit::Delivered(packet) => {
                let departure = self.clock.now();
                let parts = [packet.bytes(), &[], &[]];
                let written = ends.far(direction).write_frame(&packet.header, parts);
                let counts = self.report.counts_mut(direction);
                let outcome = if written.is_ok() {
                    counts.delivered += 1;
                    self.report.error.add(departure.since(due));
                    if let Some(tap) = &mut self.tap {
                        let (side, at) = (near_side(direction.reverse()), self.clock.monotonic(departure));
                        tap.see(side, at, packet.header, packet.bytes());
                    }
                    PacketOutcome::Delivered { due, departure }
                } else {
                    counts.refused += 1;
                    PacketOutcome::Refused { due }
                };
                (packet, outcome)
            }
            Exit::Dropped { packet, cause, .. } => {
                let counts = self.report.counts_mut(direction);
                match cause {
                    DropCause::Loss => counts.lost += 1,
                    DropCause::QueueFull => counts.queue_full += 1,
                    DropCause::Managed => counts.managed += 1,
                    DropCause::Thinned => counts.thinned += 1,
                }
                (packet, PacketOutcome::Dropped { due, cause })
            }
        };
        self.record(PacketRecord::new(direction, &packet, outcome));
        self.buffers.give_back(packet.buffer);
    }

    fn record(&self, record: PacketRecord) {
        if let Some(watcher) = &self.watcher {
            // A watcher that stopped reports its error itself.
            let _ = watcher.send(record);
        }
    }

    /// Counts and records the packets still in the chains.
    fn finish(&mut self) {
        for direction in [Direction::Up, Direction::Down] {
            while let Some(at) = self.chain(direction).next_event() {
                while let Some(exit) = self.chain(direction).next_exit(at) {
                    let (Exit::Delivered(packet) | Exit::Dropped { packet, .. }) = exit;
                    self.report.counts_mut(direction).unfinished += 1;
                    self.record(PacketRecord::new(direction, &packet, PacketOutcome::Unfinished));
                }
            }
        }
        self.report.connections_exhausted = self.connections.exhausted();
    }
}

/// Which descriptors are readable.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    up: bool,
    down: bool,
    stop: bool,
}

/// Waits until a descriptor is readable, but not longer than `wait`.
fn wait_for(ends: Ends<'_>, stop: Option<BorrowedFd<'_>>, wait: Option<Duration>) -> Result<Ready, NetError> {
    let wait = wait.map(timespec);
    let (up, down) = (ends.inside.as_fd(), ends.outside.as_fd());
    let mut watched = [up, down, stop.unwrap_or(up)].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut watched, wait.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
        Err(e) => return Err(NetError::system("wait for packets")(e)),
    }
    let ready = |i: usize| !watched[i].revents().is_empty();
    Ok(Ready { up: ready(0), down: ready(1), stop: stop.is_some() && ready(2) })
}
