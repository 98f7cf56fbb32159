//! Recoup's side of a scenario: the host itself, or sockets over it.

use recoup_stack::{
    Config, Driver, Runner, Stack, TcpListener, TcpStream, Turn,
    device::Wait,
    host::{ConnectionId, Host, HostError, Read, Secret, Stats},
};
use recoup_tcp::{Closed, State};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

/// Which side; a scenario is a function with this parameter.
pub trait Kind {
    /// The side over a device.
    type Side<D: Wait>: Side<D>;
}

/// The host itself.
pub struct OnHost;

impl Kind for OnHost {
    type Side<D: Wait> = HostSide<D>;
}

/// Sockets.
pub struct OverSockets;

impl Kind for OverSockets {
    type Side<D: Wait> = SocketSide<D>;
}

/// Makes two tests of each scenario, with a device: on the host, and over sockets.
macro_rules! on_both_sides {
    ($with:ident: $($scenario:ident),+ $(,)?) => {
        mod on_host {
            $(#[test]
            fn $scenario() {
                crate::faults::$with(super::$scenario::<crate::faults::side::OnHost>);
            })+
        }

        mod over_sockets {
            $(#[test]
            fn $scenario() {
                crate::faults::$with(super::$scenario::<crate::faults::side::OverSockets>);
            })+
        }
    };
}

pub(crate) use on_both_sides;

/// A connection of a side, by its number.
pub type Id = usize;

/// What scenarios ask of a side.
pub trait Side<D: Wait> {
    fn open(config: Config, device: D) -> Self;
    fn device(&mut self) -> &D;
    /// Exchanges packets for a moment.
    fn turn(&mut self, most: Duration);
    fn listen(&mut self, at: SocketAddr);
    /// The next connection that came to a listener.
    fn accept(&mut self) -> Option<Id>;
    fn connect(&mut self, to: SocketAddr) -> Id;
    fn read(&mut self, id: Id, into: &mut [u8]) -> Result<Read, HostError>;
    /// [`HostError::NotWritable`] before the connection is open.
    fn write(&mut self, id: Id, bytes: &[u8]) -> Result<usize, HostError>;
    fn close(&mut self, id: Id);
    fn release(&mut self, id: Id);
    fn abort(&mut self, id: Id);
    /// How the connection ended, as this side was told.
    fn closed(&self, id: Id) -> Option<Closed>;
    fn state(&self, id: Id) -> Option<State>;
    /// Whether everything that was written is acknowledged.
    fn is_quiet(&self, id: Id) -> bool;
    fn retransmissions(&self, id: Id) -> u64;
    fn connections(&self) -> usize;
    fn stats(&self) -> Stats;
    /// Whether nothing would happen without a packet.
    fn sleeps(&mut self) -> bool;
}

/// A host and what its events reported.
pub struct HostSide<D> {
    driver: Driver<D>,
    connections: Vec<(ConnectionId, Option<Closed>)>,
    arrived: VecDeque<Id>,
}

impl<D: Wait> HostSide<D> {
    fn id(&self, id: Id) -> ConnectionId {
        self.connections[id].0
    }
}

impl<D: Wait> Side<D> for HostSide<D> {
    fn open(config: Config, mut device: D) -> Self {
        let host = Host::new(config, device.properties().mtu, Secret::from_key([1; 16]));
        Self { driver: Driver::new(host, device), connections: Vec::new(), arrived: VecDeque::new() }
    }

    fn device(&mut self) -> &D {
        self.driver.device()
    }

    fn turn(&mut self, most: Duration) {
        self.driver.turn(most).unwrap();
        let host = &mut self.driver.host;
        while let Some(event) = host.next_event() {
            if let Some(listener) = host.listener(event.connection).filter(|_| event.opened) {
                assert!(host.accept(listener).is_some());
                self.arrived.push_back(self.connections.len());
                self.connections.push((event.connection, None));
            }
            let known = self.connections.iter_mut().find(|(id, _)| *id == event.connection);
            if let Some((_, closed)) = known {
                *closed = closed.or(event.closed);
            }
        }
    }

