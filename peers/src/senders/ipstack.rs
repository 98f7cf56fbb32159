//! The TCP of the crate ipstack, on Tokio's runtime.
//!
//! Choices for throughput:
//! - Tokio's runtime has one worker thread. It must be the runtime for several, because dropping a stream calls
//!   `block_in_place`.
//! - A write has one segment: the stack copies all of what is written, and sends no more than a segment of it.
//! - As many bytes may be unacknowledged as the receiver permits (`max_unacked_bytes`). By default it is 16 KiB.
//! - The MSS is what the MTU permits. By default none is announced, which means 536 bytes (RFC 9293 §3.7.1).
//!
//! Limits of ipstack:
//! - Segmentation and checksum offloads, window scaling, SACK, timestamps, congestion control.
//! - Retransmission timeouts while nothing arrives: it looks for them when a packet comes.
//! - News that the peer has closed its side: a read that waits for it returns with the session's timeout alone. So the
//!   sender asks again every [`LOOK`]. A peer that closes its side before the answer is complete gets a part of it.
//!
//! An idle connection holds three tasks, four channels, and the timer of its session, which is reset with every read.

use super::{Failed, Options, PORT, REQUEST, announce, open_device};
use ::ipstack::{IpStack, IpStackConfig, IpStackStream, IpStackTcpStream, TcpConfig, TcpOptions};
use recoup_net::TunDevice;
use std::{
    io,
    net::IpAddr,
    os::fd::{AsFd, AsRawFd, RawFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, unix::AsyncFd},
    time::timeout,
};

/// How often the sender looks whether a peer that has its answer has closed its side.
const LOOK: Duration = Duration::from_millis(20);

/// The longest time that a connection may be idle.
const SESSION: Duration = Duration::from_secs(3600);

/// Bytes of an IPv4 and a TCP header without options.
const HEADERS: u16 = 40;

pub fn run(options: &Options) -> Result<(), Failed> {
    if options.offloads {
        return Err("ipstack has no segmentation offload: run it without --offloads".into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let options = *options;
    let served = runtime.spawn(async move { serve(options).await });
    runtime.block_on(served)?
}

async fn serve(options: Options) -> Result<(), Failed> {
    let (device, address) = open_device(&options)?;
    #[expect(deprecated, reason = "its replacement is unsafe; a Descriptor keeps its descriptor")]
    let device = Packets(AsyncFd::new(Descriptor(device))?);
    let segment = options.mtu.saturating_sub(HEADERS);
    let mut tcp = TcpConfig::default();
    tcp.timeout = SESSION;
    tcp.max_unacked_bytes = u32::MAX;
    tcp.options = Some(vec![TcpOptions::MaximumSegmentSize(segment)]);
    let mut config = IpStackConfig::default();
    config.mtu(options.mtu)?.with_tcp_config(tcp);
    let mut stack = IpStack::new(config, device);
    let chunk: Arc<[u8]> = vec![7; segment.into()].into();
    announce(address);
    loop {
        // It accepts connections to every address and port.
        if let IpStackStream::Tcp(stream) = stack.accept().await?
            && is_ours(&stream, address)
        {
            tokio::spawn(answer(stream, Arc::clone(&chunk)));
        }
    }
}

fn is_ours(stream: &IpStackTcpStream, address: IpAddr) -> bool {
    // The peer's address of a stream is the one that the client wanted.
    stream.peer_addr().ip() == address && stream.peer_addr().port() == PORT
}

/// Answers the requests of a connection. The peer's end reports what goes wrong.
async fn answer(mut stream: IpStackTcpStream, chunk: Arc<[u8]>) -> io::Result<()> {
    let mut request = [0; REQUEST];
    stream.read_exact(&mut request).await?;
    loop {
        let mut left = u64::from_be_bytes(request);
        while left > 0 {
            let len = usize::try_from(left).map_or(chunk.len(), |left| left.min(chunk.len()));
            left -= stream.write(&chunk[..len]).await? as u64;
        }
        let mut filled = 0;
        while filled < REQUEST {
            match timeout(LOOK, stream.read(&mut request[filled..])).await {
                Ok(Ok(0)) => return Ok(()),
                Ok(count) => filled += count?,
                Err(_) => {}
            }
        }
    }
}

/// The device as Tokio wants it.
struct Descriptor(TunDevice);

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// The device as the stack wants it: each read and each write is a packet.
struct Packets(AsyncFd<Descriptor>);

impl AsyncRead for Packets {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            if let Some(len) = self.0.get_ref().0.tun().read(into.initialize_unfilled())? {
                into.advance(len);
                return Poll::Ready(Ok(()));
            }
            ready.clear_ready();
        }
    }
}

impl AsyncWrite for Packets {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, packet: &[u8]) -> Poll<io::Result<usize>> {
        // A packet that the device refuses is lost, as on any network. It refuses none for want of room.
        let _ = self.0.get_ref().0.tun().write(packet);
        Poll::Ready(Ok(packet.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
