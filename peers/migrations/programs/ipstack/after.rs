//! Relays the TCP and UDP of a TUN device to the servers it is for.

use recoup_stack::{Config, Incoming, RawSocket, Stack, TcpOptions, UdpSocket as StackUdpSocket, device::Device};
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::copy_bidirectional,
    net::{TcpStream, UdpSocket},
    time::sleep,
};

/// How long a flow of UDP lasts after its last datagram.
const IDLE: Duration = Duration::from_secs(60);

/// Where a destination is reached from here.
pub type Route = fn(SocketAddr) -> SocketAddr;

/// Relays what comes from `device`.
pub async fn relay<D>(device: D, route: Route) -> io::Result<()>
where
    D: Device + Send + 'static,
{
    let stack = Stack::new(device, Config::new([]))?;
    let options = TcpOptions { decide_first: true, ..TcpOptions::default() };
    let streams = stack.accept_any_with(&options)?;
    let flows = StackUdpSocket::bind_any(&stack)?;
    let others = RawSocket::open(&stack, 64 << 10)?;
    loop {
        tokio::select! {
            stream = streams.incoming() => {
                let stream = stream?;
                let server = route(stream.local_addr());
                tokio::spawn(async move { report(server, relay_stream(stream, server).await) });
            }
            flow = flows.accept() => {
                let (flow, _) = flow?;
                let server = route(flow.local_addr()?);
                tokio::spawn(async move { report(server, relay_datagrams(flow, server).await) });
            }
            packet = others.recv() => println!("no relay for a packet of {} bytes", packet?.len()),
        }
    }
}

fn report(server: SocketAddr, relayed: io::Result<()>) {
    if let Err(error) = relayed {
        println!("{server}: {error}");
    }
}

/// The client is answered once the server has: if the server refuses, so does this.
async fn relay_stream(client: Incoming, server: SocketAddr) -> io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    let mut client = client.accept().await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

async fn relay_datagrams(client: StackUdpSocket, server: SocketAddr) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    socket.connect(server).await?;
    let (mut request, mut answer) = ([0; 1 << 16], [0; 1 << 16]);
    loop {
        tokio::select! {
            () = sleep(IDLE) => return Ok(()),
            count = client.recv(&mut request) => socket.send(&request[..count?]).await.map(drop)?,
            count = socket.recv(&mut answer) => client.send(&answer[..count?]).await.map(drop)?,
        }
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let device = recoup_net::TunDevice::open(1500)?;
    relay(recoup_net::AsyncDevice::new(device)?, |server| server).await
}
