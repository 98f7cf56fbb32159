//! The kernel's TCP, with the congestion control that the other senders have.
//!
//! One thread waits for requests and writes short answers. A connection with a long answer gets a thread of its own,
//! whose blocking writes let the kernel choose how much it buffers.

use super::{Failed, PORT, REQUEST, announce};
use rustix::{event::epoll, net::sockopt::set_tcp_congestion};
use std::{
    collections::HashMap,
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::AsRawFd,
    thread,
};

/// The most bytes of one write.
const CHUNK: usize = 256 << 10;

/// Answers up to this length (bytes) are written by the thread that waits for requests.
const SHORT: usize = 4 << 10;

pub fn run(congestion_control: &str) -> Result<(), Failed> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    set_tcp_congestion(&listener, congestion_control)
        .map_err(|e| format!("this kernel has no congestion control `{congestion_control}`: {e}"))?;
    // Connections without a request wait here, not in a thread of their own, whose memory would count.
    let waiting = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let accepts = epoll::EventData::new_u64(u64::MAX);
    epoll::add(&waiting, &listener, accepts, epoll::EventFlags::IN)?;
    listener.set_nonblocking(true)?;
    announce(Ipv4Addr::UNSPECIFIED.into());
    let mut connections = HashMap::new();
    let mut events = Vec::with_capacity(64);
    loop {
        epoll::wait(&waiting, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            let number = event.data.u64();
            if number == u64::MAX {
                while let Some(connection) = accept(&listener)? {
                    let number = connection.stream.as_raw_fd().unsigned_abs().into();
                    let data = epoll::EventData::new_u64(number);
                    epoll::add(&waiting, &connection.stream, data, epoll::EventFlags::IN)?;
                    connections.insert(number, connection);
                }
                continue;
            }
            let news = connections.get_mut(&number).map(Connection::serve);
            match news {
                None | Some(Ok(Served::Waits)) => {}
                // The receiver reports what goes wrong.
                Some(Ok(Served::Over) | Err(_)) => drop(connections.remove(&number)),
                Some(Ok(Served::Left(left))) => {
                    if let Some(Connection { stream, .. }) = connections.remove(&number) {
                        epoll::delete(&waiting, &stream)?;
                        thread::spawn(move || answer_long(stream, left));
                    }
                }
            }
        }
    }
}

/// The next connection, if there is one.
fn accept(listener: &TcpListener) -> io::Result<Option<Connection>> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(Some(Connection { stream, request: [0; REQUEST], filled: 0 }))
        }
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

/// A connection without a long answer.
struct Connection {
    stream: TcpStream,
    /// What has arrived of the next request.
    request: [u8; REQUEST],
    filled: usize,
}

/// What became of a connection's request.
enum Served {
    /// It waits for the rest, or for the next one.
    Waits,
    /// The receiver has closed the connection.
    Over,
    /// Bytes of the answer that are yet to be written.
    Left(u64),
}

impl Connection {
    fn serve(&mut self) -> io::Result<Served> {
        const ANSWER: [u8; SHORT] = [7; SHORT];
        match self.stream.read(&mut self.request[self.filled..]) {
            Ok(0) => return Ok(Served::Over),
            Ok(count) => self.filled += count,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(Served::Waits),
            Err(e) => return Err(e),
        }
        if self.filled < REQUEST {
            return Ok(Served::Waits);
        }
        self.filled = 0;
        let wanted = u64::from_be_bytes(self.request);
        let short = usize::try_from(wanted).ok().and_then(|wanted| ANSWER.get(..wanted));
        let Some(short) = short else {
            return Ok(Served::Left(wanted));
        };
        let written = match self.stream.write(short) {
            Ok(count) => count as u64,
            Err(e) if e.kind() == ErrorKind::WouldBlock => 0,
            Err(e) => return Err(e),
        };
        Ok(if written < wanted { Served::Left(wanted - written) } else { Served::Waits })
    }
}

/// Writes the rest of an answer, and answers the requests that follow, until the receiver closes the connection.
fn answer_long(mut stream: TcpStream, rest: u64) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    let chunk = vec![7; CHUNK];
    let mut left = rest;
    loop {
        while left > 0 {
            let len = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
            stream.write_all(&chunk[..len]).ok()?;
            left -= len as u64;
        }
        let mut request = [0; REQUEST];
        stream.read_exact(&mut request).ok()?;
        left = u64::from_be_bytes(request);
    }
}
