//! The receiving application, over the kernel's TCP.

use crate::{case::Reader, senders::Failed};
use recoup_net::set_receive_low_water_mark;
use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// How long a connection may deliver nothing before the sender counts as stuck.
pub const SILENCE: Duration = Duration::from_secs(10);

/// Opens a connection.
pub fn connect(to: SocketAddr) -> Result<TcpStream, Failed> {
    let stream =
        TcpStream::connect_timeout(&to, SILENCE).map_err(|e| format!("it does not accept a connection: {e}"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    Ok(stream)
}

/// Requests more bytes than can arrive, and reads for some time. Returns the bytes that arrived, and the time they took.
pub fn read_for(mut stream: TcpStream, time: Duration, reader: Reader) -> Result<(u64, Duration), Failed> {
    let mut chunk = vec![0; reader.chunk()];
    if reader == Reader::Seldom {
        set_receive_low_water_mark(&stream, chunk.len() as u64)?;
    }
    let began = Instant::now();
    stream.write_all(&u64::MAX.to_be_bytes())?;
    // With a low water mark a read may take all the time that there is.
    stream.set_read_timeout(Some(time))?;
    let mut bytes = 0;
    while began.elapsed() < time {
        match stream.read(&mut chunk) {
            Ok(0) => return Err("it closed the connection early".into()),
            Ok(count) => bytes += count as u64,
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&e.kind()) => break,
            Err(e) => return Err(format!("the connection failed: {e}").into()),
        }
    }
    let took = began.elapsed();
    if bytes == 0 {
        return Err(format!("nothing arrived within {:.1} s", took.as_secs_f64()).into());
    }
    Ok((bytes, took))
}

/// Requests this many bytes. Returns the time until the last of them has arrived.
pub fn read_answer(stream: &mut TcpStream, bytes: u64) -> Result<Duration, Failed> {
    let began = Instant::now();
    stream.write_all(&bytes.to_be_bytes())?;
    let mut chunk = [0; Reader::Often.chunk()];
    let mut left = bytes;
    while left > 0 {
        match stream.read(&mut chunk) {
            Ok(0) => return Err(format!("it closed the connection {left} bytes early").into()),
            Ok(count) => left = left.saturating_sub(count as u64),
            Err(e) => return Err(format!("the connection failed {left} bytes early: {e}").into()),
        }
    }
    Ok(began.elapsed())
}
