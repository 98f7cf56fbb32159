//! What a connection is like at present.

use recoup_recovery::{Counters, Sender};
use recoup_tcp::{Info, State};
use recoup_units::Instant;
use recoup_wire::Endpoints;

use super::{ConnectionId, Host, HostError, ListenerId, Readiness};

impl Host {
    /// Copies the first bytes that arrived into `into`, and returns their number. They stay.
    ///
    /// # Errors
    /// When no connection has this id.
    pub fn peek(&self, id: ConnectionId, into: &mut [u8]) -> Result<usize, HostError> {
        let connection = self.table.get(id).ok_or(HostError::Unknown)?;
        let bytes = connection.tcp.peek(into.len());
        into[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// What can be done with a connection.
    pub fn readiness(&self, id: ConnectionId) -> Option<Readiness> {
        let connection = self.table.get(id)?;
        let tcp = &connection.tcp;
        let closed = match tcp.state() {
            State::Closed(how) => Some(how),
            _ => None,
        };
        let endpoint = tcp.endpoint();
        Some(Readiness {
            opened: connection.opened,
            readable: endpoint.readable() > 0 || endpoint.receiver().finished(),
            writable: connection.opened && ((tcp.has_room() && !connection.starved) || tcp.is_write_shut()),
            closed,
        })
    }

    /// The ends of a connection: `src` is this host's.
    pub fn path(&self, id: ConnectionId) -> Option<Endpoints> {
        Some(self.table.get(id)?.path)
    }

    /// The state of a connection.
    pub fn state(&self, id: ConnectionId) -> Option<State> {
        Some(self.table.get(id)?.tcp.endpoint().state())
    }

    /// The listener a connection came to; `None` of one that this host began or [admitted](Self::admit).
    pub fn listener(&self, id: ConnectionId) -> Option<ListenerId> {
        self.table.get(id)?.origin.listener()
    }

    /// Bytes of a connection written and not acknowledged.
    pub fn unacknowledged(&self, id: ConnectionId) -> Option<usize> {
        Some(self.table.get(id)?.tcp.queued() as usize)
    }

    /// State of a connection, as in TCP_INFO.
    pub fn info(&self, now: Instant, id: ConnectionId) -> Option<Info> {
        Some(self.table.get(id)?.tcp.endpoint().info(now))
    }

    /// A connection's sender, as it stands.
    pub fn sender(&self, id: ConnectionId) -> Option<&Sender> {
        Some(self.table.get(id)?.tcp.endpoint().sender())
    }

    /// Takes out the events a connection's sender has logged since the last call; none unless
    /// [`Config::log`](recoup_tcp::Config::log) is set.
    pub fn take_events(&mut self, id: ConnectionId) -> Vec<(Instant, recoup_recovery::Event)> {
        let connection = self.table.get_mut(id);
        connection.map_or_else(Vec::new, |(_, connection)| connection.tcp.endpoint_mut().drain_events().collect())
    }

    /// Counters of a connection.
    pub fn counters(&self, id: ConnectionId) -> Option<Counters> {
        Some(self.table.get(id)?.tcp.endpoint().sender().counters())
    }

    /// The TCP of a connection, to look at.
    pub fn connection(&self, id: ConnectionId) -> Option<&recoup_tcp::Connection> {
        Some(&self.table.get(id)?.tcp)
    }
}
