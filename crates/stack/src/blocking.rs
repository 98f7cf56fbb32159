//! Sockets that wait: for programs without a runtime.
//!
//! A thread runs the stack. Streams implement [`Read`] and [`Write`], also by reference.

use crate::{
    Config, Notice, TcpOptions,
    device::Wait,
    host::Stats,
    runner::{Runner, Turn},
};
use recoup_tcp::Info;
use std::{
    future::Future,
    io::{self, IoSlice, Read, Write},
    net::SocketAddr,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

/// Wakes a thread.
struct Thread(thread::Thread);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// This thread's waker. It is always the same one, because sockets keep each waker that they were given once.
fn waker() -> Waker {
    fn new() -> Waker {
        Waker::from(Arc::new(Thread(thread::current())))
    }
    thread_local!(static WAKER: Waker = new());
    // While the thread ends there is none any more.
    WAKER.try_with(Waker::clone).unwrap_or_else(|_| new())
}

/// Waits for `future` in this thread, for `timeout` at most.
fn wait<T>(timeout: Option<Duration>, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let waker = waker();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    // A time beyond the clock's end never comes.
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        match until.map(|until| until.saturating_duration_since(Instant::now())) {
            None => thread::park(),
            Some(Duration::ZERO) => return Err(io::ErrorKind::TimedOut.into()),
            Some(left) => thread::park_timeout(left),
        }
    }
}

/// A TCP/IP stack that a thread runs. Clones are the same stack.
#[derive(Clone, Debug)]
pub struct Stack(crate::Stack);

impl Stack {
    /// Starts a stack over `device`.
    ///
    /// # Errors
    /// When an address or the device's MTU cannot be used, or when the system has no random numbers or threads.
    pub fn new<D: Wait + Send + 'static>(device: D, config: Config) -> io::Result<Self> {
        Self::start(crate::Stack::with_runner(device, config)?)
    }

    /// Starts stacks with the same addresses, each over a queue of one device and with a thread of its own; see
    /// [`crate::Stack::group_with_runners`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn group<D: Wait + Send + 'static>(devices: Vec<D>, config: &Config) -> io::Result<Vec<Self>> {
        crate::Stack::group_with_runners(devices, config)?.into_iter().map(Self::start).collect()
    }

    fn start<D: Wait + Send + 'static>((stack, runner): (crate::Stack, Runner<D>)) -> io::Result<Self> {
        thread::Builder::new().name("recoup-stack".into()).spawn(move || run(runner))?;
        Ok(Self(stack))
    }

    /// As [`crate::Stack::accept_any_with`].
    ///
    /// # Errors
    /// As there.
    pub fn accept_any(&self, options: &TcpOptions) -> io::Result<TcpListener> {
        self.0.accept_any_with(options).map(TcpListener)
    }

    /// As [`crate::Stack::on_notice`].
    pub fn on_notice(&self, notify: impl Fn(&Notice) + Send + Sync + 'static) {
        self.0.on_notice(notify);
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// The number of connections, those that are over but in use included.
    pub fn connections(&self) -> usize {
        self.0.connections()
    }

    /// Waits until no connection is left but those in TIME-WAIT, for `timeout` at most. Returns whether that is so. A stream
    /// that somebody holds is a connection that is left.
    pub fn finish(&self, timeout: Duration) -> bool {
        let finished = async {
            self.0.finished().await;
            Ok(())
        };
        wait(Some(timeout), finished).is_ok()
    }
}

/// Runs a stack in this thread until it is over.
///
/// # Errors
/// When the thread cannot wait for the device.
pub fn run<D: Wait>(mut runner: Runner<D>) -> io::Result<()> {
    let waker = runner.device().waker();
    let mut context = Context::from_waker(&waker);
    loop {
        match runner.turn(&mut context) {
            Turn::Again => {}
            Turn::Wait(timeout) => runner.device().wait(timeout).inspect_err(|error| runner.end(error))?,
            Turn::Over => return Ok(()),
        }
    }
}

/// Accepts TCP connections; see [`crate::TcpListener`].
#[derive(Debug)]
pub struct TcpListener(crate::TcpListener);

impl TcpListener {
    /// As [`crate::TcpListener::bind`].
    ///
    /// # Errors
    /// As there.
    pub fn bind(stack: &Stack, local: SocketAddr) -> io::Result<Self> {
        crate::TcpListener::bind(&stack.0, local).map(Self)
    }

