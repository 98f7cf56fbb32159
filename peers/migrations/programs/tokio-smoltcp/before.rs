//! A node with one address: it echoes TCP and UDP at port 7, and asks other nodes.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy, split},
    time::timeout,
};
use tokio_smoltcp::{
    Net, NetConfig, TcpListener, UdpSocket,
    device::AsyncDevice,
    smoltcp::{
        iface::Config,
        wire::{HardwareAddress, IpAddress, IpCidr},
    },
};

/// How often a datagram is sent, and how long each time waits for an answer.
const ATTEMPTS: usize = 5;
const WAIT: Duration = Duration::from_millis(500);

/// A node with `address`, for as long as it is held. `gateway` leads to everybody else.
pub async fn start<D: AsyncDevice + 'static>(device: D, address: [u8; 4], gateway: [u8; 4]) -> io::Result<Arc<Net>> {
    let [a, b, c, d] = gateway;
    let gateway = vec![IpAddress::v4(a, b, c, d)];
    let [a, b, c, d] = address;
    let cidr = IpCidr::new(IpAddress::v4(a, b, c, d), 24);
    let net = Arc::new(Net::new(device, NetConfig::new(Config::new(HardwareAddress::Ip), cidr, gateway)));
    let here = SocketAddr::from((address, 7));
    tokio::spawn(echo_streams(net.tcp_bind(here).await?));
    tokio::spawn(echo_datagrams(net.udp_bind(here).await?));
    Ok(net)
}

async fn echo_streams(mut listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let (mut reader, mut writer) = split(stream);
            copy(&mut reader, &mut writer).await?;
            writer.shutdown().await
        });
    }
}

async fn echo_datagrams(socket: UdpSocket) -> io::Result<()> {
    let mut buffer = [0; 2000];
    loop {
        let (count, peer) = socket.recv_from(&mut buffer).await?;
        socket.send_to(&buffer[..count], peer).await?;
    }
}

/// What a server answers to a stream.
pub async fn ask(net: &Net, server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let (mut reader, mut writer) = split(net.tcp_connect(server).await?);
    let write = async {
        writer.write_all(question).await?;
        writer.shutdown().await
    };
    let mut answer = Vec::new();
    // Shutting down lasts until the end of TIME-WAIT, 10 s after the answer.
    tokio::select! {
        read = reader.read_to_end(&mut answer) => read?,
        Err(error) = write => return Err(error),
    };
    Ok(answer)
}

/// What a server answers to a datagram.
pub async fn ask_shortly(net: &Net, server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let socket = net.udp_bind(([0; 4], 0).into()).await?;
    let mut buffer = [0; 2000];
    for _ in 0..ATTEMPTS {
        socket.send_to(question, server).await?;
        if let Ok(answered) = timeout(WAIT, socket.recv_from(&mut buffer)).await {
            return Ok(buffer[..answered?.0].to_vec());
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let device = tun_rs::DeviceBuilder::new().ipv4("10.7.0.1", 24, None).mtu(1500).build_sync()?;
    device.set_nonblocking(true)?;
    let net = start(tun::packets_of(device)?, [10, 7, 0, 2], [10, 7, 0, 1]).await?;
    println!("{}", String::from_utf8_lossy(&ask(&net, ([10, 7, 0, 1], 80).into(), b"GET / HTTP/1.0\r\n\r\n").await?));
    std::future::pending().await
}

mod tun {
    //! A TUN device as the stack wants it.

    use std::io;
    use tokio_smoltcp::{
        device::{AsyncCapture, AsyncDevice, DeviceCapabilities},
        smoltcp::phy::Medium,
    };
    use tun_rs::SyncDevice;

    pub fn packets_of(device: SyncDevice) -> io::Result<impl AsyncDevice> {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        let receive = |device: &mut SyncDevice| {
            let mut packet = vec![0; 1500];
            let count = device.recv(&mut packet)?;
            packet.truncate(count);
            Ok(packet)
        };
        let send = |device: &mut SyncDevice, packet: &[u8]| device.send(packet).map(drop);
        AsyncCapture::new(device, receive, send, capabilities)
    }
}
