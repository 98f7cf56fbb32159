//! Serves the metrics by HTTP/1 on a thread of its own.
//!
//! Clients are not trusted: a connection carries one request and has [`PATIENCE`] for all of it, [`MOST_CLIENTS`] are served at
//! a time, and further ones wait in the kernel's queue.

use crate::text::Format;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::{self, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// How long a client may take from its connection to the end of the answer: Prometheus' usual `scrape_timeout`.
const PATIENCE: Duration = Duration::from_secs(10);

/// Clients that are served at a time.
const MOST_CLIENTS: usize = 16;

/// How long the server waits if there is no descriptor for a connection.
const RETRY: Duration = Duration::from_millis(200);

/// Metrics as they are now, in this format.
type Metrics = Arc<dyn Fn(Format) -> String + Send + Sync>;

/// Reads an address and a port.
///
/// # Errors
/// If it is something else.
pub fn listening_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:9464 or [::]:9464".into())
}

/// Serves metrics at this address from here on: `metrics` writes them for each request. Returns the address with its port.
///
/// # Errors
/// When the address cannot be had, or there is no thread.
pub fn serve(at: SocketAddr, metrics: impl Fn(Format) -> String + Send + Sync + 'static) -> io::Result<SocketAddr> {
    serve_patiently(at, Arc::new(metrics), PATIENCE)
}

fn serve_patiently(at: SocketAddr, metrics: Metrics, patience: Duration) -> io::Result<SocketAddr> {
    let listener = net::TcpListener::bind(at)?;
    listener.set_nonblocking(true)?;
    let at = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let listener = {
        let _inside = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let main = move || runtime.block_on(accept(listener, metrics, patience));
    thread::Builder::new().name("metrics".into()).spawn(main)?;
    Ok(at)
}

async fn accept(listener: TcpListener, metrics: Metrics, patience: Duration) {
    let places = Arc::new(Semaphore::new(MOST_CLIENTS));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let metrics = Arc::clone(&metrics);
                tokio::spawn(async move {
                    // Nobody needs to know of clients that are too slow or gone.
                    let _ = timeout(patience, converse(stream, &metrics)).await;
                    drop(place);
                });
            }
            // The client is gone already, or too many files are open.
            Err(_) => sleep(RETRY).await,
        }
    }
}

/// One request and its answer.
async fn converse(stream: TcpStream, metrics: &Metrics) -> hyper::Result<()> {
    let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request, metrics)) });
    // `patience` bounds all of it, so no part needs a timer of its own.
    let mut server = http1::Builder::new();
    server.keep_alive(false).half_close(true).header_read_timeout(None);
    server.serve_connection(TokioIo::new(stream), service).await
}

fn answer(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match request.uri().path() {
        "/metrics" if is_read => {
            let accept = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let format = Format::accepted(&accept.collect::<Vec<_>>().join(","));
            response(StatusCode::OK, format.content_type(), metrics(format))
        }
        // RFC 9110 §15.5.6: the answer names the methods.
        "/metrics" => {
            let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "expected GET or HEAD\n");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            refusal
        }
        _ => plain(StatusCode::NOT_FOUND, "expected /metrics\n"),
    }
}

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", text.into())
}

fn response(status: StatusCode, content_type: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests;
