//! Stacks whose packets go through WireGuard, without a device of the system: `cargo run --example wireguard` joins two of them in
//! this process, and one asks the other.

use boringtun::{
    noise::{Tunn, TunnResult},
    x25519::{PublicKey, StaticSecret},
};
use recoup_stack::{
    Config, Stack, TcpListener, TcpStream,
    device::{Packets, channel},
};
use std::{
    io,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UdpSocket,
    time::{MissedTickBehavior, interval},
};

/// Bytes of a packet at most: with the headers of IPv6, UDP and WireGuard it fits in 1500 bytes.
pub const MTU: u16 = 1420;

/// Room for a datagram of the tunnel, of which a packet of data has 32 bytes more than it carries.
const ROOM: usize = 2048;

/// How often the tunnel's timers are looked at.
const TICK: Duration = Duration::from_millis(250);

/// One end of a tunnel: its keys, and the peer's.
#[derive(Clone)]
pub struct Keys {
    pub own: StaticSecret,
    pub peer: PublicKey,
}

impl Keys {
    /// New ones for both ends of a tunnel.
    pub fn pair() -> io::Result<(Self, Self)> {
        let draw = || {
            let mut bytes = [0; 32];
            getrandom::fill(&mut bytes).map_err(io::Error::other)?;
            Ok::<_, io::Error>(StaticSecret::from(bytes))
        };
        let (first, second) = (draw()?, draw()?);
        let publics = (PublicKey::from(&first), PublicKey::from(&second));
        Ok((Self { own: first, peer: publics.1 }, Self { own: second, peer: publics.0 }))
    }
}

/// A tunnel between a stack's packets and a connected socket.
pub struct Tunnel {
    tunn: Mutex<Tunn>,
    socket: UdpSocket,
}

impl Tunnel {
    /// A tunnel over `socket`.
    pub fn new(keys: Keys, index: u32, socket: UdpSocket) -> Self {
        let tunn = Tunn::new(keys.own, keys.peer, None, Some(25), index, None);
        Self { tunn: Mutex::new(tunn), socket }
    }

    /// A stack with `address` whose packets this carries. `keep` sees each datagram that leaves, and says whether it does.
    pub fn stack(
        self: &Arc<Self>,
        address: IpAddr,
        keep: impl FnMut(&[u8]) -> bool + Send + 'static,
    ) -> io::Result<Stack> {
        let (device, packets) = channel(MTU, 256);
        let stack = Stack::new(device, Config::new([address]))?;
        let tunnel = Arc::clone(self);
        tokio::spawn(async move { tunnel.carry(packets, keep).await });
        Ok(stack)
    }

    /// Starts a handshake for new keys, as WireGuard does by itself every two minutes.
    pub async fn renew(&self) -> io::Result<()> {
        let message = self.process(|tunn, into| tunn.format_handshake_initiation(into, true)).0;
        self.socket.send(&message).await.map(drop)
    }

    /// Carries packets until the stack is gone.
    async fn carry(&self, packets: Packets, mut keep: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        let (to_stack, mut from_stack) = packets.split();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut datagram = vec![0; ROOM];
        loop {
            let mut received = false;
            let (mut leaves, came) = tokio::select! {
                packet = from_stack.receive() => match packet {
                    Some(packet) => self.process(|tunn, into| tunn.encapsulate(&packet, into)),
                    None => return Ok(()),
                },
                count = self.socket.recv(&mut datagram) => {
                    let count = count?;
                    received = true;
                    self.process(|tunn, into| tunn.decapsulate(None, &datagram[..count], into))
                }
                _ = tick.tick() => self.process(|tunn, into| tunn.update_timers(into)),
            };
            if !came.is_empty() {
                // What finds no room is lost, as packets may be.
                let _ = to_stack.try_send(came);
            }
            while !leaves.is_empty() {
                if keep(&leaves) {
                    self.socket.send(&leaves).await?;
                }
                if !received {
                    break;
                }
                // Packets that waited for a handshake leave, too.
                leaves = self.process(|tunn, into| tunn.decapsulate(None, &[], into)).0;
            }
        }
    }

    /// The datagram that leaves and the packet that came, each empty if there is none.
    fn process<F>(&self, step: F) -> (Vec<u8>, Vec<u8>)
    where
        F: for<'a> FnOnce(&mut Tunn, &'a mut [u8]) -> TunnResult<'a>,
    {
        let mut into = [0; ROOM];
        let mut tunn = self.tunn.lock().unwrap_or_else(PoisonError::into_inner);
        match step(&mut tunn, &mut into) {
            TunnResult::WriteToNetwork(datagram) => (datagram.to_vec(), Vec::new()),
            TunnResult::WriteToTunnelV4(packet, _) | TunnResult::WriteToTunnelV6(packet, _) => {
                (Vec::new(), packet.to_vec())
            }
            // A datagram that is not the peer's, or comes twice, is ignored.
            TunnResult::Done | TunnResult::Err(_) => (Vec::new(), Vec::new()),
        }
    }
}

/// Two sockets of the loopback interface that are connected to each other.
pub async fn sockets() -> io::Result<(UdpSocket, UdpSocket)> {
    let (first, second) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    first.connect(second.local_addr()?).await?;
    second.connect(first.local_addr()?).await?;
    Ok((first, second))
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let (keys, (first, second)) = (Keys::pair()?, sockets().await?);
    let (near, far) = (Tunnel::new(keys.0, 1, first), Tunnel::new(keys.1, 2, second));
    let near = Arc::new(near).stack([10, 0, 0, 1].into(), |_| true)?;
    let far = Arc::new(far).stack([10, 0, 0, 2].into(), |_| true)?;
    let listener = TcpListener::bind(&far, ([10, 0, 0, 2], 7).into())?;
    tokio::spawn(async move {
        let (mut stream, peer) = listener.accept().await?;
        stream.write_all(format!("hello {peer}\n").as_bytes()).await
    });
    let mut answer = String::new();
    TcpStream::connect(&near, ([10, 0, 0, 2], 7).into()).await?.read_to_string(&mut answer).await?;
    print!("{answer}");
    Ok(())
}
