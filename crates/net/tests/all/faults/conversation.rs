//! A small application on Recoup's side of a connection, and one on the kernel's.

use crate::faults::{
    PATIENCE,
    side::{Id, Side},
};
use recoup_stack::{
    device::Wait,
    host::{HostError, Read},
};
use recoup_tcp::Closed;
use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// Sends all its data and reads everything that arrives.
pub struct Conversation {
    pub id: Id,
    outgoing: Vec<u8>,
    pub sent: usize,
    pub received: Vec<u8>,
    /// Whether the peer has closed its stream.
    pub end: bool,
    /// The first error of reading or writing.
    pub failed: Option<HostError>,
    /// How the connection ended.
    pub closed: Option<Closed>,
    /// Bytes it may write so far.
    pub allowed: usize,
    pub reads: bool,
    chunk: Vec<u8>,
}

impl Conversation {
    pub fn new(id: Id, outgoing: &[u8]) -> Self {
        Self {
            id,
            outgoing: outgoing.to_vec(),
            sent: 0,
            received: Vec::new(),
            end: false,
            failed: None,
            closed: None,
            allowed: usize::MAX,
            reads: true,
            chunk: vec![0; 70_000],
        }
    }

    /// Whether both streams are complete.
    pub fn is_done(&self) -> bool {
        self.end && self.sent == self.outgoing.len()
    }

    /// Runs the side for a moment, then reads and writes.
    pub fn step<D: Wait>(&mut self, side: &mut impl Side<D>) {
        side.turn(Duration::from_millis(5));
        self.closed = side.closed(self.id);
        self.exchange(side);
    }

    /// Reads and writes as much as possible.
    pub fn exchange<D: Wait>(&mut self, side: &mut impl Side<D>) {
        self.read(side);
        self.write(side);
    }

    pub fn read<D: Wait>(&mut self, side: &mut impl Side<D>) {
        while self.reads && !self.end && self.failed.is_none() {
            match side.read(self.id, &mut self.chunk) {
                Ok(Read::Bytes(count)) => self.received.extend_from_slice(&self.chunk[..count]),
                Ok(Read::Nothing) => break,
                Ok(Read::End) => self.end = true,
                Err(e) => self.failed = Some(e),
            }
        }
    }

    fn write<D: Wait>(&mut self, side: &mut impl Side<D>) {
        let until = self.outgoing.len().min(self.allowed);
        if self.sent >= until || self.failed.is_some() {
            return;
        }
        let written = side.write(self.id, &self.outgoing[self.sent..until]);
        match written {
            Ok(count) => self.sent += count,
            // Not open yet.
            Err(HostError::NotWritable) => {}
            Err(e) => self.failed = Some(e),
        }
        if self.sent == self.outgoing.len() {
            side.close(self.id);
        }
    }

    /// Continues until a condition holds.
    pub fn until<D: Wait, S: Side<D>>(&mut self, side: &mut S, what: &str, holds: impl Fn(&Self, &S) -> bool) {
        let began = Instant::now();
        while !holds(self, side) {
            let (sent, all) = (self.sent, self.outgoing.len());
            assert!(
                began.elapsed() < PATIENCE,
                "{what}: {sent} of {all} bytes written, {} read, {:?}, {:?}",
                self.received.len(),
                self.failed,
                side.state(self.id)
            );
            self.step(side);
        }
    }
}

/// Runs the side until a condition holds.
pub fn until<D: Wait, S: Side<D>>(side: &mut S, what: &str, holds: impl Fn(&S) -> bool) {
    let began = Instant::now();
    while !holds(side) {
        assert!(began.elapsed() < PATIENCE, "{what}");
        side.turn(Duration::from_millis(5));
    }
}

/// Runs the side and its applications for a moment. New connections get `answer`.
pub fn serve<D: Wait>(side: &mut impl Side<D>, conversations: &mut Vec<Conversation>, answer: &[u8]) {
    side.turn(Duration::from_millis(1));
    while let Some(id) = side.accept() {
        conversations.push(Conversation::new(id, answer));
    }
    for conversation in conversations {
        conversation.closed = side.closed(conversation.id);
        conversation.exchange(side);
    }
}

/// The kernel's side: writes in pieces with pauses, and reads everything at the same time.
pub fn kernel_trades(mut stream: &TcpStream, send: &[u8], piece: usize, pause: Duration) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let reads = thread::spawn(move || {
        let mut received = Vec::new();
        reader.read_to_end(&mut received).unwrap();
        received
    });
    for piece in send.chunks(piece) {
        stream.write_all(piece).unwrap();
        thread::sleep(pause);
    }
    stream.shutdown(Shutdown::Write).unwrap();
    reads.join().unwrap()
}
