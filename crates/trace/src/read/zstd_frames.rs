//! Decompresses zstd without C, for WebAssembly.
//!
//! ruzstd decodes one frame. This reads frame after frame and passes over skippable ones (RFC 8878 §3.1), so that it
//! reads what the C library reads.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read};

/// Compressed bytes read at once.
const BUFFER: usize = 1 << 17;

/// Reads what `R` has, decompressed.
pub(super) struct ZstdFrames<R: Read> {
    input: Noting<R>,
    frame: FrameDecoder,
    /// Whether a frame has begun and is not over.
    is_within: bool,
}

impl<R: Read> ZstdFrames<R> {
    pub fn new(input: R) -> Self {
        let input = Noting { input: BufReader::with_capacity(BUFFER, input), ended: false, failure: None };
        Self { input, frame: FrameDecoder::new(), is_within: false }
    }

    /// Begins the next frame. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.input.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.input) {
                Ok(()) => {
                    self.is_within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.input.by_ref().take(length), &mut io::sink())? < length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(self.input.why(error)),
            }
        }
        Ok(false)
    }

    /// The frame's data was read: compares it with its checksum.
    fn end(&mut self) -> io::Result<()> {
        self.is_within = false;
        let expected = self.frame.get_checksum_from_data();
        match expected.is_none() || expected == self.frame.get_calculated_checksum() {
            true => Ok(()),
            false => Err(Error::other("zstd: the checksum of a frame does not match its data")),
        }
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.is_within || self.begin()? {
            let read = self.frame.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            match self.frame.is_finished() {
                true => self.end()?,
                false => {
                    let decoded = self.frame.decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1));
                    decoded.map_err(|error| self.input.why(error))?;
                }
            }
        }
        Ok(0)
    }
}

/// Notes that the input is over or fails: ruzstd's errors hide it.
struct Noting<R> {
    input: BufReader<R>,
    ended: bool,
    failure: Option<Error>,
}

impl<R> Noting<R> {
    /// Why the decoder failed.
    fn why(&mut self, error: FrameDecoderError) -> Error {
        match self.failure.take() {
            Some(failure) => failure,
            None if self.ended => ErrorKind::UnexpectedEof.into(),
            None => Error::other(format!("zstd: {error}")),
        }
    }
}

impl<R: Read> Read for Noting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer);
        match &read {
            Ok(0) if !buffer.is_empty() => self.ended = true,
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                self.failure = Some(Error::new(error.kind(), error.to_string()));
            }
            _ => {}
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the C library reads, and how it ends.
    fn expected(packed: &[u8]) -> (Vec<u8>, Option<ErrorKind>) {
        read(zstd::Decoder::new(packed).unwrap())
    }

    fn read(mut input: impl Read) -> (Vec<u8>, Option<ErrorKind>) {
        let mut bytes = Vec::new();
        let end = input.read_to_end(&mut bytes);
        (bytes, end.err().map(|error| error.kind()))
    }

    /// Two frames with a skippable one between them; the second has a checksum.
    fn frames() -> (Vec<u8>, Vec<u8>) {
        let plain: Vec<u8> = (0..400_000_u32).flat_map(|i| (i.wrapping_mul(i) >> 9).to_le_bytes()).collect();
        let (first, second) = plain.split_at(700_001);
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        io::copy(&mut &second[..], &mut encoder).unwrap();
        let skippable = [0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let packed = [&zstd::encode_all(first, 1).unwrap()[..], &skippable, &encoder.finish().unwrap()].concat();
        (plain, packed)
    }

    #[test]
    fn frames_are_read_as_the_c_library_reads_them() {
        let (plain, packed) = frames();
        assert_eq!(expected(&packed), (plain.clone(), None));
        assert!(read(ZstdFrames::new(&packed[..])) == (plain, None));
        assert_eq!(read(ZstdFrames::new(&b""[..])), (Vec::new(), None));
    }

    #[test]
    fn a_cut_is_told_from_damage() {
        let (plain, mut packed) = frames();
        for end in [2, 9, 3000, packed.len() - 1] {
            let (found, kind) = read(ZstdFrames::new(&packed[..end]));
            assert!(plain.starts_with(&found), "{end}");
            assert_eq!(kind, Some(ErrorKind::UnexpectedEof), "{end}");
        }
        *packed.last_mut().unwrap() ^= 1;
        assert_eq!(read(ZstdFrames::new(&packed[..])), (plain, Some(ErrorKind::Other)));
        let trailing = [&packed[..0], b"rubbish, not a frame"].concat();
        assert_eq!(read(ZstdFrames::new(&trailing[..])).1, Some(ErrorKind::Other));
    }
}
