//! This stack as a [`Guest`]: one connection of a [`Host`], in virtual time (docs/conformance.md).
//!
//! Options of [`Setup`] are named in [`OPTIONS`]. All random numbers follow from the seed.

use crate::{
    Config, TcpOptions,
    host::{ConnectionId, Host, HostError, ListenerId, Read, Secret},
};
use recoup_guest::{About, Ended, Failed, Guest, Input, Setup, Status, Transport};
use recoup_recovery::congestion::Algorithm;
use recoup_tcp::{Closed, State};
use recoup_units::Instant;
use std::net::SocketAddr;

/// The options that it knows:
///
/// | option | value |
/// | --- | --- |
/// | `profile` | profile of loss recovery, such as `linux-6+tlpr` |
/// | `congestion` | congestion control, such as `reno` or `cubic` |
/// | `receive-buffer`, `send-buffer` | bytes; the buffers have this size from the beginning |
/// | `max-segment` | the announced MSS at most, in bytes |
/// | `no-delay` | `true`: Nagle's algorithm is off |
pub const OPTIONS: [&str; 6] = ["congestion", "max-segment", "no-delay", "profile", "receive-buffer", "send-buffer"];

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// A host with one connection.
#[derive(Debug)]
pub struct OneConnection {
    host: Host,
    about: About,
    local: SocketAddr,
    peer: SocketAddr,
    listener: Option<ListenerId>,
    connection: Option<ConnectionId>,
    open: bool,
    ended: Option<Ended>,
}

impl OneConnection {
    /// A host that has not begun to connect or to listen.
    ///
    /// # Errors
    /// When the setup has an option or a value that is unknown.
    pub fn new(setup: &Setup) -> Result<Self, Failed> {
        let tcp = options(setup)?;
        let profile = setup.options.get("profile").map_or("linux-6", String::as_str);
        let about = About {
            name: "recoup".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            transport: Transport::Tcp,
            configuration: format!(
                "profile {profile}, congestion control {}",
                tcp.endpoint.mechanisms.congestion.name()
            ),
            repeatable: true,
        };
        let mut key = [0; 16];
        key[..8].copy_from_slice(&setup.seed.to_le_bytes());
        let config = Config { tcp, ..Config::new([setup.local.ip()]) };
        Ok(Self {
            host: Host::new(config, setup.mtu, Secret::from_key(key)),
            about,
            local: setup.local,
            peer: setup.peer,
            listener: None,
            connection: None,
            open: false,
            ended: None,
        })
    }

