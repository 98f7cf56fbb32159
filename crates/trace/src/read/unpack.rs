//! Decompression, in place or ahead on a thread of its own.
//!
//! A gzip file may have several members, a zstd file several frames (RFC 1952 §2.2, RFC 8878 §3):
//! `cat`, parallel compressors and loggers that append write such files.

use super::sniff::Packing;
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes unpacked at once: where the input turns out to be damaged, so much of what was sound in
/// front of that place is lost, at most.
const SIP: usize = 1 << 13;
/// Bytes handed over at once, and how many such pieces may wait.
const PIECE: usize = 1 << 18;
const WAITING: usize = 4;

type Input<'a> = Box<dyn Read + Send + 'a>;

/// Makes compressed input plain.
pub(super) type Unpack<'a> = fn(Input<'a>, Packing) -> io::Result<Input<'a>>;

/// Unpacks what is asked for when it is asked for.
pub(super) fn in_place(input: Input<'_>, packing: Packing) -> io::Result<Input<'_>> {
    Ok(match packing {
        Packing::Gzip => Box::new(Sips(MultiGzDecoder::new(input))),
        Packing::Zstd => Box::new(Sips(zstd::Decoder::new(input)?)),
    })
}

/// Reads a little at a time.
struct Sips<R>(R);

impl<R: Read> Read for Sips<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = buffer.len().min(SIP);
        self.0.read(&mut buffer[..size])
    }
}

/// Unpacks ahead of what is asked for, on a thread that ends when nobody asks any more.
pub(super) fn ahead(input: Input<'static>, packing: Packing) -> io::Result<Input<'static>> {
    let (full, pieces) = sync_channel(WAITING);
    let (spent, empty) = channel();
    let input = in_place(input, packing)?;
    let thread = thread::Builder::new().name("unpack".into());
    thread.spawn(move || work(input, &full, &empty))?;
    Ok(Box::new(Ahead {
        pieces,
        spent,
        piece: Vec::new(),
        at: 0,
    }))
}

/// The thread's part: pieces until the end or the first error.
fn work(
    mut input: Input<'static>,
    full: &SyncSender<io::Result<Vec<u8>>>,
    empty: &Receiver<Vec<u8>>,
) {
    loop {
        let mut piece = empty.try_recv().unwrap_or_default();
        piece.resize(PIECE, 0);
        let mut end = 0;
        let mut result = Ok(());
        while end < PIECE {
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
        let last = end < PIECE;
        piece.truncate(end);
        // What came before an error counts.
        let handed = end == 0 || full.send(Ok(piece)).is_ok();
        let told = match result {
            Ok(()) => handed,
            Err(e) => handed && full.send(Err(e)).is_ok(),
        };
        if last || !told {
            return;
        }
    }
}

/// The reader's part.
struct Ahead {
    pieces: Receiver<io::Result<Vec<u8>>>,
    spent: Sender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            // The thread is gone: that was all.
            let Ok(piece) = self.pieces.recv() else {
                return Ok(0);
            };
            let spent = std::mem::replace(&mut self.piece, piece?);
            self.at = 0;
            // Whether it is still wanted does not matter.
            let _ = self.spent.send(spent);
        }
        let rest = &self.piece[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
