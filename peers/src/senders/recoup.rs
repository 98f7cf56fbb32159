//! Recoup's TCP.

use super::{BUFFER, Failed, Options, PORT, REQUEST, announce, open_device};
use recoup_net::TunDevice;
use recoup_stack::{
    Config, Driver, TcpOptions,
    host::{ConnectionId, Host, HostError, Read, Secret},
};
use recoup_units::Instant;
use std::{collections::HashMap, net::SocketAddr, time::Duration};

pub fn run(profile: &str, options: &Options) -> Result<(), Failed> {
    let (device, address) = open_device(options)?;
    let mut tcp = TcpOptions { send_buffer: BUFFER as u64, ..TcpOptions::of_profile(profile)? };
    tcp.endpoint.nagle = false;
    let config = Config { tcp, ..Config::new(device.host_addresses().iter().copied()) };
    let mut host = Host::new(config, options.mtu, Secret::draw()?);
    let listener = host.listen(SocketAddr::new(address, PORT))?;
    let mut driver = Driver::new(host, device);
    announce(address);
    let mut answers = HashMap::new();
    loop {
        driver.turn(Duration::from_secs(1))?;
        let now = driver.now();
        while let Some(event) = driver.host.next_event() {
            let id = event.connection;
            if event.opened {
                // What is returned has been announced.
                let _ = driver.host.accept(listener);
            }
            let answer = answers.entry(id).or_insert_with(Answer::default);
            if event.closed.is_some() || answer.advance(now, &mut driver, id).is_err() {
                answers.remove(&id);
                // It may be gone already.
                let _ = driver.host.release(now, id);
            }
        }
    }
}

/// How far the answers to a connection's requests have come.
#[derive(Default)]
struct Answer {
    /// What has arrived of the next request.
    request: Vec<u8>,
    /// Bytes of the present answer to be written.
    left: u64,
    /// The receiver has closed its side.
    closed: bool,
}

impl Answer {
    /// Reads requests and writes what the connection takes.
    fn advance(&mut self, now: Instant, driver: &mut Driver<TunDevice>, id: ConnectionId) -> Result<(), HostError> {
        loop {
            while self.left > 0 {
                let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                let taken = driver.host.write_with(now, id, |room| {
                    let len = room.len().min(left);
                    room[..len].fill(7);
                    len
                })?;
                self.left -= taken as u64;
                if taken == 0 {
                    return Ok(());
                }
            }
            if !self.read_request(now, driver, id)? {
                return if self.closed { driver.host.close(now, id) } else { Ok(()) };
            }
        }
    }

    /// Reads what has arrived of a request; whether it is complete.
    fn read_request(
        &mut self,
        now: Instant,
        driver: &mut Driver<TunDevice>,
        id: ConnectionId,
    ) -> Result<bool, HostError> {
        let mut bytes = [0; REQUEST];
        while !self.closed {
            let wanted = REQUEST - self.request.len();
            match driver.host.read(now, id, &mut bytes[..wanted])? {
                Read::Bytes(count) => self.request.extend_from_slice(&bytes[..count]),
                Read::Nothing => break,
                Read::End => self.closed = true,
            }
            if let Ok(request) = self.request.as_slice().try_into() {
                self.left = u64::from_be_bytes(request);
                self.request.clear();
                return Ok(true);
            }
        }
        Ok(false)
    }
}
