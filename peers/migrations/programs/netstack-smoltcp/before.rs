//! A gateway: TCP and UDP of a network go out through sockets of this machine, each client's UDP through one socket.

use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use netstack_smoltcp::{StackBuilder, TcpListener, UdpSocket};
use std::{collections::HashMap, future::ready, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::copy_bidirectional,
    net::{TcpStream, UdpSocket as SystemSocket},
    sync::mpsc::{Sender, channel},
    time::timeout,
};

/// How long a client's socket stays after its last answer.
const IDLE: Duration = Duration::from_secs(120);

/// Where a destination is reached from here.
pub type Route = fn(SocketAddr) -> SocketAddr;

/// A datagram, and its two addresses.
type Datagram = (Vec<u8>, SocketAddr, SocketAddr);

/// Serves the packets of `device`.
pub async fn serve<D>(device: D, route: Route) -> io::Result<()>
where
    D: Stream<Item = io::Result<Vec<u8>>> + Sink<Vec<u8>, Error = io::Error> + Send + 'static,
{
    let (stack, runner, udp, tcp) = StackBuilder::default()
        .stack_buffer_size(512)
        .enable_tcp(true)
        .enable_udp(true)
        .enable_icmp(true)
        .mtu(1500)
        .build()?;
    let (Some(runner), Some(udp), Some(tcp)) = (runner, udp, tcp) else {
        return Err(io::Error::other("expected TCP and UDP"));
    };
    tokio::spawn(runner);
    let (mut to_stack, from_stack) = stack.split();
    let (to_device, mut from_device) = device.split();
    tokio::spawn(from_stack.forward(to_device));
    tokio::spawn(async move {
        while let Some(Ok(packet)) = from_device.next().await {
            if let Err(error) = to_stack.send(packet).await {
                println!("ignored a packet: {error}");
            }
        }
    });
    tokio::spawn(serve_datagrams(udp, route));
    serve_streams(tcp, route).await
}

async fn serve_streams(mut tcp: TcpListener, route: Route) -> io::Result<()> {
    while let Some((mut client, _, destination)) = tcp.next().await {
        tokio::spawn(async move {
            let mut server = TcpStream::connect(route(destination)).await?;
            copy_bidirectional(&mut client, &mut server).await
        });
    }
    Ok(())
}

async fn serve_datagrams(udp: UdpSocket, route: Route) -> io::Result<()> {
    let (mut requests, mut to_clients) = udp.split();
    let (answers, mut waiting) = channel::<Datagram>(512);
    tokio::spawn(async move {
        while let Some(answer) = waiting.recv().await {
            to_clients.send(answer).await?;
        }
        Ok::<_, io::Error>(())
    });
    let mut sockets: HashMap<(SocketAddr, SocketAddr), Arc<SystemSocket>> = HashMap::new();
    while let Some((bytes, client, destination)) = requests.next().await {
        // A socket that only this table holds is no longer in use.
        sockets.retain(|_, socket| Arc::strong_count(socket) > 1);
        let socket = match sockets.get(&(client, destination)) {
            Some(socket) => Arc::clone(socket),
            None => {
                let socket = Arc::new(SystemSocket::bind("0.0.0.0:0").await?);
                socket.connect(route(destination)).await?;
                sockets.insert((client, destination), Arc::clone(&socket));
                tokio::spawn(answer(Arc::clone(&socket), answers.clone(), client, destination));
                socket
            }
        };
        if let Err(error) = socket.send(&bytes).await {
            println!("{destination}: {error}");
        }
    }
    Ok(())
}

/// Sends a server's answers back until there are none for a while.
async fn answer(socket: Arc<SystemSocket>, answers: Sender<Datagram>, client: SocketAddr, destination: SocketAddr) {
    let mut buffer = [0; 1 << 16];
    while let Ok(Ok(count)) = timeout(IDLE, socket.recv(&mut buffer)).await {
        if answers.send((buffer[..count].to_vec(), destination, client)).await.is_err() {
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
