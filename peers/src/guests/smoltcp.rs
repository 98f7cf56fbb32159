//! smoltcp in virtual time.
//!
//! It is configured as by default, but for the buffers and congestion control,
//! which smoltcp leaves off unless it is asked for. A turn polls it until it neither reads nor sends. Its clock counts
//! microseconds: the time is rounded down, its timers are rounded up.

use super::version;
use recoup_guest::{About, Ended, Failed, Guest, Input, Setup, Status, Transport};
use recoup_units::Instant;
use smoltcp::{
    iface::{Config, Interface, PollResult, SocketHandle, SocketSet},
    phy::{self, DeviceCapabilities, Medium},
    socket::tcp::{self, CongestionControl, State},
    time,
    wire::{HardwareAddress, IpCidr, IpEndpoint},
};
use std::collections::VecDeque;

/// Bytes of the send buffer and of the receive buffer.
const BUFFER: usize = 1 << 20;

/// A host with one socket.
pub struct Smoltcp {
    about: About,
    setup: Setup,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    queues: Queues,
    opened: bool,
    /// The application connects.
    connects: bool,
    reset: bool,
    finished: bool,
}

impl Smoltcp {
    /// With this congestion control.
    ///
    /// # Errors
    /// When an option other than `no-delay` is asked for.
    pub fn new(setup: &Setup, control: CongestionControl) -> Result<Self, Failed> {
        setup.only_options(&["no-delay"])?;
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = setup.seed;
        let mut queues = Queues { mtu: setup.mtu.into(), ..Queues::default() };
        let mut interface = Interface::new(config, &mut queues, time::Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            // There is room for one.
            let _ = addresses.push(IpCidr::new(setup.local.ip().into(), 0));
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_congestion_control(control);
        socket.set_nagle_enabled(setup.options.get("no-delay").is_none_or(|value| value != "true"));
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        let control = match control {
            CongestionControl::None => "no congestion control, its default",
            CongestionControl::Reno => "Reno",
            CongestionControl::Cubic => "CUBIC",
        };
        let about = About {
            name: "smoltcp".into(),
            version: version("smoltcp"),
            transport: Transport::Tcp,
            configuration: format!("{control}; buffers of 1 MiB"),
            repeatable: true,
        };
        let setup = setup.clone();
        Ok(Self {
            about,
            setup,
            interface,
            sockets,
            socket,
            queues,
            opened: false,
            connects: false,
            reset: false,
            finished: false,
        })
    }

    fn socket(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    /// The application's part of an input. Returns the bytes written or read.
    fn act(&mut self, input: Input<'_>) -> Result<u64, Failed> {
        let (local, peer) = (self.setup.local, self.setup.peer);
        match input {
            Input::Connect => {
                let (interface, sockets) = (&mut self.interface, &mut self.sockets);
                let socket: &mut tcp::Socket<'_> = sockets.get_mut(self.socket);
                let (local, peer): (IpEndpoint, IpEndpoint) = (local.into(), peer.into());
                socket.connect(interface.context(), peer, local).map_err(Failed::new)?;
            }
            Input::Listen => self.socket().listen(local.port()).map_err(Failed::new)?,
            Input::Packet(packet) => self.queues.arrived.push_back(packet.to_vec()),
            Input::Write(bytes) if self.socket().can_send() => {
                let mut taken = 0;
                // The free part of a ring buffer may be in two pieces.
                for _ in 0..2 {
                    let left = bytes - taken as u64;
                    let wrote = self.socket().send(|room| {
                        let len = usize::try_from(left).map_or(room.len(), |left| room.len().min(left));
                        room[..len].fill(7);
                        (len, len)
                    });
                    taken += wrote.map_err(Failed::new)?;
                }
                return Ok(taken as u64);
            }
            Input::Read(bytes) => return Ok(self.read(bytes)),
            Input::Close => self.socket().close(),
            Input::Reset => self.socket().abort(),
            Input::Write(_) | Input::Wake => {}
        }
        Ok(0)
    }

    fn read(&mut self, bytes: u64) -> u64 {
        let mut taken = 0;
        while taken < bytes {
            let left = usize::try_from(bytes - taken).unwrap_or(usize::MAX);
            match self.socket().recv(|data| (data.len().min(left), data.len().min(left))) {
                Ok(0) => break,
                Ok(len) => taken += len as u64,
                Err(error) => {
                    self.finished |= error == tcp::RecvError::Finished;
                    break;
                }
            }
        }
        taken
    }

    fn status(&mut self, now: Instant, taken: u64) -> Status {
        let at = self.interface.poll_at(micros(now), &self.sockets);
        // Rounded up, and later than now: a poll has just done all that is due.
        let wake = at.map(|at| Instant::from_nanos((at.total_micros().max(0) as u64).saturating_mul(1000)));
        let wake = wake.map(|at| at.max(Instant::from_nanos((now.as_nanos() / 1000 + 1) * 1000)));
        let before = self.opened;
        let socket = self.socket();
        let state = socket.state();
        let opened = before || !matches!(state, State::Closed | State::Listen | State::SynSent | State::SynReceived);
        let writable = if socket.can_send() { (socket.send_capacity() - socket.send_queue()) as u64 } else { 0 };
        let readable = socket.recv_queue() as u64;
        let peer_closed = matches!(state, State::CloseWait | State::LastAck | State::Closing | State::TimeWait);
        self.opened = opened;
        self.finished |= peer_closed && readable == 0;
        let ended = match state {
            State::Closed if self.finished => Some(Ended::Closed),
            State::Closed if opened || self.reset || self.connects => Some(Ended::Reset),
            _ => None,
        };
        Status { wake, open: opened, readable, writable, finished: self.finished, ended, taken }
    }
}

impl Guest for Smoltcp {
    fn about(&self) -> &About {
        &self.about
    }

    fn step(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed> {
        self.reset |= input == Input::Reset;
        self.connects |= input == Input::Connect;
        let taken = self.act(input)?;
        let Self { interface, queues, sockets, .. } = self;
        while interface.poll(micros(now), queues, sockets) != PollResult::None {}
        packets.append(&mut self.queues.sent);
        Ok(self.status(now, taken))
    }
}

fn micros(now: Instant) -> time::Instant {
    time::Instant::from_micros(i64::try_from(now.as_nanos() / 1000).unwrap_or(i64::MAX))
}

/// The device: packets that arrived and packets that leave.
#[derive(Default)]
struct Queues {
    mtu: usize,
    arrived: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

impl phy::Device for Queues {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: time::Instant) -> Option<(Arrived, Room<'_>)> {
        self.arrived.pop_front().map(|packet| (Arrived(packet), Room(&mut self.sent)))
    }

    fn transmit(&mut self, _: time::Instant) -> Option<Room<'_>> {
        Some(Room(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

struct Arrived(Vec<u8>);

impl phy::RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

struct Room<'a>(&'a mut Vec<Vec<u8>>);

impl phy::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push(packet);
        result
    }
}
