//! Writing as by Linux's `sendmsg`, and what governs it.

use std::time::Duration;

use recoup_tcp::{KeepAlive, SendLimits, WriteMode};
use recoup_units::Instant;

use super::{ConnectionId, Host, HostError, Sink, output::More};

impl Host {
    /// As [`write`](Self::write), with more following soon (`MSG_MORE`) or a record ending (`MSG_EOR`) as `mode` says,
    /// and with transmission where Linux transmits before it has taken all of a long write. What is left to send goes
    /// as after [`write`](Self::write).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_with_mode(
        &mut self,
        now: Instant,
        id: ConnectionId,
        bytes: &[u8],
        mode: WriteMode,
        sink: &mut dyn Sink,
    ) -> Result<usize, HostError> {
        let fits = self.writable(id, bytes.len())?.min(bytes.len());
        // What ends with the last byte does not end with those for which there is memory.
        let mode = if fits < bytes.len() { WriteMode::default() } else { mode };
        let (index, _) = self.table.get_mut(id).ok_or(HostError::Unknown)?;
        let (mut way, tcp) = self.way(index).ok_or(HostError::Unknown)?;
        let taken = tcp.write(now, &bytes[..fits], mode, |tcp, flush| {
            while way.send_trains(now, tcp, flush, sink) != More::No && sink.room() > 0 {}
        })?;
        Ok(self.wrote(index, taken))
    }

    /// Sends what a connection holds back, corked or not. Linux does so when `TCP_NODELAY` is set.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn push(&mut self, now: Instant, id: ConnectionId) -> Result<(), HostError> {
        self.with(id, |connection| connection.tcp.uncork(now))
    }

    /// Limits how much of what is written a connection takes (`SO_SNDBUF`, `TCP_NOTSENT_LOWAT`). Its send buffer does not
    /// grow any more, as in Linux.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn set_limits(&mut self, id: ConnectionId, limits: SendLimits) -> Result<(), HostError> {
        self.with(id, |connection| {
            connection.growth.send = 0;
            connection.tcp.set_limits(limits);
        })
    }

    /// Holds less than full segments of a connection back from now on (`TCP_CORK`), or sends what was held back.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn set_cork(&mut self, now: Instant, id: ConnectionId, on: bool) -> Result<(), HostError> {
        self.with(id, |connection| {
            connection.tcp.set_corked(on);
            if !on {
                connection.tcp.uncork(now);
            }
        })
    }

    /// Ends a connection when data was not acknowledged for so long. Zero changes nothing.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn set_user_timeout(&mut self, id: ConnectionId, timeout: Duration) -> Result<(), HostError> {
        self.with(id, |connection| {
            if !timeout.is_zero() {
                connection.tcp.endpoint_mut().set_user_timeout(timeout);
            }
        })
    }

    /// Probes an idle connection's peer from now on (RFC 1122 §4.2.3.6), or not.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn set_keep_alive(&mut self, id: ConnectionId, rules: Option<KeepAlive>) -> Result<(), HostError> {
        self.with(id, |connection| connection.tcp.endpoint_mut().set_keep_alive(rules))
    }

    /// Has a connection follow Nagle's rule from now on, or not.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn set_nagle(&mut self, id: ConnectionId, on: bool) -> Result<(), HostError> {
        self.with(id, |connection| connection.tcp.set_nagle(on))
    }
}
