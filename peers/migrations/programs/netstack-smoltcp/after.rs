//! A gateway: TCP and UDP of a network go out through sockets of this machine, each client's UDP through one socket.

use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use recoup_stack::{Config, Datagram, Stack, TcpListener, UdpSocket, device::StreamDevice};
use std::{collections::HashMap, future::ready, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::copy_bidirectional,
    net::{TcpStream, UdpSocket as SystemSocket},
    time::timeout,
};

/// How long a client's socket stays after its last answer.
const IDLE: Duration = Duration::from_secs(120);

/// Where a destination is reached from here.
pub type Route = fn(SocketAddr) -> SocketAddr;

/// Serves the packets of `device`.
pub async fn serve<D>(device: D, route: Route) -> io::Result<()>
where
    D: Stream<Item = io::Result<Vec<u8>>> + Sink<Vec<u8>, Error = io::Error> + Send + 'static,
{
    let device = StreamDevice::new(Box::pin(device), 1500);
    let stack = Stack::new(device, Config { answer_any_echo: true, ..Config::new([]) })?;
    let (udp, tcp) = (UdpSocket::bind_any(&stack)?, stack.accept_any()?);
    tokio::spawn(serve_datagrams(udp, route));
    serve_streams(tcp, route).await
}

async fn serve_streams(tcp: TcpListener, route: Route) -> io::Result<()> {
    loop {
        let (mut client, _) = tcp.accept().await?;
        tokio::spawn(async move {
            let mut server = TcpStream::connect(route(client.local_addr()?)).await?;
            copy_bidirectional(&mut client, &mut server).await
        });
    }
}

async fn serve_datagrams(udp: UdpSocket, route: Route) -> io::Result<()> {
    let udp = Arc::new(udp);
    let mut sockets: HashMap<(SocketAddr, SocketAddr), Arc<SystemSocket>> = HashMap::new();
    loop {
        let Datagram { bytes, source: client, destination, .. } = udp.recv_datagram().await?;
        // A socket that only this table holds is no longer in use.
        sockets.retain(|_, socket| Arc::strong_count(socket) > 1);
        let socket = match sockets.get(&(client, destination)) {
            Some(socket) => Arc::clone(socket),
            None => {
                let socket = Arc::new(SystemSocket::bind("0.0.0.0:0").await?);
                socket.connect(route(destination)).await?;
                sockets.insert((client, destination), Arc::clone(&socket));
                tokio::spawn(answer(Arc::clone(&socket), Arc::clone(&udp), client, destination));
                socket
            }
        };
        if let Err(error) = socket.send(&bytes).await {
            println!("{destination}: {error}");
        }
    }
}

/// Sends a server's answers back until there are none for a while.
async fn answer(socket: Arc<SystemSocket>, udp: Arc<UdpSocket>, client: SocketAddr, destination: SocketAddr) {
    let mut buffer = [0; 1 << 16];
    while let Ok(Ok(count)) = timeout(IDLE, socket.recv(&mut buffer)).await {
        if udp.send_from(&buffer[..count], destination, client).await.is_err() {
            return;
        }
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let device = tun_rs::DeviceBuilder::new().ipv4("10.7.0.1", 24, None).mtu(1500).build_async()?;
    let packets = tun_rs::async_framed::DeviceFramed::new(device, tun_rs::async_framed::BytesCodec::new());
    let packets = packets.map(|packet| packet.map(|bytes| bytes.to_vec()));
    serve(packets.with(|packet: Vec<u8>| ready(Ok::<_, io::Error>(Bytes::from(packet)))), |server| server).await
}
