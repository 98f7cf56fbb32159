//! Error numbers of how connections end.

use super::{Fd, Role, Socket, Sockets};
use crate::errno::{Errno, Outcome};
use recoup_stack::host::HostError;
use recoup_tcp::{self as tcp, Closed, State, Unreachable};

impl From<HostError> for Errno {
    fn from(error: HostError) -> Self {
        match error {
            HostError::InUse(_) | HostError::AnyInUse => Self::ADDRESS_IN_USE,
            HostError::NotOurs(_) | HostError::Exhausted(_) => Self::ADDRESS_NOT_AVAILABLE,
            HostError::Unreachable(_) => Self::NETWORK_UNREACHABLE,
            HostError::Unknown => Self::NOT_CONNECTED,
            HostError::NotWritable | HostError::Ended(_) => Self::PIPE,
            // Those of datagrams, of which there are none here.
            _ => Self::INVALID,
        }
    }
}

impl Sockets {
    /// The error that the next call on a socket reports.
    pub(super) fn pending_error(&self, socket: &Socket) -> Option<Errno> {
        let Role::Connected(id) = socket.role else {
            return None;
        };
        let opened = self.host.readiness(id)?.opened;
        self.host.connection(id).filter(|_| !socket.end_reported).and_then(|tcp| how_it_ended(tcp, opened))
    }

    /// Removes and returns the pending error.
    pub(super) fn take_error(&mut self, fd: Fd) -> Outcome<Option<Errno>> {
        let error = self.pending_error(self.socket_of(fd)?);
        self.socket_mut(fd)?.end_reported |= error.is_some();
        Ok(error)
    }
}

/// The error if a connection did not end with two FINs. `opened`: its handshake was done.
fn how_it_ended(tcp: &tcp::Connection, opened: bool) -> Option<Errno> {
    let State::Closed(how) = tcp.state() else {
        return None;
    };
    let endpoint = tcp.endpoint();
    match how {
        Closed::ByReset if !opened => Some(Errno::CONNECTION_REFUSED),
        // It was in CLOSE-WAIT (Linux `tcp_reset`).
        Closed::ByReset if endpoint.receiver().finished() && endpoint.sender().fin().is_none() => Some(Errno::PIPE),
        Closed::ByReset => Some(Errno::CONNECTION_RESET),
        Closed::ByTimeout => Some(Errno::TIMED_OUT),
        Closed::Unreachable(why) => Some(unreachable(why)),
        Closed::Gracefully | Closed::ByAbort => None,
    }
}

/// The error that Linux makes of an ICMP message (`icmp_err_convert`).
const fn unreachable(why: Unreachable) -> Errno {
    match why {
        Unreachable::Net => Errno::NETWORK_UNREACHABLE,
        Unreachable::Host => Errno::HOST_UNREACHABLE,
        Unreachable::Protocol => Errno::NO_PROTOCOL_OPTION,
        Unreachable::Port => Errno::CONNECTION_REFUSED,
        Unreachable::Prohibited => Errno::ACCESS,
    }
}
