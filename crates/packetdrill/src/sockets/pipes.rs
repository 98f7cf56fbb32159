//! Pipes, for `splice` between sockets.

use super::{Descriptor, Fd, SendFlags, Sockets};
use crate::errno::{Errno, Outcome};
use std::collections::VecDeque;

/// Bytes a pipe holds at most (Linux: 16 pages).
const CAPACITY: usize = 65_536;

#[derive(Debug, Default)]
pub(super) struct Pipe {
    bytes: VecDeque<u8>,
}

impl Sockets {
    /// `pipe`: a descriptor to read from and one to write to.
    pub fn pipe(&mut self) -> Outcome<[Fd; 2]> {
        let id = self.pipes.last_key_value().map_or(0, |(last, _)| last + 1);
        self.pipes.insert(id, Pipe::default());
        let reader = self.add(Descriptor::PipeReader(id))?;
        let writer = self.add(Descriptor::PipeWriter(id))?;
        Ok([reader, writer])
    }

    /// `splice`: moves up to `count` bytes from one descriptor to another, one of them a pipe.
    pub fn splice(&mut self, from: Fd, to: Fd, count: usize) -> Outcome<usize> {
        match (self.descriptors.get(&from), self.descriptors.get(&to)) {
            (Some(Descriptor::Socket(_)), Some(Descriptor::PipeWriter(id))) => {
                let id = *id;
                let room = CAPACITY - self.pipes.get(&id).map_or(0, |p| p.bytes.len());
                if room == 0 {
                    return Err(Errno::AGAIN);
                }
                let bytes = self.receive_bytes(from, count.min(room), false)?;
                let pipe = self.pipes.entry(id).or_default();
                pipe.bytes.extend(&bytes);
                Ok(bytes.len())
            }
            (Some(Descriptor::PipeReader(id)), Some(Descriptor::Socket(_))) => {
                let id = *id;
                let pipe = self.pipes.entry(id).or_default();
                let bytes: Vec<u8> = pipe.bytes.iter().take(count).copied().collect();
                if bytes.is_empty() {
                    return Err(Errno::AGAIN);
                }
                let sent = self.send(to, &bytes, SendFlags::default())?;
                self.pipes.entry(id).or_default().bytes.drain(..sent);
                Ok(sent)
            }
            (None, _) | (_, None) => Err(Errno::BAD_DESCRIPTOR),
            _ => Err(Errno::INVALID),
        }
    }
}
