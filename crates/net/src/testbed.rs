//! One flow at a time over real packets: two namespaces, the path between them, and at either end the
//! kernel's TCP or Recoup's.
//!
//! ```text
//!   client's namespace              this process               server's namespace
//!   kernel sockets ──┐           ┌───────────────┐           ┌── kernel sockets
//!                    ├── TUN ═══►│ relay, chains │═══ TUN ───┤
//!   host ── TUN ─────┘           └───────┬───────┘           └───── TUN ── host
//!                                        ▼
//!                                     witness ──► FlowRecord
//! ```
//!
//! A host of ours stands behind a TUN device of its own, and the kernel forwards between that and the
//! path. What a flow cost is told by the packets at the path (`witness`), so that it is measured of
//! any stack alike; what senders count is added from them.
//!
//! Where a receiver with delayed ACKs is asked of the kernel, whoever makes the path lets it
//! acknowledge every segment and thins the ACKs ([`HopSpec::ThinAcks`](recoup_path::HopSpec)).

mod application;
mod end;
mod engine;
mod kernel;
mod linux;
mod run;
mod switch;
mod witness;

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{Builder, scope};
use std::time::Duration;

use end::{End, SenderReport};
pub use linux::{Kernel, Options};
use recoup_path::PathSpec;
use recoup_recovery::Recovery;
use recoup_tcp::Config;
use recoup_tcp::flow::{FlowRecord, Host, Workload};
use recoup_units::FlowId;
use run::FlowRun;
use rustix::pipe::{PipeFlags, pipe_with};
pub use switch::{Switch, Switches};

use crate::netlink::Netlink;
use crate::wire::{acquire_rights, forward};
use crate::{Clock, Namespace, NetError, Relay, Report, Tap, Wire};

/// Whose TCP is at an end, and how it is set up.
#[derive(Clone, Debug)]
pub enum Stack {
    /// The kernel's.
    Kernel(Options),
    /// Recoup's; MSS and IP version are the testbed's to say.
    Recoup(Config),
}

/// What does not change from flow to flow.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The end that connects.
    pub client: Stack,
    /// The end that accepts.
    pub server: Stack,
    /// What is sent.
    pub workload: Workload,
    /// The longest packet in bytes, IP header included.
    pub mtu: u16,
    /// How long a flow may take.
    pub patience: Duration,
}

/// What came of a flow.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// What it cost.
    pub record: FlowRecord,
    /// The recoveries of senders of ours.
    pub recoveries: Vec<Recovery>,
    /// What the emulator did, and how punctual it was.
    pub report: Report,
}

/// Two ends and a path for flows, one after another.
#[derive(Debug)]
pub struct Testbed {
    setup: Setup,
    wire: Wire,
    outside: Namespace,
    client: End,
    server: End,
    to: SocketAddr,
    clock: Clock,
}

/// Whether the process may make what a testbed needs. Where it may not, it becomes the root of a user
/// namespace, which only a process of a single thread can: so this comes first.
///
/// # Errors
/// [`NetError::Privilege`] when neither is possible.
pub fn prepare() -> Result<(), NetError> {
    acquire_rights().map(drop)
}

impl Testbed {
    /// Makes the namespaces, the devices between them, and the stacks at both ends.
    ///
    /// # Errors
    /// What the system refuses, the congestion control among it.
    pub fn open(setup: Setup) -> Result<Self, NetError> {
        let outside = Namespace::new()?;
        let mtu = setup.mtu;
        let wire = outside.run(move || Wire::open(mtu.into()))??;
        let inside = wire.namespace();
        let forwards = [
            (&setup.client, wire.forwards()),
            (&setup.server, outside.run(|| forward(false))?),
        ];
        let ours = |stack: &Stack| matches!(stack, Stack::Recoup(_));
        if forwards.iter().any(|(stack, does)| ours(stack) && !does) {
            return Err(NetError::Forwarding);
        }
        let at = wire.block().ends_v4();
        let client = End::start(&setup.client, inside, at.inside.into(), mtu)?;
        let mut server = End::start(&setup.server, &outside, at.outside.into(), mtu)?;
        client.prepare(inside, server.address(), wire.inside_index())?;
        server.prepare(&outside, client.address(), wire.outside_index())?;
        let to = server.listen(&outside)?;
        Ok(Self {
            setup,
            wire,
            outside,
            client,
            server,
            to,
            clock: Clock::start(),
        })
    }

