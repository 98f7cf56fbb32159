//! Serves connections within limits, and ends gracefully.

use crate::serve::Ends;
use crate::serve::acceptor::Acceptor;
use crate::serve::patience::Patient;
use crate::serve::respond::{Site, respond};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// How long a client may take from the end of one request to the end of the next one's header, and how long nothing may
    /// move otherwise.
    pub patience: Duration,
    /// How long responses may take once the server is to end.
    pub drain: Duration,
}

/// What was served.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    pub requests: u64,
    pub connections: u64,
    /// Connections that had to end before their responses were sent.
    pub cut_off: usize,
}

/// The most bytes of a request's header. Larger ones get status 431.
const HEADER: usize = 16 << 10;

/// The most bytes that hyper keeps of each direction of a connection.
const BUFFER: usize = 256 << 10;

/// How long the server waits when there is no descriptor for a connection.
const RETRY: Duration = Duration::from_millis(100);

/// Serves until a signal comes.
pub async fn serve(acceptor: impl Acceptor, site: Arc<Site>, limits: Limits, mut ends: Ends) -> Served {
    let places = Arc::new(Semaphore::new(limits.connections));
    let (stop, stopped) = watch::channel(());
    let mut connections = 0;
    loop {
        let next = async {
            // The semaphore is never closed. Without a place, connections wait in the kernel's queue.
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (place, acceptor.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = ends.next() => break,
        };
        // The client is gone already, or too many files are open.
        let Ok(stream) = accepted else {
            sleep(RETRY).await;
            continue;
        };
        connections += 1;
        let (site, stopped) = (Arc::clone(&site), stopped.clone());
        tokio::spawn(async move {
            converse(stream, &site, limits, stopped).await;
            drop(place);
        });
    }
    drop((acceptor, stop));
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    tokio::select! {
        _ = timeout(limits.drain, places.acquire_many(all)) => {}
        () = ends.next() => {}
    }
    let cut_off = limits.connections - places.available_permits();
    Served { requests: site.requests(), connections, cut_off }
}

/// The requests of a connection and their responses.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    site: &Site,
    limits: Limits,
    mut stopped: watch::Receiver<()>,
) {
    let service = service_fn(|request| async move { Ok::<_, Infallible>(respond(request, site).await) });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(limits.patience);
    server.half_close(true).max_header_size(HEADER).max_buf_size(BUFFER);
    let stream = TokioIo::new(Patient::new(stream, limits.patience));
    let mut connection = pin!(server.serve_connection(stream, service));
    // Nobody needs to know of clients that are gone, too slow, or speak something else.
    let is_over = tokio::select! {
        _ = connection.as_mut() => true,
        // The sender was dropped.
        _ = stopped.changed() => false,
    };
    if !is_over {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}
