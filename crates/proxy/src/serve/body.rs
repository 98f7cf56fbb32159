//! The bytes of a response: text, and parts of a file, which are read in chunks when the connection takes them.

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::task::block_in_place;

/// Bytes that are read at once. hyper keeps at most some of these chunks of each connection.
const CHUNK: u64 = 64 << 10;

/// Bytes that the disk is asked for when a chunk is not in memory.
const AHEAD: u64 = 1 << 20;

/// The body of a response.
#[derive(Debug, Default)]
pub struct Body {
    file: Option<File>,
    pieces: VecDeque<Piece>,
    /// The bytes of all pieces.
    left: u64,
}

/// A piece of a body.
#[derive(Debug)]
pub enum Piece {
    Text(Bytes),
    /// A part of the file.
    Span(Range<u64>),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Span(span) => span.end - span.start,
        }
    }
}

impl Body {
    /// Text.
    pub fn text(text: impl Into<Bytes>) -> Self {
        Self::new(None, [Piece::Text(text.into())])
    }

    /// A part of a file.
    pub fn span(file: File, span: Range<u64>) -> Self {
        Self::new(Some(file), [Piece::Span(span)])
    }

    /// Texts, and parts of a file.
    pub fn pieces(file: File, pieces: impl IntoIterator<Item = Piece>) -> Self {
        Self::new(Some(file), pieces)
    }

    fn new(file: Option<File>, pieces: impl IntoIterator<Item = Piece>) -> Self {
        let pieces: VecDeque<Piece> = pieces.into_iter().filter(|piece| piece.length() > 0).collect();
        let left = pieces.iter().map(Piece::length).sum();
        Self { file, pieces, left }
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        self.left
    }

    /// The next bytes; none at the end.
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let bytes = match self.pieces.front_mut() {
            None => return Ok(None),
            Some(Piece::Text(text)) => std::mem::take(text),
            Some(Piece::Span(span)) => {
                let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
                let bytes = read(file, span)?;
                span.start += bytes.len() as u64;
                bytes
            }
        };
        if self.pieces.front().is_some_and(|piece| piece.length() == 0) {
            self.pieces.pop_front();
        }
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(Some(bytes))
    }
}

/// The first bytes of a part of a file.
fn read(file: &File, span: &Range<u64>) -> io::Result<Bytes> {
    let mut buffer = vec![0; (span.end - span.start).min(CHUNK) as usize];
    // What is in memory is read here; other threads serve other connections while the disk is read.
    let read = match preadv2(file, &mut [IoSliceMut::new(&mut buffer)], span.start, ReadWriteFlags::NOWAIT) {
        Ok(read) if read > 0 => read,
        // Some file systems do not know whether they would wait, and some give 0 bytes when they would.
        Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::INTR) => {
            block_in_place(|| {
                // So that the next chunks are in memory, or on their way. It is a hint only.
                let _ = fadvise(file, span.start, NonZeroU64::new(AHEAD), Advice::WillNeed);
                file.read_at(&mut buffer, span.start)
            })?
        }
        Err(e) => return Err(e.into()),
    };
    if read == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
    }
    buffer.truncate(read);
    Ok(buffer.into())
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(self.get_mut().next().map(|bytes| bytes.map(Frame::data)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
