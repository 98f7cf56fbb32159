//! The programs before and after their move to `recoup-stack` do the same, seen from another stack in memory; and a stack over
//! WireGuard.

mod docs;
mod ipstack;
mod netstack_smoltcp;
mod tokio_smoltcp;
mod wireguard;

use ::tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener as SystemListener, UdpSocket as SystemSocket},
    time::timeout,
};
use recoup_stack::{Config, Stack, TcpStream, UdpSocket, device::Device};
use std::{io::ErrorKind, net::SocketAddr, sync::OnceLock, time::Duration};

/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(20);

const MTU: u16 = 1500;

/// What a client asks for, whoever has it.
const ECHO: &str = "198.51.100.7:7";
const CLOSED: &str = "198.51.100.9:9";

/// Bytes without a short period.
fn bytes(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i * i / 7 % 253) as u8).collect()
}

/// A stack of a client.
fn client(device: impl Device + Send + 'static) -> Stack {
    Stack::new(device, Config::new([[192, 0, 2, 1].into()])).unwrap()
}

/// Where the echo server of this process is, once one runs.
static SERVER: OnceLock<SocketAddr> = OnceLock::new();

/// Echoes streams and datagrams at a port of the loopback interface, from a thread of its own.
fn serve() {
    SERVER.get_or_init(|| {
        let (sender, address) = std::sync::mpsc::channel();
        let run = async move {
            let (listener, socket) = loop {
                let listener = SystemListener::bind("127.0.0.1:0").await.unwrap();
                // The same port for both, if it is free.
                if let Ok(socket) = SystemSocket::bind(listener.local_addr().unwrap()).await {
                    break (listener, socket);
                }
            };
            sender.send(listener.local_addr().unwrap()).unwrap();
            ::tokio::spawn(async move {
                let mut buffer = [0; 2000];
                loop {
                    let (count, peer) = socket.recv_from(&mut buffer).await.unwrap();
                    socket.send_to(&buffer[..count], peer).await.unwrap();
                }
            });
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                ::tokio::spawn(async move {
                    let (mut reader, mut writer) = stream.split();
                    copy(&mut reader, &mut writer).await
                });
            }
        };
        std::thread::spawn(move || {
            ::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run)
        });
        address.recv().unwrap()
    });
}

/// Leads to the echo server, or to a port that nobody has.
fn route(destination: SocketAddr) -> SocketAddr {
    match destination.port() {
        7 => *SERVER.get().unwrap(),
        _ => SocketAddr::from(([127, 0, 0, 1], 1)),
    }
}

/// A stream comes back whole.
async fn echoes_a_stream(stack: &Stack, server: SocketAddr) {
    let echoed = async {
        let mut stream = TcpStream::connect(stack, server).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), server);
        let sent = bytes(300_000);
        let (mut reader, mut writer) = stream.split();
        let mut received = vec![0; sent.len()];
        let (read, written) = ::tokio::join!(reader.read_exact(&mut received), writer.write_all(&sent));
        written.and(read).unwrap();
        assert!(received == sent);
        // Not before: ipstack drops the data of a segment that has the FIN, too.
        writer.shutdown().await.unwrap();
        assert_eq!(reader.read(&mut [0]).await.unwrap(), 0);
    };
    timeout(PATIENCE, echoed).await.unwrap();
}

/// Datagrams come back from where they were sent.
async fn echoes_datagrams(stack: &Stack, server: SocketAddr) {
    let socket = UdpSocket::bind(stack, ([0; 4], 0).into()).unwrap();
    for len in [1, 100, 1400] {
        let sent = bytes(len);
        socket.send_to(&sent, server).await.unwrap();
        let mut into = [0; 2000];
        let (count, from) = timeout(PATIENCE, socket.recv_from(&mut into)).await.unwrap().unwrap();
        assert_eq!((count, from), (len, server));
        assert!(into[..count] == sent);
    }
}

/// Several clients at once, of a relay that is reached through `device`.
async fn relays(device: impl Device + Send + 'static) {
    let stack = client(device);
    let echo = ECHO.parse().unwrap();
    ::tokio::join!(
        echoes_a_stream(&stack, echo),
        echoes_a_stream(&stack, echo),
        echoes_datagrams(&stack, echo),
        echoes_datagrams(&stack, echo),
    );
}

/// A server that refuses is one that refuses, too, seen through a relay.
async fn refuses(device: impl Device + Send + 'static) {
    let refused = timeout(PATIENCE, TcpStream::connect(&client(device), CLOSED.parse().unwrap())).await.unwrap();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}
