//! A pool of packet buffers.

/// The length of short buffers in bytes: most packets fit.
const SHORT: usize = 2048;

/// Buffers to read packets into, each as long as the longest packet. If that is more than a short
/// buffer, short packets move to short buffers while they travel, because many may be in flight.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    longest: usize,
    long: Vec<Vec<u8>>,
    short: Vec<Vec<u8>>,
}

impl Buffers {
    /// A pool for packets of up to `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self { longest, ..Self::default() }
    }

    /// A buffer to read into.
    pub fn take(&mut self) -> Vec<u8> {
        self.long.pop().unwrap_or_else(|| vec![0; self.longest])
    }

    /// The packet of `len` bytes that was read into `buffer`, in a buffer that suits its length.
    pub fn fit(&mut self, buffer: Vec<u8>, len: usize) -> Vec<u8> {
        if self.longest <= SHORT || len > SHORT {
            return buffer;
        }
        let mut short = self.short.pop().unwrap_or_else(|| vec![0; SHORT]);
        short[..len].copy_from_slice(&buffer[..len]);
        self.long.push(buffer);
        short
    }

    /// Returns a buffer to the pool.
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        if buffer.len() == self.longest { self.long.push(buffer) } else { self.short.push(buffer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_packets_do_not_keep_long_buffers() {
        // (the longest, a packet's length, its buffer's)
        for (longest, len, kept) in [
            (1500, 40, 1500),
            (1500, 1500, 1500),
            (SHORT, 40, SHORT),
            (65_535, 40, SHORT),
            (65_535, SHORT, SHORT),
            (65_535, SHORT + 1, 65_535),
        ] {
            let mut buffers = Buffers::new(longest);
            for round in 0..3 {
                let mut buffer = buffers.take();
                assert_eq!(buffer.len(), longest);
                buffer[..len].fill(round);
                let buffer = buffers.fit(buffer, len);
                assert_eq!(buffer.len(), kept, "{len} of {longest}");
                assert!(buffer[..len].iter().all(|byte| *byte == round));
                buffers.give_back(buffer);
            }
            assert!(buffers.long.len() <= 1 && buffers.short.len() <= 1);
        }
    }
}
