//! A node with one address: it echoes TCP and UDP at port 7, and asks other nodes.

use recoup_net::{AsyncDevice, TunDevice, TunOptions};
use recoup_stack::{Config, Stack, TcpListener, TcpStream, UdpSocket, device::Device};
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    time::timeout,
};
/// How often a datagram is sent, and how long each time waits for an answer.
const ATTEMPTS: usize = 5;
const WAIT: Duration = Duration::from_millis(500);

/// A node with `address`, for as long as it is held.
pub async fn start<D: Device + Send + 'static>(device: D, address: [u8; 4]) -> io::Result<Stack> {
    let stack = Stack::new(device, Config::new([address.into()]))?;
    let here = SocketAddr::from((address, 7));
    tokio::spawn(echo_streams(TcpListener::bind(&stack, here)?));
    tokio::spawn(echo_datagrams(UdpSocket::bind(&stack, here)?));
    Ok(stack)
}

async fn echo_streams(listener: TcpListener) -> io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let (mut reader, mut writer) = stream.split();
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
pub async fn ask(stack: &Stack, server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(stack, server).await?;
    let (mut reader, mut writer) = stream.split();
    let write = async {
        writer.write_all(question).await?;
        writer.shutdown().await
    };
    let mut answer = Vec::new();
    tokio::try_join!(reader.read_to_end(&mut answer), write)?;
    Ok(answer)
}

/// What a server answers to a datagram.
pub async fn ask_shortly(stack: &Stack, server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let socket = UdpSocket::bind(stack, ([0; 4], 0).into())?;
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
    let options = TunOptions { address: Some([10, 7, 0, 2].into()), ..TunOptions::default() };
    let device = AsyncDevice::new(TunDevice::open_with(&options)?)?;
    let stack = start(device, [10, 7, 0, 2]).await?;
    println!("{}", String::from_utf8_lossy(&ask(&stack, ([10, 7, 0, 3], 80).into(), b"GET / HTTP/1.0\r\n\r\n").await?));
    std::future::pending().await
}