    /// As [`crate::TcpListener::bind_with`].
    ///
    /// # Errors
    /// As there.
    pub fn bind_with(stack: &Stack, local: SocketAddr, options: &TcpOptions) -> io::Result<Self> {
        crate::TcpListener::bind_with(&stack.0, local, options).map(Self)
    }

    /// As [`crate::TcpListener::local_addr`].
    ///
    /// # Errors
    /// As there.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Waits for the next connection, and gives its peer's address, too.
    ///
    /// # Errors
    /// When the stack's device is gone.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = wait(None, self.0.accept())?;
        Ok((TcpStream::new(stream), peer))
    }

    /// As [`accept`](Self::accept), for `timeout` at most.
    ///
    /// # Errors
    /// As [`accept`](Self::accept); [`io::ErrorKind::TimedOut`].
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = wait(Some(timeout), self.0.accept())?;
        Ok((TcpStream::new(stream), peer))
    }
}

/// How long reads and writes wait.
#[derive(Clone, Copy, Debug, Default)]
struct Timeouts {
    read: Option<Duration>,
    write: Option<Duration>,
}

/// A TCP stream; see [`crate::TcpStream`].
#[derive(Debug)]
pub struct TcpStream {
    stream: crate::TcpStream,
    timeouts: Mutex<Timeouts>,
}

impl TcpStream {
    fn new(stream: crate::TcpStream) -> Self {
        Self { stream, timeouts: Mutex::default() }
    }

    /// Connects to `remote`.
    ///
    /// # Errors
    /// When it cannot be reached, refuses, or does not answer.
    pub fn connect(stack: &Stack, remote: SocketAddr) -> io::Result<Self> {
        wait(None, crate::TcpStream::connect(&stack.0, remote)).map(Self::new)
    }

    /// As [`connect`](Self::connect), for `timeout` at most.
    ///
    /// # Errors
    /// As [`connect`](Self::connect); [`io::ErrorKind::TimedOut`].
    pub fn connect_timeout(stack: &Stack, remote: SocketAddr, timeout: Duration) -> io::Result<Self> {
        wait(Some(timeout), crate::TcpStream::connect(&stack.0, remote)).map(Self::new)
    }

    fn timeouts(&self) -> std::sync::MutexGuard<'_, Timeouts> {
        self.timeouts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a read waits; `None` is without end. Then it fails with [`io::ErrorKind::TimedOut`].
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        self.timeouts().read = timeout;
    }

    /// How long a write waits for room; `None` is without end. Then it fails with [`io::ErrorKind::TimedOut`].
    pub fn set_write_timeout(&self, timeout: Option<Duration>) {
        self.timeouts().write = timeout;
    }

    /// The stack's end.
    ///
    /// # Errors
    /// None; the type is that of other streams.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// The peer's end.
    ///
    /// # Errors
    /// None; the type is that of other streams.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// As [`crate::TcpStream::close`].
    ///
    /// # Errors
    /// As there.
    pub fn close(&self) -> io::Result<()> {
        self.stream.close()
    }

    /// As [`crate::TcpStream::abort`].
    pub fn abort(self) {
        self.stream.abort();
    }

    /// As [`crate::TcpStream::set_nodelay`].
    ///
    /// # Errors
    /// As there.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.stream.set_nodelay(on)
    }

    /// As [`crate::TcpStream::info`].
    ///
    /// # Errors
    /// As there.
    pub fn info(&self) -> io::Result<Info> {
        self.stream.info()
    }

    /// The stream itself, for what is not here.
    pub const fn get_ref(&self) -> &crate::TcpStream {
        &self.stream
    }
}

impl Read for &TcpStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let timeout = self.timeouts().read;
        wait(timeout, std::future::poll_fn(|context| self.stream.poll_read(context, into)))
    }
}

impl Write for &TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let timeout = self.timeouts().write;
        wait(timeout, std::future::poll_fn(|context| self.stream.poll_write_vectored(context, slices)))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TcpStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        (&*self).read(into)
    }
}

impl Write for TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_one_waker_however_often_it_waits() {
        let mut wakers = Vec::new();
        for _ in 0..2 {
            let see = std::future::poll_fn(|context: &mut Context<'_>| {
                wakers.push(context.waker().clone());
                Poll::<io::Result<()>>::Pending
            });
            wait(Some(Duration::from_millis(1)), see).unwrap_err();
        }
        let first = wakers.first().unwrap();
        assert!(wakers.iter().all(|waker| waker.will_wake(first)));
    }
}
