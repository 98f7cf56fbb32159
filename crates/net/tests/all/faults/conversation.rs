//! A small application on Recoup's side of a connection, and one on the kernel's.

use crate::faults::PATIENCE;
use recoup_stack::{
    Driver,
    device::Wait,
    host::{ConnectionId, HostError, Read},
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
    pub id: ConnectionId,
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
    pub fn new(id: ConnectionId, outgoing: &[u8]) -> Self {
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

    /// Runs the host for a moment, then reads and writes.
    pub fn step<D: Wait>(&mut self, driver: &mut Driver<D>) {
        driver.turn(Duration::from_millis(5)).unwrap();
        while let Some(event) = driver.host.next_event() {
            if event.connection == self.id {
                self.closed = self.closed.or(event.closed);
            }
        }
        self.exchange(driver);
    }

    /// Reads and writes as much as possible.
    pub fn exchange<D: Wait>(&mut self, driver: &mut Driver<D>) {
        self.read(driver);
        self.write(driver);
    }

    pub fn read<D: Wait>(&mut self, driver: &mut Driver<D>) {
        let now = driver.now();
        while self.reads && !self.end && self.failed.is_none() {
            match driver.host.read(now, self.id, &mut self.chunk) {
                Ok(Read::Bytes(count)) => self.received.extend_from_slice(&self.chunk[..count]),
                Ok(Read::Nothing) => break,
                Ok(Read::End) => self.end = true,
                Err(e) => self.failed = Some(e),
            }
        }
    }

    fn write<D: Wait>(&mut self, driver: &mut Driver<D>) {
        let now = driver.now();
        let until = self.outgoing.len().min(self.allowed);
        if self.sent >= until || self.failed.is_some() {
            return;
        }
        let written = driver.host.write(now, self.id, &self.outgoing[self.sent..until]);
        match written {
            Ok(count) => self.sent += count,
            // Not open yet.
            Err(HostError::NotWritable) => {}
            Err(e) => self.failed = Some(e),
        }
        if self.sent == self.outgoing.len() {
            driver.host.close(now, self.id).unwrap();
        }
    }

    /// Continues until a condition holds.
    pub fn until<D: Wait>(&mut self, driver: &mut Driver<D>, what: &str, holds: impl Fn(&Self, &Driver<D>) -> bool) {
        let began = Instant::now();
        while !holds(self, driver) {
            let (sent, all) = (self.sent, self.outgoing.len());
            assert!(
                began.elapsed() < PATIENCE,
                "{what}: {sent} of {all} bytes written, {} read, {:?}, {:?}",
                self.received.len(),
                self.failed,
                driver.host.state(self.id)
            );
            self.step(driver);
        }
    }
}

/// Runs the host until a condition holds.
pub fn until<D: Wait>(driver: &mut Driver<D>, what: &str, holds: impl Fn(&Driver<D>) -> bool) {
    let began = Instant::now();
    while !holds(driver) {
        assert!(began.elapsed() < PATIENCE, "{what}");
        driver.turn(Duration::from_millis(5)).unwrap();
        while driver.host.next_event().is_some() {}
    }
}

/// Runs the host and its applications for a moment. New connections get `answer`.
pub fn serve<D: Wait>(driver: &mut Driver<D>, conversations: &mut Vec<Conversation>, answer: &[u8]) {
    driver.turn(Duration::from_millis(1)).unwrap();
    while let Some(event) = driver.host.next_event() {
        if event.opened {
            let listener = driver.host.listener(event.connection);
            assert!(listener.is_none_or(|listener| driver.host.accept(listener).is_some()));
            conversations.push(Conversation::new(event.connection, answer));
        }
        let known = conversations.iter_mut().find(|c| c.id == event.connection);
        if let Some(conversation) = known {
            conversation.closed = conversation.closed.or(event.closed);
        }
    }
    for conversation in conversations {
        conversation.exchange(driver);
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
