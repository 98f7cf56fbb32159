//! Connections that are used again, requests, and their errors.

use crate::fetch::url::Url;
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, HOST, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use recoup_support::quantity::format_duration;
use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// Why there is no whole response. The message is one line.
#[derive(Debug, Error)]
pub enum FetchError {
    #[error("`{host}` has no address: {source}")]
    Name { host: String, source: io::Error },
    #[error("no connection to {address}: {source}")]
    Connection { address: SocketAddr, source: io::Error },
    #[error("nothing came for {}", format_duration(*.0))]
    Silence(Duration),
    #[error("the connection ended before a response")]
    NoResponse,
    #[error("no HTTP response: {0}")]
    NoHttp(hyper::Error),
    #[error("the response was cut short: {bytes} bytes{}: {why}", .expected.map(|all| format!(" of {all}")).unwrap_or_default())]
    CutShort { bytes: u64, expected: Option<u64>, why: String },
    #[error("expected at most {0} redirects")]
    Redirects(usize),
    #[error("cannot follow the redirect to `{location}`: {why}")]
    Redirect { location: String, why: String },
    #[error("{0}")]
    Output(String),
}

/// A connection that takes requests.
pub type Connection = SendRequest<Empty<Bytes>>;

/// Makes requests, each on a connection that is idle, or else on a new one.
pub struct Client<'a> {
    patience: Duration,
    /// By `Host`.
    idle: HashMap<String, Connection>,
    /// Counts connections that were made.
    made: &'a AtomicU64,
}

/// A response whose body is to be read, and its connection.
pub struct Answer {
    pub response: Response<Incoming>,
    connection: Connection,
}

impl<'a> Client<'a> {
    pub fn new(patience: Duration, made: &'a AtomicU64) -> Self {
        Self { patience, idle: HashMap::new(), made }
    }

    /// Sends a request, and waits for the response's header.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get(&mut self, url: &Url) -> Result<Answer, FetchError> {
        if let Some(mut connection) = self.idle.remove(&url.authority())
            && connection.ready().await.is_ok()
        {
            match self.request(&mut connection, url).await {
                Ok(response) => return Ok(Answer { response, connection }),
                // The server closed the connection while it was idle. GET can be sent again (RFC 9110 §9.2.2).
                Err(FetchError::NoResponse) => {}
                Err(e) => return Err(e),
            }
        }
        let mut connection = self.connect(url).await?;
        let response = self.request(&mut connection, url).await?;
        Ok(Answer { response, connection })
    }

    /// Keeps the connection of a response that was read to its end.
    pub fn keep(&mut self, url: &Url, connection: Connection) {
        if !connection.is_closed() {
            self.idle.insert(url.authority(), connection);
        }
    }

    async fn connect(&self, url: &Url) -> Result<Connection, FetchError> {
        let no_name = |source| FetchError::Name { host: url.host.clone(), source };
        let lookup = timeout(self.patience, lookup_host((url.host.as_str(), url.port)));
        let addresses = lookup.await.map_err(|_| FetchError::Silence(self.patience))?.map_err(no_name)?;
        let mut failure = no_name(io::ErrorKind::NotFound.into());
        for address in addresses {
            let connected = timeout(self.patience, TcpStream::connect(address)).await;
            match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => {
                    self.made.fetch_add(1, Ordering::Relaxed);
                    // The request is one segment. If this fails, it waits for nothing, because nothing was sent before it.
                    let _ = stream.set_nodelay(true);
                    let (connection, runner) =
                        http1::handshake(TokioIo::new(stream)).await.map_err(FetchError::NoHttp)?;
                    // Its errors are those of the requests.
                    tokio::spawn(async move { drop(runner.await) });
                    return Ok(connection);
                }
                Err(source) => failure = FetchError::Connection { address, source },
            }
        }
        Err(failure)
    }

    async fn request(&self, connection: &mut Connection, url: &Url) -> Result<Response<Incoming>, FetchError> {
        let request = Request::get(url.target.as_str())
            .header(HOST, url.authority())
            .header(USER_AGENT, concat!("recoup/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "*/*")
            .body(Empty::new())
            .map_err(|e| FetchError::Redirect { location: url.to_string(), why: e.to_string() })?;
        let response = timeout(self.patience, connection.send_request(request)).await;
        response.map_err(|_| FetchError::Silence(self.patience))?.map_err(|e| match ends_before_response(&e) {
            true => FetchError::NoResponse,
            false => FetchError::NoHttp(e),
        })
    }
}

impl Answer {
    /// The response, and its connection.
    pub fn into_parts(self) -> (Response<Incoming>, Connection) {
        (self.response, self.connection)
    }
}

/// Whether the connection ended, as opposed to bytes that are no HTTP.
fn ends_before_response(error: &hyper::Error) -> bool {
    let is_gone = error.source().is_some_and(|source| source.is::<io::Error>());
    error.is_canceled() || error.is_closed() || error.is_incomplete_message() || is_gone
}
