//! A request, and its response.

use crate::serve::body::{Body, Piece};
use crate::serve::conditions::{Outcome, evaluate, takes_range};
use crate::serve::folder::{Folder, Found};
use crate::serve::media_type::media_type;
use crate::serve::ranges::{Selection, select};
use crate::serve::target::{NoName, file_name};
use crate::serve::upload::{self, Uploads};
use crate::serve::version::Version;
use httpdate::fmt_http_date;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HOST, HeaderMap, HeaderName, HeaderValue,
    LAST_MODIFIED,
};
use hyper::{Method, Request, Response, StatusCode, Version as HttpVersion};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is served.
#[derive(Debug)]
pub struct Site {
    pub folder: Folder,
    pub uploads: Option<Uploads>,
    /// Held while a file gets its name, so that a condition still holds then.
    naming: Mutex<()>,
    requests: AtomicU64,
}

impl Site {
    pub fn new(folder: Folder, uploads: Option<Uploads>) -> Self {
        Self { folder, uploads, naming: Mutex::default(), requests: AtomicU64::new(0) }
    }

    /// Requests that came.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Waits until no other file gets its name.
    pub fn lock_names(&self) -> MutexGuard<'_, ()> {
        self.naming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// RFC 9110 §10.2.1.
    fn allowed(&self) -> &'static str {
        match self.uploads {
            Some(_) => "GET, HEAD, PUT",
            None => "GET, HEAD",
        }
    }
}

/// The response to a request.
pub async fn respond(request: Request<Incoming>, site: &Site) -> Response<Body> {
    site.requests.fetch_add(1, Ordering::Relaxed);
    let method = request.method();
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if !has_host(&request) {
        return status(StatusCode::BAD_REQUEST);
    }
    if !is_read && (*method != Method::PUT || site.uploads.is_none()) {
        return refuse_method(method, site);
    }
    let name = match file_name(request.uri().path()) {
        Ok(name) => name,
        Err(NoName::Malformed) => return status(StatusCode::BAD_REQUEST),
        Err(NoName::Nowhere) => return status(StatusCode::NOT_FOUND),
    };
    match (&site.uploads, is_read) {
        (Some(uploads), false) => upload::take(request, &name, site, uploads).await,
        _ => match site.folder.find(&name) {
            Ok(found) => read(*method == Method::HEAD, request.headers(), &name, found),
            Err(refusal) => status(refusal),
        },
    }
}

/// RFC 9112 §3.2: HTTP/1.1 has exactly one `Host`.
fn has_host<B>(request: &Request<B>) -> bool {
    let hosts = request.headers().get_all(HOST).iter().count();
    hosts == 1 || (hosts == 0 && request.version() < HttpVersion::HTTP_11)
}

/// RFC 9110 §9.1: 405 for methods that are known, 501 for others.
fn refuse_method(method: &Method, site: &Site) -> Response<Body> {
    let known =
        [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH, Method::TRACE, Method::CONNECT];
    let mut refusal = status(match known.contains(method) {
        true => StatusCode::METHOD_NOT_ALLOWED,
        false => StatusCode::NOT_IMPLEMENTED,
    });
    refusal.headers_mut().insert(ALLOW, HeaderValue::from_static(site.allowed()));
    refusal
}

/// The response to GET or HEAD for a file.
fn read(is_head: bool, headers: &HeaderMap, name: &Path, found: Found) -> Response<Body> {
    let Found { file, version } = found;
    let mut response = match evaluate(headers, Some(&version), true) {
        Outcome::Failed => return status(StatusCode::PRECONDITION_FAILED),
        Outcome::NotModified => {
            let mut response = Response::new(Body::default());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            set_validators(&mut response, &version);
            return response;
        }
        Outcome::Proceed => {
            // RFC 9110 §14.2: Range is for GET.
            let selection = match !is_head && takes_range(headers, &version) {
                true => select(headers, version.length),
                false => Selection::Whole,
            };
            let media_type = media_type(name);
            match selection {
                Selection::Whole => {
                    let mut response = Response::new(Body::span(file, 0..version.length));
                    set(&mut response, CONTENT_TYPE, media_type);
                    response
                }
                Selection::Nothing => {
                    let mut response = status(StatusCode::RANGE_NOT_SATISFIABLE);
                    set(&mut response, CONTENT_RANGE, &format!("bytes */{}", version.length));
                    return response;
                }
                Selection::Parts(parts) => match parts.as_slice() {
                    [part] => {
                        let mut response = Response::new(Body::span(file, part.clone()));
                        set(&mut response, CONTENT_RANGE, &content_range(part, version.length));
                        set(&mut response, CONTENT_TYPE, media_type);
                        partial(response)
                    }
                    parts => {
                        let boundary = boundary();
                        let pieces = multipart(parts, version.length, media_type, &boundary);
                        let mut response = Response::new(Body::pieces(file, pieces));
                        set(&mut response, CONTENT_TYPE, &format!("multipart/byteranges; boundary={boundary}"));
                        partial(response)
                    }
                },
            }
        }
    };
    set(&mut response, ACCEPT_RANGES, "bytes");
    set_validators(&mut response, &version);
    let length = response.body().length();
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    if is_head {
        *response.body_mut() = Body::default();
    }
    response
}

fn partial(mut response: Response<Body>) -> Response<Body> {
    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    response
}

fn content_range(part: &Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", part.start, part.end - 1)
}

/// Parts as in RFC 9110 §14.6.
fn multipart<'a>(
    parts: &'a [Range<u64>],
    length: u64,
    media_type: &'a str,
    boundary: &'a str,
) -> impl Iterator<Item = Piece> + use<'a> {
    let begin = move |part: &Range<u64>| {
        let range = content_range(part, length);
        let text = format!("\r\n--{boundary}\r\nContent-Type: {media_type}\r\nContent-Range: {range}\r\n\r\n");
        [Piece::Text(text.into()), Piece::Span(part.clone())]
    };
    let end = Piece::Text(Bytes::from(format!("\r\n--{boundary}--\r\n")));
    parts.iter().flat_map(begin).chain([end])
}

/// A line that no file has, except by a chance of 2⁻¹²⁸.
fn boundary() -> String {
    let random = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}

fn set_validators(response: &mut Response<Body>, version: &Version) {
    if let Some(tag) = version.tag.header() {
        response.headers_mut().insert(ETAG, tag);
    }
    if let Some(modified) = version.modified {
        set(response, LAST_MODIFIED, &fmt_http_date(modified));
    }
}

fn set(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// A response that says its status alone.
pub fn status(status: StatusCode) -> Response<Body> {
    let reason = status.canonical_reason().unwrap_or_default();
    text(status, format!("{} {reason}\n", status.as_u16()))
}

/// A response of this text.
pub fn text(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::text(text));
    *response.status_mut() = status;
    set(&mut response, CONTENT_TYPE, "text/plain");
    response
}
