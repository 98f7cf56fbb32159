//! Relays the TCP and UDP of a TUN device to the servers it is for.

use ipstack::{IpStack, IpStackConfig, IpStackStream, IpStackTcpStream, IpStackUdpStream};
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    net::{TcpStream, UdpSocket},
};

/// How long a flow of UDP lasts after its last datagram.
const IDLE: Duration = Duration::from_secs(60);

/// Where a destination is reached from here.
pub type Route = fn(SocketAddr) -> SocketAddr;

/// Relays what comes from `device`, whose packets have up to `mtu` bytes.
pub async fn relay<D>(device: D, mtu: u16, route: Route) -> io::Result<()>
where
    D: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut config = IpStackConfig::default();
    config.mtu(mtu)?.udp_timeout(IDLE);
    let mut stack = IpStack::new(config, device);
    loop {
        match stack.accept().await? {
            IpStackStream::Tcp(stream) => {
                let server = route(stream.peer_addr());
                tokio::spawn(async move { report(server, relay_stream(stream, server).await) });
            }
            IpStackStream::Udp(flow) => {
                let server = route(flow.peer_addr());
                tokio::spawn(async move { report(server, relay_datagrams(flow, server).await) });
            }
            IpStackStream::UnknownTransport(packet) => {
                println!("no relay for protocol {:?} from {}", packet.ip_protocol(), packet.src_addr());
            }
            IpStackStream::UnknownNetwork(packet) => println!("no relay for {} bytes that are not IP", packet.len()),
        }
    }
}

fn report(server: SocketAddr, relayed: io::Result<()>) {
    if let Err(error) = relayed {
        println!("{server}: {error}");
    }
}

async fn relay_stream(mut client: IpStackTcpStream, server: SocketAddr) -> io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    client.shutdown().await
}

async fn relay_datagrams(mut client: IpStackUdpStream, server: SocketAddr) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    socket.connect(server).await?;
    let (mut request, mut answer) = ([0; 1 << 16], [0; 1 << 16]);
    loop {
        tokio::select! {
            count = client.read(&mut request) => match count? {
                0 => return Ok(()),
                count => socket.send(&request[..count]).await.map(drop)?,
            },
            count = socket.recv(&mut answer) => client.write_all(&answer[..count?]).await?,
        }
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let device = tun_rs::DeviceBuilder::new().ipv4("10.7.0.1", 24, None).mtu(1500).build_async()?;
    relay(tun::Tun(device), 1500, |server| server).await
}

mod tun {
    //! A TUN device to read packets from, and to write them to.

    use std::{
        io,
        pin::Pin,
        task::{Context, Poll, ready},
    };
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    pub struct Tun(pub tun_rs::AsyncDevice);

    impl AsyncRead for Tun {
        fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let count = ready!(self.0.poll_recv(context, into.initialize_unfilled()))?;
            into.advance(count);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Tun {
        fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, packet: &[u8]) -> Poll<io::Result<usize>> {
            self.0.poll_send(context, packet)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
}