    /// What is known of the kernel's TCP at an end; `None` where it is ours.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn kernel(&self, host: Host) -> Result<Option<Kernel>, NetError> {
        self.end(host).kernel(self.namespace(host))
    }

    const fn end(&self, host: Host) -> &End {
        match host {
            Host::Client => &self.client,
            Host::Server => &self.server,
        }
    }

    fn namespace(&self, host: Host) -> &Namespace {
        match host {
            Host::Client => self.wire.namespace(),
            Host::Server => &self.outside,
        }
    }

    /// Runs flow number `flow` of `seed` over this path, under a capture if there is to be one: the
    /// server is outside.
    ///
    /// # Errors
    /// When a hop cannot be built, or the system fails. A flow that does not complete is none.
    pub fn run(
        &self,
        path: &PathSpec,
        seed: u64,
        flow: FlowId,
        capture: Option<Tap>,
    ) -> Result<FlowOutcome, NetError> {
        let mut relay = Relay::new(&path.up, &path.down, seed, self.setup.mtu.into())?;
        relay.count_from(flow);
        let (watcher, watched) = channel();
        relay.watch(watcher);
        if let Some(tap) = capture {
            relay.capture(tap);
        }
        let missed = self.missed()?;
        let before = HOSTS.map(|host| self.end(host).counts(self.namespace(host)));
        let (mut report, senders) = self.carry(relay)?;
        let records: Vec<_> = watched.iter().collect();
        let mut record = witness::measure(&records, flow, &self.setup.workload);
        let mut recoveries = Vec::new();
        for sender in senders {
            let sender = sender?;
            record.counters.merge(&sender.counters);
            recoveries.extend(sender.recoveries);
        }
        for (host, before) in HOSTS.into_iter().zip(before) {
            if let Some(before) = before? {
                let now = self.end(host).counts(self.namespace(host))?;
                let now = now.unwrap_or_default();
                record.counters.merge(&now.since(&before, host));
            }
        }
        let [up, down] = self.missed()?;
        report.up.missed = up.saturating_sub(missed[0]);
        report.down.missed = down.saturating_sub(missed[1]);
        Ok(FlowOutcome {
            record,
            recoveries,
            report,
        })
    }

    /// Has both ends take part in a flow, each on a thread, while the relay carries its packets; what
    /// the relay did, and what the senders say.
    fn carry(
        &self,
        relay: Relay,
    ) -> Result<(Report, [Result<SenderReport, NetError>; 2]), NetError> {
        let (stop, stopper) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|e| NetError::system("make a pipe")(e.into()))?;
        let Setup {
            workload, patience, ..
        } = &self.setup;
        let flow = Arc::new(FlowRun::new(workload.clone(), self.to, *patience));
        let flow = &flow;
        let thread = |name: &str| Builder::new().name(name.into());
        scope(|scope| {
            let carry = move || {
                let report = relay.run(self.wire.ends(), stop.as_fd());
                if report.is_err() {
                    flow.give_up();
                }
                report
            };
            let relay = thread("relay").spawn_scoped(scope, carry);
            let relay = relay.map_err(NetError::system("start a thread"))?;
            let ends = HOSTS.map(|host| {
                let take_part = move || {
                    let namespace = self.namespace(host);
                    let report = self.end(host).take_part(host, namespace, flow, self.clock);
                    if report.is_err() {
                        flow.give_up();
                    }
                    report
                };
                thread(host.name()).spawn_scoped(scope, take_part)
            });
            let senders = ends.map(|end| match end {
                Ok(end) => end.join().unwrap_or_else(|_| Err(broken())),
                Err(e) => {
                    flow.give_up();
                    Err(NetError::system("start a thread")(e))
                }
            });
            // Closed, it is readable: the relay ends when nothing is on its way.
            drop::<OwnedFd>(stopper);
            let report = relay.join().unwrap_or_else(|_| Err(broken()));
            Ok((report?, senders))
        })
    }

    /// Packets that did not get as far as the path until now, up and down.
    fn missed(&self) -> Result<[u64; 2], NetError> {
        let index = self.wire.outside_index();
        let down = self
            .outside
            .run(move || Netlink::open()?.queue_drops(index))??;
        Ok([self.wire.queue_drops_inside()?, down])
    }
}

/// Both ends, the one that waits for the other first.
const HOSTS: [Host; 2] = [Host::Server, Host::Client];

fn broken() -> NetError {
    NetError::system("run a flow")(std::io::ErrorKind::BrokenPipe.into())
}
