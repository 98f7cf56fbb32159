//! The TCP of the crate tcp_ip, on Tokio's runtime with one thread.
//!
//! Choices for throughput:
//! - All tasks share one thread, as the other stacks do. With two threads on two processors it sent 4 % more, and took
//!   35 % more processor time.
//! - Packets go to the device up to [`BATCH`] at a time, in buffers that are kept, as in the crate's examples.
//! - The application's writes may queue [`BUFFER`] bytes in a connection's channel. By default it is 20 times as many,
//!   which was no faster.
//! - The MSS is what the MTU permits. SACK is on, and ACKs are not delayed, as by default. All other settings are the
//!   default ones: they concern memory, limits and reception. The stack always uses slow start and congestion
//!   avoidance, with an initial window of ten segments, and there is no setting for it.
//!
//! Limits of tcp_ip: no segmentation and checksum offloads, no timestamps.
//!
//! An idle connection holds two tasks and three channels, which allocate their slots as they are used.

use super::{BUFFER, Failed, Options, PORT, REQUEST, announce, open_device};
use recoup_net::TunDevice;
use std::{
    io,
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd, RawFd},
    sync::Arc,
};
use tcp_ip::{
    IpStackConfig, IpStackRecv, IpStackSend, ip_stack,
    tcp::{TcpListener, TcpStream},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, unix::AsyncFd};

/// Packets that go to the device at once.
const BATCH: usize = 128;

/// Segments in the longest write that the stack takes whole.
const SEGMENTS: usize = 32;

/// Bytes of an IPv4 and a TCP header without options.
const HEADERS: u16 = 40;

pub fn run(options: &Options) -> Result<(), Failed> {
    if options.offloads {
        return Err("tcp-ip has no segmentation offload: run it without --offloads".into());
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(options))
}

async fn serve(options: &Options) -> Result<(), Failed> {
    let (device, address) = open_device(options)?;
    #[expect(deprecated, reason = "its replacement is unsafe; a Descriptor keeps its descriptor")]
    let device = Arc::new(AsyncFd::new(Descriptor(device))?);
    let chunk = SEGMENTS * usize::from(options.mtu - HEADERS);
    let config = IpStackConfig::builder().ipv4_mtu(options.mtu).tcp_channel_size(BUFFER / chunk).build();
    let (stack, to_stack, from_stack) = ip_stack(config)?;
    let listener = TcpListener::bind(stack, SocketAddr::new(address, PORT)).await?;
    announce(address);
    let carry_in = carry_in(Arc::clone(&device), to_stack, options.mtu);
    let carry_out = carry_out(device, from_stack, options.mtu);
    tokio::select! {
        failed = accept(listener, chunk) => failed,
        failed = tokio::spawn(carry_in) => failed?,
        failed = tokio::spawn(carry_out) => failed?,
    }
}

async fn accept(mut listener: TcpListener, chunk: usize) -> Result<(), Failed> {
    let chunk: Arc<[u8]> = vec![7; chunk].into();
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer(stream, Arc::clone(&chunk)));
    }
}

/// Answers the requests of a connection. The peer's end reports what goes wrong.
async fn answer(mut stream: TcpStream, chunk: Arc<[u8]>) -> io::Result<()> {
    let mut request = [0; REQUEST];
    // It fails once the peer has closed its side. A stream that is dropped advertises no window.
    while stream.read_exact(&mut request).await.is_ok() {
        let mut left = u64::from_be_bytes(request);
        while left > 0 {
            let len = usize::try_from(left).map_or(chunk.len(), |left| left.min(chunk.len()));
            left -= stream.write(&chunk[..len]).await? as u64;
        }
    }
    stream.shutdown().await
}

/// The device as Tokio wants it.
struct Descriptor(TunDevice);

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Carries packets from the device to the stack.
async fn carry_in(device: Arc<AsyncFd<Descriptor>>, stack: IpStackSend, mtu: u16) -> Result<(), Failed> {
    let mut packet = vec![0; mtu.into()];
    loop {
        let mut ready = device.readable().await?;
        while let Some(len) = device.get_ref().0.tun().read(&mut packet)? {
            // A packet that the stack cannot use is ignored.
            let _ = stack.send_ip_packet(&packet[..len]).await;
        }
        ready.clear_ready();
    }
}

/// Carries packets from the stack to the device.
async fn carry_out(device: Arc<AsyncFd<Descriptor>>, mut stack: IpStackRecv, mtu: u16) -> Result<(), Failed> {
    let mut packets = vec![vec![0; mtu.into()]; BATCH];
    let mut lens = vec![0; BATCH];
    loop {
        let count = stack.recv_ip_packet(&mut packets, &mut lens).await?;
        for (packet, &len) in packets.iter().zip(&lens).take(count) {
            // A packet that the device refuses is lost, as on any network.
            let _ = device.get_ref().0.tun().write(&packet[..len]);
        }
    }
}
