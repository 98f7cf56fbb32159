//! Runs a shared host over a device, under any runtime.

use crate::{
    Notice,
    device::{Batch, Device, Properties},
    driver::{exchange, take_strays},
    host::Stray,
    shard::Shard,
};
use recoup_units::Instant;
use std::{io, net::SocketAddr, sync::Arc, task::Context, time::Duration};

/// When a device that failed is tried again, at the latest.
const RETRY: Duration = Duration::from_millis(250);

/// How long connections may take to end after nobody uses the stack any more.
const LINGER: Duration = Duration::from_secs(60);

/// What a runner needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Another turn at once.
    Again,
    /// Another turn when it is woken, and after this time if there is one.
    Wait(Option<Duration>),
    /// None: the device is gone, or nobody uses the stack and its connections are over.
    Over,
}

/// Exchanges the packets of a stack with its device. Nothing happens on a stack whose runner does not run.
///
/// A runtime calls [`turn`](Self::turn), and does what it says.
#[derive(Debug)]
pub struct Runner<D> {
    shard: Arc<Shard>,
    device: D,
    properties: Properties,
    batch: Batch,
    /// The device did not work when it was last tried.
    failed: bool,
    /// Since when nobody uses the stack.
    unused: Option<Instant>,
}

/// What a turn found under the lock.
struct Found {
    more: bool,
    received: io::Result<()>,
    next: Option<Instant>,
    unused: bool,
    busy: bool,
    flooded: Option<SocketAddr>,
    strays: Vec<Stray>,
}

impl<D: Device> Runner<D> {
    pub(crate) fn new(shard: Arc<Shard>, mut device: D) -> Self {
        let properties = device.properties();
        Self { shard, device, properties, batch: Batch::new(), failed: false, unused: None }
    }

    /// The device.
    pub const fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// Sends what is due, receives a batch, and wakes the sockets that it concerns. The context's task is woken when there
    /// is more to do.
    pub fn turn(&mut self, context: &mut Context<'_>) -> Turn {
        self.follow_properties();
        let Self { shard, device, batch, .. } = self;
        let clock = shard.clock;
        let found = shard.run(context, |inner| {
            take_strays(&mut inner.host, &mut inner.strays, device, &clock);
            let exchange = exchange(&mut inner.host, device, batch, &clock);
            let busy = inner.host.has_unfinished();
            if !busy {
                inner.wake(|inner| Some(&mut inner.finish));
            }
            Found {
                more: exchange.more,
                received: exchange.received,
                next: inner.host.next_timer(),
                unused: inner.handles == 0,
                busy,
                flooded: inner.host.take_flooded(),
                strays: std::iter::from_fn(|| inner.host.next_stray()).collect(),
            }
        });
        self.shard.pass_on(found.strays);
        if let Some(at) = found.flooded {
            self.shard.notify(&Notice::SynFlood(at));
        }
        let now = clock.now();
        if let Err(error) = found.received {
            if error.kind() == io::ErrorKind::BrokenPipe {
                self.end(&error);
                return Turn::Over;
            }
            if !std::mem::replace(&mut self.failed, true) {
                self.shard.notify(&Notice::Down(error));
            }
        } else if std::mem::take(&mut self.failed) {
            self.shard.notify(&Notice::Up);
        }
        self.unused = found.unused.then(|| self.unused.unwrap_or(now));
        if self.unused.is_some_and(|since| !found.busy || now.since(since) >= LINGER) {
            return Turn::Over;
        }
        let ready = !self.failed && self.device.poll_ready(context).is_ready();
        if found.more || ready {
            return Turn::Again;
        }
        let next = found.next.map(|at| at.since(now));
        let retry = self.failed.then_some(RETRY);
        let linger = self.unused.map(|since| (since + LINGER).since(now));
        Turn::Wait([next, retry, linger].into_iter().flatten().min())
    }

    /// The device's MTU may have changed.
    fn follow_properties(&mut self) {
        let properties = self.device.properties();
        if properties.mtu != self.properties.mtu {
            let (from, to) = (self.properties.mtu, properties.mtu);
            self.shard.call(|inner, now| inner.host.set_mtu(now, to));
            self.shard.notify(&Notice::Mtu { from, to });
        }
        self.properties = properties;
    }

    /// The device is gone for good: every connection is over.
    pub(crate) fn end(&self, error: &io::Error) {
        self.shard.end(format!("the stack's device is gone: {error}"));
        self.shard.notify(&Notice::Gone(error.to_string()));
    }
}

impl<D> Drop for Runner<D> {
    fn drop(&mut self) {
        // Nobody may wait for what will not come: the task was aborted, or a device panicked.
        self.shard.end("nobody runs the stack any more".into());
    }
}