    fn listen(&mut self, at: SocketAddr) {
        self.driver.host.listen(at).unwrap();
    }

    fn accept(&mut self) -> Option<Id> {
        self.arrived.pop_front()
    }

    fn connect(&mut self, to: SocketAddr) -> Id {
        let id = self.driver.host.connect(self.driver.now(), to).unwrap();
        self.connections.push((id, None));
        self.connections.len() - 1
    }

    fn read(&mut self, id: Id, into: &mut [u8]) -> Result<Read, HostError> {
        let (now, id) = (self.driver.now(), self.id(id));
        self.driver.host.read(now, id, into)
    }

    fn write(&mut self, id: Id, bytes: &[u8]) -> Result<usize, HostError> {
        let (now, id) = (self.driver.now(), self.id(id));
        self.driver.host.write(now, id, bytes)
    }

    fn close(&mut self, id: Id) {
        let (now, id) = (self.driver.now(), self.id(id));
        self.driver.host.close(now, id).unwrap();
    }

    fn release(&mut self, id: Id) {
        let (now, id) = (self.driver.now(), self.id(id));
        self.driver.host.release(now, id).unwrap();
        assert_eq!(self.driver.host.state(id), None);
    }

    fn abort(&mut self, id: Id) {
        let id = self.id(id);
        self.driver.host.abort(id).unwrap();
    }

    fn closed(&self, id: Id) -> Option<Closed> {
        self.connections[id].1
    }

    fn state(&self, id: Id) -> Option<State> {
        self.driver.host.state(self.id(id))
    }

    fn is_quiet(&self, id: Id) -> bool {
        self.driver.host.unacknowledged(self.id(id)) == Some(0)
    }

    fn retransmissions(&self, id: Id) -> u64 {
        self.driver.host.counters(self.id(id)).unwrap().retransmissions.total()
    }

    fn connections(&self) -> usize {
        self.driver.host.connections()
    }

    fn stats(&self) -> Stats {
        self.driver.host.stats()
    }

    fn sleeps(&mut self) -> bool {
        self.driver.host.next_timer().is_none()
    }
}

/// A socket of a [`SocketSide`].
enum Socket {
    Opening(Pin<Box<dyn Future<Output = io::Result<TcpStream>>>>),
    Open(TcpStream),
    Failed(HostError),
    Released,
}

/// A stack that is run by hand, and its sockets.
pub struct SocketSide<D> {
    stack: Stack,
    runner: Runner<D>,
    waker: Waker,
    listeners: Vec<TcpListener>,
    sockets: Vec<Socket>,
}

/// The host's reason for an error of a socket; `None` if it would have to wait.
fn reason(error: &io::Error) -> Option<HostError> {
    if error.kind() == ErrorKind::WouldBlock {
        return None;
    }
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<HostError>());
    Some(*inner.unwrap_or_else(|| panic!("{error}: expected an error of the host")))
}

impl<D: Wait> SocketSide<D> {
    fn stream(&self, id: Id) -> Option<&TcpStream> {
        match &self.sockets[id] {
            Socket::Open(stream) => Some(stream),
            _ => None,
        }
    }

    /// Begins with what the socket is.
    fn usable(&self, id: Id) -> Result<Option<&TcpStream>, HostError> {
        match &self.sockets[id] {
            Socket::Opening(_) => Ok(None),
            Socket::Open(stream) => Ok(Some(stream)),
            Socket::Failed(error) => Err(*error),
            Socket::Released => Err(HostError::Unknown),
        }
    }

    fn take(&mut self, id: Id) -> Socket {
        std::mem::replace(&mut self.sockets[id], Socket::Released)
    }
}

impl<D: Wait> Side<D> for SocketSide<D> {
    fn open(config: Config, device: D) -> Self {
        let waker = device.waker();
        let (stack, runner) = Stack::with_runner(device, config).unwrap();
        Self { stack, runner, waker, listeners: Vec::new(), sockets: Vec::new() }
    }

    fn device(&mut self) -> &D {
        self.runner.device()
    }

