//! Stores or discards what clients send by PUT (RFC 9110 §9.3.4).
//!
//! A file is written under a temporary name in its folder and renamed when it is whole, so that nobody reads a part of it. It is
//! not forced to the disk. A process that is killed leaves the temporary file.

use crate::serve::body::Body;
use crate::serve::conditions::{Outcome, evaluate};
use crate::serve::folder::{entry, is_file};
use crate::serve::respond::{Site, status, text};
use crate::serve::version::Version;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_RANGE, EXPECT, HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode};
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tokio::task::block_in_place;
use tokio::time::timeout;

/// What is taken.
#[derive(Clone, Copy, Debug)]
pub struct Uploads {
    /// The most bytes of one file.
    pub limit: u64,
    /// Whether files are stored; else their bytes are counted and discarded.
    pub is_stored: bool,
}

/// Bytes that are written at once.
const CHUNK: usize = 256 << 10;

/// How long a client that is refused may go on to send, so that it reads why. If the connection closed before, the client's
/// kernel would discard the response (RFC 9112 §9.6).
const LINGER: Duration = Duration::from_secs(2);

/// Takes a file.
pub async fn take(request: Request<Incoming>, name: &Path, site: &Site, uploads: &Uploads) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    let taken = match refusal(&parts.headers, &body, uploads) {
        Some(refusal) => Err(refusal),
        None if uploads.is_stored => store(&parts.headers, &mut body, name, site, uploads.limit).await,
        None => discard(&mut body, uploads.limit).await,
    };
    match taken {
        Ok(response) => response,
        Err(refusal) => {
            // The client waits for permission to send, which it does not get.
            if !parts.headers.contains_key(EXPECT) {
                let drained = async { while let Some(Ok(_)) = body.frame().await {} };
                let _ = timeout(LINGER, drained).await;
            }
            let mut response = status(refusal);
            if !body.is_end_stream() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            response
        }
    }
}

/// Why nothing of the body is wanted.
fn refusal(headers: &HeaderMap, body: &Incoming, uploads: &Uploads) -> Option<StatusCode> {
    // RFC 9110 §14.5: a part would become the whole file.
    if headers.contains_key(CONTENT_RANGE) {
        return Some(StatusCode::BAD_REQUEST);
    }
    // §8.4: it would be served without its coding.
    if headers.contains_key(CONTENT_ENCODING) {
        return Some(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    (body.size_hint().lower() > uploads.limit).then_some(StatusCode::PAYLOAD_TOO_LARGE)
}

async fn discard(body: &mut Incoming, limit: u64) -> Result<Response<Body>, StatusCode> {
    let bytes = receive(body, limit, |_| Ok(())).await?;
    Ok(text(StatusCode::OK, format!("discarded {bytes} bytes\n")))
}

/// Reads a body of at most `limit` bytes in pieces. Returns its length.
async fn receive(
    body: &mut Incoming,
    limit: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<u64, StatusCode> {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        // It was cut short, or its coding is wrong.
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        let Ok(data) = frame.into_data() else { continue };
        bytes += data.len() as u64;
        if bytes > limit {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        take(&data).map_err(|e| cannot_write(&e))?;
    }
    Ok(bytes)
}

async fn store(
    headers: &HeaderMap,
    body: &mut Incoming,
    name: &Path,
    site: &Site,
    limit: u64,
) -> Result<Response<Body>, StatusCode> {
    let leaf = name.file_name().ok_or(StatusCode::NOT_FOUND)?;
    let folder = site.folder.parent(name).map_err(|e| match e {
        Errno::ACCESS | Errno::PERM => StatusCode::FORBIDDEN,
        // RFC 4918 §9.7.1: a folder is missing.
        _ => StatusCode::CONFLICT,
    })?;
    check(headers, &folder, leaf)?;
    let mut file = Temporary::create(folder).map_err(|e| cannot_write(&e))?;
    let mut buffer = Vec::with_capacity(CHUNK);
    receive(body, limit, |data| {
        buffer.extend_from_slice(data);
        if buffer.len() < CHUNK {
            return Ok(());
        }
        // Other threads serve other connections while the disk is written.
        block_in_place(|| file.file.write_all(&buffer))?;
        buffer.clear();
        Ok(())
    })
    .await?;
    block_in_place(|| file.file.write_all(&buffer)).map_err(|e| cannot_write(&e))?;
    let naming = site.lock_names();
    // It may have changed while the body came.
    let is_new = check(headers, &file.folder, leaf)?;
    file.publish(leaf).map_err(|e| cannot_write(&e.into()))?;
    drop(naming);
    Ok(match is_new {
        true => status(StatusCode::CREATED),
        false => {
            let mut response = Response::new(Body::default());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
    })
}

/// Whether a file of this name would be new. An error if the request's conditions do not hold, or something else has the name.
fn check(headers: &HeaderMap, folder: &OwnedFd, leaf: &OsStr) -> Result<bool, StatusCode> {
    let about = match entry(folder, Path::new(leaf)) {
        Ok(about) if is_file(&about) => Some(about),
        Ok(_) => return Err(StatusCode::CONFLICT),
        Err(Errno::NOENT) => None,
        Err(Errno::NAMETOOLONG) => return Err(StatusCode::URI_TOO_LONG),
        Err(Errno::ACCESS) => return Err(StatusCode::FORBIDDEN),
        Err(_) => return Err(StatusCode::INTERNAL_SERVER_ERROR),
    };
    let version = about.map(|about| Version::of(&about, SystemTime::now()));
    match evaluate(headers, version.as_ref(), false) {
        Outcome::Proceed => Ok(version.is_none()),
        Outcome::NotModified | Outcome::Failed => Err(StatusCode::PRECONDITION_FAILED),
    }
}

/// The status of the response when a file cannot be written.
fn cannot_write(error: &io::Error) -> StatusCode {
    match Errno::from_io_error(error) {
        // RFC 4918 §11.5
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => StatusCode::INSUFFICIENT_STORAGE,
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => StatusCode::FORBIDDEN,
        Some(Errno::MFILE | Errno::NFILE) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A file that is not whole. It is removed if it is dropped before it has its name.
#[derive(Debug)]
struct Temporary {
    folder: OwnedFd,
    name: String,
    file: File,
    is_named: bool,
}

impl Temporary {
    fn create(folder: OwnedFd) -> io::Result<Self> {
        let name = format!(".recoup-upload-{:016x}", RandomState::new().hash_one(0));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, name.as_str(), flags, Mode::from_raw_mode(0o666))?;
        Ok(Self { folder, name, file: file.into(), is_named: false })
    }

    fn publish(mut self, leaf: &OsStr) -> Result<(), Errno> {
        renameat(&self.folder, self.name.as_str(), &self.folder, leaf)?;
        self.is_named = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_named {
            // Nobody is left to hear of an error.
            let _ = unlinkat(&self.folder, self.name.as_str(), AtFlags::empty());
        }
    }
}
