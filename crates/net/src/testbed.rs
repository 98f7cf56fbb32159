//! Runs flows one after another over real packets: two namespaces, a path between them, and at each end
//! the kernel's TCP or Recoup's.
//!
//! ```text
//!   client's namespace              this process               server's namespace
//!   kernel sockets ──┐           ┌───────────────┐           ┌── kernel sockets
//!                    ├── TUN ═══►│ relay, chains │═══ TUN ───┤
//!   host ── TUN ─────┘           └───────┬───────┘           └───── TUN ── host
//!                                        ▼
//!                                   meter, events ──► FlowRecord, FlowEvents
//! ```
//!
//! A Recoup host has a TUN device of its own, and the kernel forwards between that and the path. The
//! packets at the path give a flow's cost (`meter`), so that every stack is measured alike. The senders'
//! counters are added to it.
//!
//! The kernel does not delay ACKs by a given time. For a receiver that does, the caller lets the kernel
//! acknowledge every segment and puts [`HopSpec::ThinAcks`](recoup_path::HopSpec) on the path.

mod application;
mod end;
mod engine;
mod events;
mod kernel;
mod linux;
mod meter;
mod run;
mod switch;

use std::{
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, mpsc::channel},
    thread::{Builder, scope},
    time::Duration,
};

use end::{End, SenderReport};
pub use events::{FlowEvent, FlowEventKind, PathPacket, PathPoint};
pub use linux::{Kernel, Options};
use recoup_path::PathSpec;
use recoup_recovery::Recovery;
use recoup_tcp::{
    Config,
    flow::{FlowRecord, Host, Workload},
};
use recoup_units::FlowId;
use run::FlowRun;
use rustix::pipe::{PipeFlags, pipe_with};
pub use switch::{Switch, Switches};

use crate::{
    Clock, Namespace, NetError, Relay, Report, Tap, Wire,
    netlink::Netlink,
    wire::{acquire_rights, forward},
};

/// The TCP at an end, with its settings.
#[derive(Clone, Debug)]
pub enum Stack {
    /// The kernel's.
    Kernel(Options),
    /// Recoup's. The testbed sets the MSS and the IP version.
    Recoup(Box<Config>),
}

impl Stack {
    /// This stack; a sender of Recoup's logs its events if `log` is set.
    fn with_log(&self, log: bool) -> Self {
        match self {
            Self::Recoup(config) => Self::Recoup(Box::new(Config { log, ..**config })),
            Self::Kernel(options) => Self::Kernel(options.clone()),
        }
    }
}

/// Settings common to all flows of a testbed.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The end that connects.
    pub client: Stack,
    /// The end that accepts.
    pub server: Stack,
    /// Data that the applications send.
    pub workload: Workload,
    /// The longest packet in bytes, IP header included.
    pub mtu: u16,
    /// How long a flow may take before it is given up.
    pub patience: Duration,
    /// Whether to collect each flow's [events](FlowOutcome::events).
    pub events: bool,
}

/// The result of a flow.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// Costs of the flow.
    pub record: FlowRecord,
    /// The recoveries of Recoup's senders.
    pub recoveries: Vec<Recovery>,
    /// Events in the order of time; empty unless [`Setup::events`] asks for it. The kernel's
    /// senders report none, so where one stands there are only the packets at the path.
    pub events: Vec<FlowEvent>,
    /// Packets that the emulator carried, and their punctuality.
    pub report: Report,
}

/// Two ends and the devices between them.
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

/// Ensures that the process may make what a testbed needs. If it may not, it becomes the root of a user
/// namespace, which only a process with a single thread can: call this before starting threads.
///
/// # Errors
/// [`NetError::Privilege`] when the process may do neither.
pub fn prepare() -> Result<(), NetError> {
    acquire_rights().map(drop)
}

impl Testbed {
    /// Makes the namespaces, the devices between them, and the stacks at both ends.
    ///
    /// # Errors
    /// System errors, for example when the kernel does not have the congestion control.
    pub fn open(setup: Setup) -> Result<Self, NetError> {
        let outside = Namespace::new()?;
        let mtu = setup.mtu;
        let wire = outside.run(move || Wire::open(mtu.into()))??;
        let inside = wire.namespace();
        let forwards = [(&setup.client, wire.forwards()), (&setup.server, outside.run(|| forward(false))?)];
        let ours = |stack: &Stack| matches!(stack, Stack::Recoup(_));
        if forwards.iter().any(|(stack, does)| ours(stack) && !does) {
            return Err(NetError::Forwarding);
        }
        let at = wire.block().ends_v4();
        let stack = |stack: &Stack| stack.with_log(setup.events);
        let client = End::start(&stack(&setup.client), inside, at.inside.into(), mtu)?;
        let mut server = End::start(&stack(&setup.server), &outside, at.outside.into(), mtu)?;
        client.prepare(inside, server.address(), wire.inside_index())?;
        server.prepare(&outside, client.address(), wire.outside_index())?;
        let to = server.listen(&outside)?;
        Ok(Self { setup, wire, outside, client, server, to, clock: Clock::start() })
    }

    /// Facts about the kernel's TCP at an end; `None` if the stack there is Recoup's.
    ///
    /// # Errors
    /// System errors.
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

    /// Runs flow number `flow` of `seed` over this path. With `capture`, its packets are captured; the
    /// server is at the outside.
    ///
    /// # Errors
    /// When a hop cannot be built, and system errors. A flow that does not complete is no error.
    pub fn run(&self, path: &PathSpec, seed: u64, flow: FlowId, capture: Option<Tap>) -> Result<FlowOutcome, NetError> {
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
        let mut record = meter::measure(&records, flow, &self.setup.workload);
        let mut recoveries = Vec::new();
        let mut logs = Vec::new();
        for (host, sender) in HOSTS.into_iter().zip(senders) {
            let sender = sender?;
            record.counters.merge(&sender.counters);
            recoveries.extend(sender.recoveries);
            logs.push((host, sender.events));
        }
        let events =
            if self.setup.events { events::collect(&records, flow, report.started_at, &logs) } else { Vec::new() };
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
        Ok(FlowOutcome { record, recoveries, events, report })
    }

    /// Runs both ends of a flow, each on a thread, while the relay carries its packets. Returns the
    /// relay's report and those of both senders, in the order of [`HOSTS`].
    fn carry(&self, relay: Relay) -> Result<(Report, [Result<SenderReport, NetError>; 2]), NetError> {
        let (stop, stopper) = pipe_with(PipeFlags::CLOEXEC).map_err(NetError::system("make a pipe"))?;
        let Setup { workload, patience, .. } = &self.setup;
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

    /// Packets dropped by the devices' full queues so far, before the path: up and down.
    fn missed(&self) -> Result<[u64; 2], NetError> {
        let index = self.wire.outside_index();
        let down = self.outside.run(move || Netlink::open()?.queue_drops(index))??;
        Ok([self.wire.queue_drops_inside()?, down])
    }
}

/// Both ends. The server comes first, because it must wait for the client.
const HOSTS: [Host; 2] = [Host::Server, Host::Client];

fn broken() -> NetError {
    NetError::system("run a flow")(std::io::ErrorKind::BrokenPipe)
}