    fn act(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<u64, HostError> {
        match input {
            Input::Connect => self.connection = Some(self.host.connect_with(now, self.local, self.peer, None)?),
            Input::Listen => self.listener = Some(self.host.listen(self.local)?),
            Input::Packet(packet) => {
                self.host.on_packet(now, packet, &mut |packet: &[u8]| packets.push(packet.to_vec()));
            }
            Input::Wake => {}
            Input::Write(bytes) => return self.write(now, bytes),
            Input::Read(bytes) => return self.read(now, bytes),
            Input::Close => self.connection.map_or(Ok(()), |id| self.host.close(now, id))?,
            Input::Reset => {
                if let Some(id) = self.connection.take() {
                    self.host.abort(id)?;
                    self.ended.get_or_insert(Ended::Reset);
                }
            }
        }
        Ok(0)
    }

    fn write(&mut self, now: Instant, bytes: u64) -> Result<u64, HostError> {
        let Some(id) = self.connection else { return Ok(0) };
        let mut taken = 0;
        while taken < bytes {
            let left = usize::try_from(bytes - taken).unwrap_or(usize::MAX);
            let fill = |room: &mut [u8]| {
                let len = room.len().min(left);
                room.iter_mut().take(len).for_each(|byte| *byte = 0);
                len
            };
            match self.host.write_with(now, id, fill)? {
                0 => break,
                more => taken += more as u64,
            }
        }
        Ok(taken)
    }

    fn read(&mut self, now: Instant, bytes: u64) -> Result<u64, HostError> {
        let Some(id) = self.connection else { return Ok(0) };
        let mut room = vec![0; usize::try_from(bytes).unwrap_or(CHUNK).min(CHUNK)];
        let mut taken = 0;
        while taken < bytes {
            let left = usize::try_from(bytes - taken).unwrap_or(CHUNK).min(room.len());
            match self.host.read(now, id, room.get_mut(..left).unwrap_or_default())? {
                Read::Bytes(more) => taken += more as u64,
                Read::Nothing | Read::End => break,
            }
        }
        Ok(taken)
    }

    /// Sends what there is to send, and accepts the connection.
    fn settle(&mut self, now: Instant, packets: &mut Vec<Vec<u8>>) {
        self.host.on_timer(now);
        while self.host.poll_transmit(now, &mut |packet: &[u8]| packets.push(packet.to_vec())) {}
        while self.host.next_event().is_some() {}
        if self.connection.is_none() {
            self.connection = self.listener.and_then(|listener| self.host.accept(listener));
        }
    }

    fn status(&mut self, taken: u64) -> Status {
        let wake = self.host.next_timer();
        let connection = self.connection.and_then(|id| self.host.connection(id));
        let Some(connection) = connection else {
            return Status { wake, open: self.open, ended: self.ended, taken, ..Status::default() };
        };
        let endpoint = connection.endpoint();
        let state = endpoint.state();
        self.open |= !matches!(state, State::SynSent | State::SynReceived | State::Listen | State::Closed(_));
        if let State::Closed(how) = state {
            self.ended.get_or_insert(ended(how));
        }
        let takes_data = self.open && self.ended.is_none() && !connection.is_write_shut();
        let limits = connection.limits();
        let room = limits.buffer.saturating_sub(connection.queued());
        let room = room.min(limits.unsent.saturating_sub(connection.unsent()));
        Status {
            wake,
            open: self.open,
            readable: endpoint.readable(),
            writable: if takes_data { room } else { 0 },
            finished: endpoint.receiver().finished() && endpoint.readable() == 0,
            ended: self.ended,
            taken,
        }
    }
}

impl Guest for OneConnection {
    fn about(&self) -> &About {
        &self.about
    }

    fn step(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed> {
        let taken = match self.act(now, input, packets) {
            Ok(taken) => taken,
            // That the connection is over is said by the status.
            Err(HostError::Ended(_) | HostError::NotWritable) => 0,
            Err(error) => return Err(Failed::new(error)),
        };
        self.settle(now, packets);
        Ok(self.status(taken))
    }
}

fn ended(how: Closed) -> Ended {
    match how {
        Closed::Gracefully => Ended::Closed,
        Closed::ByReset | Closed::ByAbort => Ended::Reset,
        Closed::ByTimeout | Closed::Unreachable(_) => Ended::TimedOut,
    }
}

fn options(setup: &Setup) -> Result<TcpOptions, Failed> {
    setup.only_options(&OPTIONS)?;
    let mut tcp = match setup.options.get("profile") {
        Some(name) => TcpOptions::of_profile(name).map_err(|e| Failed::new(format_args!("option `profile`: {e}")))?,
        None => TcpOptions::default(),
    };
    if let Some(name) = setup.options.get("congestion") {
        let names = Algorithm::ALL.map(Algorithm::name).join(", ");
        let expected = || Failed::new(format_args!("option `congestion`: expected one of {names}, found `{name}`"));
        tcp.endpoint.mechanisms.congestion = Algorithm::named(name).ok_or_else(expected)?;
    }
    if let Some(bytes) = setup.option("receive-buffer", "bytes")? {
        (tcp.endpoint.receive_buffer, tcp.tune_buffers) = (bytes, false);
    }
    if let Some(bytes) = setup.option("send-buffer", "bytes")? {
        (tcp.send_buffer, tcp.unsent, tcp.tune_buffers) = (bytes, bytes, false);
    }
    tcp.max_segment = setup.option("max-segment", "bytes, at most 65535")?;
    tcp.endpoint.nagle = !setup.option("no-delay", "`true` or `false`")?.unwrap_or(false);
    Ok(tcp)
}

#[cfg(test)]
mod tests;