    fn turn(&mut self, most: Duration) {
        let until = Instant::now() + most;
        let waker = self.waker.clone();
        let mut context = Context::from_waker(&waker);
        loop {
            let wait = match self.runner.turn(&mut context) {
                Turn::Again => Duration::ZERO,
                Turn::Wait(wait) => wait.unwrap_or(most),
                Turn::Over => panic!("the stack is over"),
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if !wait.is_zero() {
                self.runner.device().wait(Some(wait.min(left))).unwrap();
                let _ = self.runner.turn(&mut context);
                break;
            }
        }
        for socket in &mut self.sockets {
            if let Socket::Opening(attempt) = socket
                && let Poll::Ready(opened) = attempt.as_mut().poll(&mut context)
            {
                *socket = opened.map_or_else(|e| Socket::Failed(reason(&e).unwrap()), Socket::Open);
            }
        }
    }

    fn listen(&mut self, at: SocketAddr) {
        self.listeners.push(TcpListener::bind(&self.stack, at).unwrap());
    }

    fn accept(&mut self) -> Option<Id> {
        let mut context = Context::from_waker(Waker::noop());
        let accepted = self.listeners.iter().find_map(|listener| match listener.poll_accept(&mut context) {
            Poll::Ready(accepted) => Some(accepted.unwrap().0),
            Poll::Pending => None,
        });
        self.sockets.push(Socket::Open(accepted?));
        Some(self.sockets.len() - 1)
    }

    fn connect(&mut self, to: SocketAddr) -> Id {
        let stack = self.stack.clone();
        let mut attempt: Pin<Box<dyn Future<Output = _>>> =
            Box::pin(async move { TcpStream::connect(&stack, to).await });
        // The first poll begins it.
        assert!(attempt.as_mut().poll(&mut Context::from_waker(&self.waker)).is_pending());
        self.sockets.push(Socket::Opening(attempt));
        self.sockets.len() - 1
    }

    fn read(&mut self, id: Id, into: &mut [u8]) -> Result<Read, HostError> {
        let Some(stream) = self.usable(id)? else {
            return Ok(Read::Nothing);
        };
        match stream.try_read(into) {
            Ok(0) => Ok(Read::End),
            Ok(count) => Ok(Read::Bytes(count)),
            Err(error) => reason(&error).map_or(Ok(Read::Nothing), Err),
        }
    }

    fn write(&mut self, id: Id, bytes: &[u8]) -> Result<usize, HostError> {
        let stream = self.usable(id)?.ok_or(HostError::NotWritable)?;
        stream.try_write(bytes).or_else(|error| reason(&error).map_or(Ok(0), Err))
    }

    fn close(&mut self, id: Id) {
        self.stream(id).unwrap().close().unwrap();
    }

    fn release(&mut self, id: Id) {
        drop(self.take(id));
    }

    fn abort(&mut self, id: Id) {
        match self.take(id) {
            Socket::Open(stream) => stream.abort(),
            _ => panic!("the connection is not open"),
        }
    }

    fn closed(&self, id: Id) -> Option<Closed> {
        match &self.sockets[id] {
            Socket::Failed(HostError::Unopened { how, .. }) => Some(*how),
            _ => match self.state(id)? {
                State::Closed(how) => Some(how),
                _ => None,
            },
        }
    }

    fn state(&self, id: Id) -> Option<State> {
        self.stream(id)?.state()
    }

    fn is_quiet(&self, id: Id) -> bool {
        let info = self.stream(id).unwrap().info().unwrap();
        info.unacked == 0 && info.notsent_bytes == 0
    }

    fn retransmissions(&self, id: Id) -> u64 {
        self.stream(id).unwrap().counters().unwrap().retransmissions.total()
    }

    fn connections(&self) -> usize {
        self.stack.connections()
    }

    fn stats(&self) -> Stats {
        self.stack.stats()
    }

    fn sleeps(&mut self) -> bool {
        let waker = self.waker.clone();
        self.runner.turn(&mut Context::from_waker(&waker)) == Turn::Wait(None)
    }
}
