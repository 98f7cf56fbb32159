//! A stack: a host, its sockets, and the runner that exchanges its packets.

use crate::{
    Config, Notice, TcpOptions,
    device::Device,
    driver::Clock,
    host::{Host, Place, Secret, Stats},
    listener::TcpListener,
    runner::Runner,
    shard::{Hold, Shard},
};
use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
};

/// A TCP/IP stack. Clones are the same stack.
///
/// Sockets work as long as the stack's [`Runner`] runs, which does not need a clone of the stack to live. When the last
/// stack and socket are dropped, the runner ends once all that was written is acknowledged, after a minute at the latest.
#[derive(Clone, Debug)]
pub struct Stack {
    pub(crate) shard: Hold,
}

impl Stack {
    /// A stack, and the runner that its owner has to run. With the feature `tokio`, `Stack::new` runs it as a task.
    ///
    /// # Errors
    /// When an address or the device's MTU cannot be used, and when the system has no random numbers.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn with_runner<D: Device>(device: D, config: Config) -> io::Result<(Self, Runner<D>)> {
        Self::with_secret(device, config, Secret::draw()?)
    }

    /// As `with_runner`, with a secret of the caller's.
    ///
    /// # Errors
    /// When an address or the device's MTU cannot be used.
    pub fn with_secret<D: Device>(mut device: D, config: Config, secret: Secret) -> io::Result<(Self, Runner<D>)> {
        let mtu = device.properties().mtu;
        config.check(mtu)?;
        let shard = Shard::new(Host::new(config, mtu, secret), Clock::start());
        let stack = Self { shard: shard.hold() };
        Ok((stack, Runner::new(shard, device)))
    }

    /// Stacks with the same addresses, each over a queue of one device, and the runner of each. So several processors share
    /// the work: run each runner in a thread of its own.
    ///
    /// A connection belongs to the stack that began it, or whose queue its SYN came to: every stack has to have a listener of
    /// its own, or else those that have one take all connections. What a stack does not know is passed on to the next one.
    /// Each has its own sockets and its own [memory](Config::memory). Bind a port that connections are to begin at in one of
    /// them only.
    ///
    /// # Errors
    /// As [`with_runner`](Self::with_runner); and when there are more than 65,535 devices.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn group_with_runners<D: Device>(devices: Vec<D>, config: &Config) -> io::Result<Vec<(Self, Runner<D>)>> {
        Self::group_with_secret(devices, config, &Secret::draw()?)
    }

    /// As `group_with_runners`, with a secret of the caller's.
    ///
    /// # Errors
    /// When an address or a device's MTU cannot be used, and when there are more than 65,535 devices.
    pub fn group_with_secret<D: Device>(
        devices: Vec<D>,
        config: &Config,
        secret: &Secret,
    ) -> io::Result<Vec<(Self, Runner<D>)>> {
        let clock = Clock::start();
        let of = u16::try_from(devices.len()).map_err(|_| {
            let line = format!("{} devices for one group of stacks: expected 65535 at most", devices.len());
            io::Error::new(io::ErrorKind::InvalidInput, line)
        })?;
        let mut shards = Vec::new();
        let mut group = Vec::new();
        for (mut device, number) in devices.into_iter().zip(0..) {
            let mtu = device.properties().mtu;
            config.check(mtu)?;
            let mut host = Host::new(config.clone(), mtu, secret.clone());
            host.set_place(Place { number, of });
            let shard = Shard::new(host, clock);
            shards.push(std::sync::Arc::clone(&shard));
            group.push((Self { shard: shard.hold() }, Runner::new(shard, device)));
        }
        Shard::join(&shards);
        Ok(group)
    }

    /// Takes connections to every address and port that no listener has, whoever's address it is. The
    /// [local address](crate::TcpStream::local_addr) of an accepted stream is where its peer wanted to go.
    ///
    /// # Errors
    /// When another listener does that already.
    pub fn accept_any(&self) -> io::Result<TcpListener> {
        let options = self.shard.call(|inner, _| inner.host.config().tcp);
        self.accept_any_with(&options)
    }

    /// As [`accept_any`](Self::accept_any), with options of its own.
    ///
    /// # Errors
    /// As [`accept_any`](Self::accept_any).
    pub fn accept_any_with(&self, options: &TcpOptions) -> io::Result<TcpListener> {
        TcpListener::open(self, |host| host.listen_any(options))
    }

    /// Tells `notify` from now on what happens to the device: each notice is one line. It must not wait, and should not own
    /// a clone of the stack or a socket of it: the stack would never be unused.
    pub fn on_notice(&self, notify: impl Fn(&Notice) + Send + Sync + 'static) {
        let before = self.shard.call(|inner, _| inner.notify.replace(std::sync::Arc::new(notify)));
        // Not under the lock: what it owns may be the stack's.
        drop(before);
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        self.shard.call(|inner, _| inner.host.stats())
    }

    /// The number of connections, those that are over but in use included.
    pub fn connections(&self) -> usize {
        self.shard.call(|inner, _| inner.host.connections())
    }

    /// The memory of all connections, in bytes: their state, the bytes of both streams, and out-of-order data
    /// ([`Config::memory`] bounds it).
    pub fn memory(&self) -> usize {
        self.shard.call(|inner, _| inner.host.memory())
    }

    /// The number of connections in TIME-WAIT whose streams are dropped. They are none of
    /// [`connections`](Self::connections).
    pub fn time_waits(&self) -> usize {
        self.shard.call(|inner, _| inner.host.time_waits())
    }

    /// Is ready once no connection is left but those in TIME-WAIT, so that everything that was written is acknowledged. A
    /// stream that is not dropped counts, though it may be over.
    pub fn poll_finished(&self, context: &mut Context<'_>) -> Poll<()> {
        self.shard.call(|inner, _| match inner.gone.is_some() || !inner.host.has_unfinished() {
            true => Poll::Ready(()),
            false => {
                inner.finish.add(context);
                Poll::Pending
            }
        })
    }

    /// Waits as [`poll_finished`](Self::poll_finished) does.
    pub async fn finished(&self) {
        poll_fn(|context| self.poll_finished(context)).await;
    }
}
