//! Datagrams: one socket for each client, as long as it is in use.

use crate::socks;
use recoup_stack::UdpSocket;
use std::{collections::HashMap, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::AsyncReadExt as _,
    net::UdpSocket as SystemSocket,
    sync::mpsc::{Receiver, Sender, channel},
    time::sleep,
};

/// How long a client's socket stays without a datagram: RFC 4787 §4.3 asks for two minutes at least.
const IDLE: Duration = Duration::from_secs(120);

/// Datagrams of a client that wait, at most.
const WAITING: usize = 64;

/// Clients at most. Datagrams of further ones are dropped.
const CLIENTS: usize = 1024;

/// A datagram's destination and data.
type Outgoing = (SocketAddr, Vec<u8>);

/// Sends what comes to `near` over `proxy`, and the answers back.
pub async fn forward(near: Arc<UdpSocket>, proxy: SocketAddr) -> io::Result<()> {
    let mut clients: HashMap<SocketAddr, Sender<Outgoing>> = HashMap::new();
    loop {
        let datagram = near.recv_datagram().await?;
        if clients.len() >= CLIENTS {
            clients.retain(|_, client| !client.is_closed());
        }
        let known = clients.get(&datagram.source).filter(|client| !client.is_closed()).cloned();
        let client = match known {
            Some(client) => client,
            None if clients.len() >= CLIENTS => continue,
            None => {
                let (client, outgoing) = channel(WAITING);
                let (near, source) = (Arc::clone(&near), datagram.source);
                tokio::spawn(async move {
                    if let Err(error) = serve(&near, source, proxy, outgoing).await {
                        println!("datagrams of {source}: {error}");
                    }
                });
                clients.insert(datagram.source, client.clone());
                client
            }
        };
        // What finds no room is lost, as datagrams may be.
        let _ = client.try_send((datagram.destination, datagram.bytes));
    }
}

/// Carries the datagrams of one client until there are none for a while.
async fn serve(
    near: &UdpSocket,
    client: SocketAddr,
    proxy: SocketAddr,
    mut outgoing: Receiver<Outgoing>,
) -> io::Result<()> {
    let (mut stream, relay) = socks::associate(proxy).await?;
    let far = SystemSocket::bind((socks::unspecified_like(relay), 0)).await?;
    far.connect(relay).await?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        tokio::select! {
            () = sleep(IDLE) => return Ok(()),
            // The association ends with its stream (RFC 1928 §6).
            _ = stream.read_u8() => return Ok(()),
            going = outgoing.recv() => {
                let Some((target, bytes)) = going else { return Ok(()) };
                if let Err(error) = far.send(&socks::wrap(target, &bytes)).await {
                    println!("datagram of {client} to {target}: {error}");
                }
            }
            came = far.recv(&mut buffer) => {
                if let Some((source, bytes)) = socks::unwrap(&buffer[..came?]) {
                    near.send_from(bytes, source, client).await?;
                }
            }
        }
    }
}
