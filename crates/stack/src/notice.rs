//! What happens to a stack as a whole.

use std::{fmt, io, net::SocketAddr};

/// Something that happened to a stack or its device. As text it is one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// It does not work. The stack goes on trying, and connections wait.
    Down(io::Error),
    /// It works again.
    Up,
    /// It is gone, and all connections with it.
    Gone(String),
    /// It takes packets of another size.
    Mtu {
        /// Bytes of the longest packet before.
        from: u16,
        /// And now.
        to: u16,
    },
    /// So many handshakes to this address are not done that further SYNs are answered with SYN cookies.
    SynFlood(SocketAddr),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down(error) => write!(f, "the device does not work: {error}; connections wait until it does"),
            Self::Up => f.write_str("the device works again"),
            Self::Gone(error) => write!(f, "the device is gone: {error}; all connections are over"),
            Self::Mtu { from, to } => write!(f, "the device's MTU is {to} bytes now, after {from}"),
            Self::SynFlood(at) => {
                write!(
                    f,
                    "{at}: more connections begin than the backlog permits, perhaps a flood; SYN cookies answer them"
                )
            }
        }
    }
}
