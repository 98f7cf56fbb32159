//! One response: its bytes, its times, its digest.

use crate::fetch::client::{Client, FetchError};
use crate::fetch::sink::{Sink, Target};
use crate::fetch::url::Url;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::{HeaderMap, LOCATION};
use sha2::{Digest, Sha256};
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// What is asked of every transfer.
pub struct Options {
    /// Whether digests are wanted.
    pub has_digest: bool,
    /// Whether redirects are followed.
    pub follows: bool,
    /// How long nothing may come.
    pub patience: Duration,
    /// Counts bytes while they come.
    pub bytes: Arc<AtomicU64>,
}

/// A whole response.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub status: StatusCode,
    /// Where a redirect leads that was not followed.
    pub leads_to: Option<String>,
    pub bytes: u64,
    /// From the request to the response's header.
    pub first_byte: Duration,
    /// From the request to the response's end.
    pub total: Duration,
    pub sha256: Option<[u8; 32]>,
}

/// The most redirects that are followed; browsers follow 20.
const MOST_REDIRECTS: usize = 10;

/// Gets a URL, and the ones that it leads to.
pub async fn get(
    client: &mut Client<'_>,
    url: &Url,
    target: &Target,
    options: &Options,
) -> Result<Transfer, FetchError> {
    let begin = Instant::now();
    let mut at = url.clone();
    for _ in 0..=MOST_REDIRECTS {
        let (response, connection) = client.get(&at).await?.into_parts();
        let first_byte = begin.elapsed();
        let (head, body) = response.into_parts();
        let leads_to = redirect(head.status, &head.headers);
        let is_good = head.status.is_success();
        let mut sink = Sink::open(if is_good { target } else { &Target::Nowhere })?;
        let mut digest = (options.has_digest && is_good).then(Sha256::new);
        let bytes = receive(body, &mut sink, digest.as_mut(), options).await?;
        sink.finish()?;
        client.keep(&at, connection);
        match leads_to {
            Some(location) if options.follows => {
                at = at.join(&location).map_err(|why| FetchError::Redirect { location, why })?;
            }
            leads_to => {
                let sha256 = digest.map(|digest| digest.finalize().into());
                let status = head.status;
                return Ok(Transfer { status, leads_to, bytes, first_byte, total: begin.elapsed(), sha256 });
            }
        }
    }
    Err(FetchError::Redirects(MOST_REDIRECTS))
}

/// Where a response leads (RFC 9110 §15.4).
fn redirect(status: StatusCode, headers: &HeaderMap) -> Option<String> {
    let location = headers.get(LOCATION).filter(|_| status.is_redirection())?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

/// Reads a body to its end. Returns its length.
async fn receive(
    mut body: Incoming,
    sink: &mut Sink,
    mut digest: Option<&mut Sha256>,
    options: &Options,
) -> Result<u64, FetchError> {
    let expected = body.size_hint().exact();
    let mut bytes = 0;
    loop {
        let cut_short = |why: String| FetchError::CutShort { bytes, expected, why };
        let frame = timeout(options.patience, body.frame()).await;
        let frame = frame.map_err(|_| cut_short(FetchError::Silence(options.patience).to_string()))?;
        let Some(frame) = frame else { return Ok(bytes) };
        let frame = frame.map_err(|e| cut_short(why(&e)))?;
        let Ok(data) = frame.into_data() else { continue };
        if let Some(digest) = digest.as_deref_mut() {
            digest.update(&data);
        }
        sink.write(&data)?;
        bytes += data.len() as u64;
        options.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
    }
}

/// Why a body ended too early, in a few words.
fn why(error: &hyper::Error) -> String {
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    match error.is_incomplete_message() || source.contains("end of file before message length") {
        true => "the connection ended".into(),
        false if source.is_empty() => error.to_string(),
        false => source,
    }
}
