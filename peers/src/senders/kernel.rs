//! The kernel's TCP.

use super::{Failed, PORT, REQUEST, announce};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

/// The most bytes of one write.
const CHUNK: usize = 256 << 10;

pub fn run() -> Result<(), Failed> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    announce(Ipv4Addr::UNSPECIFIED.into());
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || answer(stream));
    }
    Ok(())
}

/// Answers the request of a connection. The peer's end reports what goes wrong.
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
    Some(())
}
