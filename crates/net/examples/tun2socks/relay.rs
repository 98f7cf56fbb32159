//! The stack, its TCP, and what is neither TCP nor UDP.

use crate::{socks, udp};
use recoup_net::{AsyncDevice, TunDevice};
use recoup_stack::{Config, Incoming, RawSocket, Stack, TcpOptions, UdpSocket};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{io::copy_bidirectional, time::timeout};

/// How long the proxy may take to connect. Clients give up after a minute or two.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let proxy: SocketAddr = std::env::args().nth(1).ok_or("expected the proxy's ADDRESS:PORT")?.parse()?;
    let device = TunDevice::open(1500)?;
    let name = device.name().to_owned();
    let stack = Stack::new(AsyncDevice::new(device)?, Config::new([]))?;
    // Each SYN waits until the proxy has connected, so that clients see what the destination does.
    let options = TcpOptions { decide_first: true, ..TcpOptions::default() };
    let listener = stack.accept_any_with(&options)?;
    let datagrams = Arc::new(UdpSocket::bind_any(&stack)?);
    let others = RawSocket::open(&stack, 64 << 10)?;
    tokio::spawn(udp::forward(datagrams, proxy));
    tokio::spawn(async move {
        while let Ok(packet) = others.recv().await {
            let protocol = match packet.first().map(|byte| byte >> 4) {
                Some(4) => packet.get(9),
                Some(6) => packet.get(6),
                _ => None,
            };
            println!("dropped a packet of protocol {}", protocol.copied().unwrap_or_default());
        }
    });
    println!("{name} over {proxy}");
    loop {
        let incoming = listener.incoming().await?;
        tokio::spawn(async move {
            let ends = (incoming.peer_addr(), incoming.local_addr());
            if let Err(error) = relay(incoming, proxy).await {
                println!("{} to {}: {error}", ends.0, ends.1);
            }
        });
    }
}

/// Connects to where a SYN wants to go, answers it accordingly, and copies both ways.
async fn relay(incoming: Incoming, proxy: SocketAddr) -> io::Result<()> {
    let connect = socks::connect(proxy, incoming.local_addr());
    // If this fails, `incoming` is dropped, which refuses the connection.
    let mut far = timeout(PATIENCE, connect).await??;
    let mut near = incoming.accept().await?;
    copy_bidirectional(&mut near, &mut far).await.map(drop)
}
