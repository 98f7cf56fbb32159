//! The kernel's TCP, with the congestion control that the other senders have.

use super::{Failed, PORT, REQUEST, announce};
use rustix::{event::epoll, net::sockopt::set_tcp_congestion};
use std::{
    collections::HashMap,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::AsRawFd,
    thread,
};

/// The most bytes of one write.
const CHUNK: usize = 256 << 10;

pub fn run(congestion_control: &str) -> Result<(), Failed> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    set_tcp_congestion(&listener, congestion_control)
        .map_err(|e| format!("this kernel has no congestion control `{congestion_control}`: {e}"))?;
    // Connections without a request wait here, not in a thread of their own, whose memory would count.
    let waiting = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let accepts = epoll::EventData::new_u64(u64::MAX);
    epoll::add(&waiting, &listener, accepts, epoll::EventFlags::IN)?;
    announce(Ipv4Addr::UNSPECIFIED.into());
    let mut streams = HashMap::new();
    let mut events = Vec::with_capacity(64);
    loop {
        epoll::wait(&waiting, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            if event.data.u64() == u64::MAX {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                let number = stream.as_raw_fd().unsigned_abs().into();
                let data = epoll::EventData::new_u64(number);
                epoll::add(&waiting, &stream, data, epoll::EventFlags::IN)?;
                streams.insert(number, stream);
            } else if let Some(stream) = streams.remove(&event.data.u64()) {
                epoll::delete(&waiting, &stream)?;
                thread::spawn(move || answer(stream));
            }
        }
    }
}

/// Answers the request of a connection, and waits until the receiver closes it. The receiver reports what goes wrong.
fn answer(mut stream: TcpStream) -> Option<()> {
    let mut request = [0; REQUEST];
    stream.read_exact(&mut request).ok()?;
    let chunk = vec![7; CHUNK];
    let mut left = u64::from_be_bytes(request);
    while left > 0 {
        let len = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
        stream.write_all(&chunk[..len]).ok()?;
        left -= len as u64;
    }
    stream.read_exact(&mut request).ok()
}
