//! The checksum at the end of a file: XXH3 (64 bits) of all bytes before it.

use std::hash::Hasher;
use std::io::{self, Read, Seek, Write};
use twox_hash::XxHash3_64;

/// Whether the eight bytes at `end` are the checksum of all bytes before.
pub fn matches(input: &mut (impl Read + Seek), end: u64) -> io::Result<bool> {
    input.rewind()?;
    let mut hash = XxHash3_64::new();
    let mut buffer = vec![0; 1 << 16];
    let mut before = input.take(end);
    loop {
        match before.read(&mut buffer)? {
            0 => break,
            read => hash.write(&buffer[..read]),
        }
    }
    let mut rest = Vec::new();
    input.read_to_end(&mut rest)?;
    Ok(rest == hash.finish().to_le_bytes())
}

/// Passes on what is written, and computes its checksum.
pub struct ChecksumWriter<W> {
    out: W,
    hash: XxHash3_64,
    /// The error of the last write, for callers that cannot pass it on.
    error: Option<io::Error>,
}

impl<W: Write> ChecksumWriter<W> {
    pub fn new(out: W) -> Self {
        Self { out, hash: XxHash3_64::new(), error: None }
    }

    /// Writes the checksum.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.hash.finish().to_le_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// The error of the last write.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }
}

impl<W: Write> Write for ChecksumWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes).inspect_err(|e| {
            self.error = Some(match e.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => e.kind().into(),
            });
        })?;
        self.hash.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
