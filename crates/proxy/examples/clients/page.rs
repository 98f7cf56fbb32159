//! Loads a page as browsers do by HTTP/1.1: the document first, then all others over six keep-alive connections.

use super::bed::Result;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// Connections of a browser to a host.
const CONNECTIONS: usize = 6;

/// Objects of the page, with its document.
pub const OBJECTS: usize = 44;

/// The length of an object in bytes: from 1 to 60 kB, each a tenth more than another; 653 kB in all.
pub fn length(number: usize) -> usize {
    // 17 and 44 have no common divisor, so that each length is there.
    let step = (number * 17 + 30) % OBJECTS;
    (1000.0 * 1.1_f64.powi(step as i32)) as usize
}

/// Writes the page's objects to a folder.
pub fn write(folder: &Path) -> Result<()> {
    (0..OBJECTS)
        .try_for_each(|number| fs::write(folder.join(number.to_string()), bytes(number as u64, length(number))))?;
    Ok(())
}

/// Bytes without a pattern, of a seed.
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

struct Connection(SendRequest<Empty<Bytes>>);

impl Connection {
    async fn open(at: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(at).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self(sender))
    }

    async fn get(&mut self, at: SocketAddr, number: usize) -> Result<()> {
        let request = Request::get(format!("/{number}")).header(HOST, at.to_string()).body(Empty::new())?;
        self.0.ready().await?;
        let response = self.0.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        match status.is_success() && body.len() == length(number) {
            true => Ok(()),
            false => Err(format!("object {number}: {status}, {} bytes", body.len()).into()),
        }
    }
}

/// Loads the page of the server at this address. Returns how long it took.
pub async fn load(at: SocketAddr) -> Result<Duration> {
    let begun = Instant::now();
    let mut first = Connection::open(at).await?;
    first.get(at, 0).await?;
    let next = Arc::new(AtomicUsize::new(1));
    let mut first = Some(first);
    let mut tasks = Vec::new();
    for _ in 0..CONNECTIONS {
        let (next, opened) = (Arc::clone(&next), first.take());
        tasks.push(tokio::spawn(async move {
            let mut connection = match opened {
                Some(opened) => opened,
                None => Connection::open(at).await?,
            };
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= OBJECTS {
                    return Result::Ok(());
                }
                connection.get(at, number).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(begun.elapsed())
}
