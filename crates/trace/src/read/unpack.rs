//! Decompression, on demand or ahead on a thread.
//!
//! A gzip file may have several members, and a zstd file several frames (RFC 1952 §2.2, RFC 8878
//! §3). `cat`, parallel compressors and appending loggers write them.

use super::sniff::Compression;
use flate2::read::MultiGzDecoder;
use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread,
};

/// Bytes decompressed at once: if the input is damaged, at most this much before the damage is
/// lost.
const UNPACKED_AT_ONCE: usize = 1 << 13;
/// Bytes handed over at once, and how many pieces may wait.
const HANDED_OVER: usize = 1 << 18;
const MOST_WAITING: usize = 4;

type Input<'a> = Box<dyn Read + Send + 'a>;

/// Decompresses an input.
pub(super) type Unpack<'a> = fn(Input<'a>, Compression) -> io::Result<Input<'a>>;

/// Decompresses on demand.
pub(super) fn in_place(input: Input<'_>, compression: Compression) -> io::Result<Input<'_>> {
    Ok(match compression {
        Compression::Gzip => Box::new(ShortReads(MultiGzDecoder::new(input))),
        #[cfg(not(target_family = "wasm"))]
        Compression::Zstd => Box::new(ShortReads(zstd::Decoder::new(input)?)),
        #[cfg(target_family = "wasm")]
        Compression::Zstd => Box::new(ShortReads(super::zstd_frames::ZstdFrames::new(input))),
    })
}

/// Reads a little at a time.
struct ShortReads<R>(R);

impl<R: Read> Read for ShortReads<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = buffer.len().min(UNPACKED_AT_ONCE);
        self.0.read(&mut buffer[..size])
    }
}

/// Decompresses ahead on a thread, which ends when the reader is dropped; in place where the system has no thread left.
pub(super) fn ahead(input: Input<'static>, compression: Compression) -> io::Result<Input<'static>> {
    let (full, pieces) = sync_channel(MOST_WAITING);
    let (spent, empty) = channel();
    let input = in_place(input, compression)?;
    let (give, given) = sync_channel(1);
    let thread = thread::Builder::new().name("unpack".into());
    let spawned = thread.spawn(move || {
        given.into_iter().for_each(|input| work(input, &full, &empty));
    });
    if spawned.is_err() {
        return Ok(input);
    }
    // The thread takes it: it ends no sooner.
    let _ = give.send(input);
    drop(give);
    Ok(Box::new(Ahead { pieces, spent, piece: Vec::new(), at: 0 }))
}

/// The thread: sends pieces until the end or the first error.
fn work(mut input: Input<'static>, full: &SyncSender<io::Result<Vec<u8>>>, empty: &Receiver<Vec<u8>>) {
    loop {
        let mut piece = empty.try_recv().unwrap_or_default();
        piece.resize(HANDED_OVER, 0);
        let mut end = 0;
        let mut result = Ok(());
        while end < HANDED_OVER {
            match input.read(&mut piece[end..]) {
                Ok(0) => break,
                Ok(read) => end += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    result = Err(e);
                    break;
                }
            }
        }
        let last = end < HANDED_OVER;
        piece.truncate(end);
        // Bytes read before an error are sent first.
        let handed = end == 0 || full.send(Ok(piece)).is_ok();
        let sent = match result {
            Ok(()) => handed,
            Err(e) => handed && full.send(Err(e)).is_ok(),
        };
        if last || !sent {
            return;
        }
    }
}

/// The reader's end.
struct Ahead {
    pieces: Receiver<io::Result<Vec<u8>>>,
    spent: Sender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            // The thread has ended.
            let Ok(piece) = self.pieces.recv() else {
                return Ok(0);
            };
            let spent = std::mem::replace(&mut self.piece, piece?);
            self.at = 0;
            // If the thread has ended, nobody needs it.
            let _ = self.spent.send(spent);
        }
        let rest = &self.piece[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
