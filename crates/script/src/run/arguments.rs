//! The values of arguments: numbers, Linux's constants, lengths.

use super::{Runner, Stop};
use crate::{
    error::{Place, Wrong, wrong},
    script::{Call, Expression},
};

/// Linux's constants (x86) by name.
const CONSTANTS: [(&str, i64); 76] = [
    ("AF_INET", 2),
    ("AF_INET6", 10),
    ("PF_INET", 2),
    ("PF_INET6", 10),
    ("SOCK_STREAM", 1),
    ("SOCK_DGRAM", 2),
    ("SOCK_NONBLOCK", 0o4000),
    ("SOCK_CLOEXEC", 0o2_000_000),
    ("IPPROTO_IP", 0),
    ("IPPROTO_TCP", 6),
    ("IPPROTO_UDP", 17),
    ("IPPROTO_IPV6", 41),
    ("SOL_IP", 0),
    ("SOL_TCP", 6),
    ("SOL_SOCKET", 1),
    ("SO_REUSEADDR", 2),
    ("SO_ERROR", 4),
    ("SO_SNDBUF", 7),
    ("SO_RCVBUF", 8),
    ("SO_KEEPALIVE", 9),
    ("SO_PRIORITY", 12),
    ("SO_LINGER", 13),
    ("SO_REUSEPORT", 15),
    ("SO_RCVLOWAT", 18),
    ("SO_SNDTIMEO", 21),
    ("SO_RCVTIMEO", 20),
    ("SO_SNDBUFFORCE", 32),
    ("SO_RCVBUFFORCE", 33),
    ("SO_MARK", 36),
    ("SO_TIMESTAMPING", 37),
    ("SO_MAX_PACING_RATE", 47),
    ("SO_ZEROCOPY", 60),
    ("IP_TOS", 1),
    ("IP_MTU_DISCOVER", 10),
    ("IP_PMTUDISC_DONT", 0),
    ("TCP_NODELAY", 1),
    ("TCP_MAXSEG", 2),
    ("TCP_CORK", 3),
    ("TCP_KEEPIDLE", 4),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 6),
    ("TCP_SYNCNT", 7),
    ("TCP_LINGER2", 8),
    ("TCP_DEFER_ACCEPT", 9),
    ("TCP_WINDOW_CLAMP", 10),
    ("TCP_INFO", 11),
    ("TCP_QUICKACK", 12),
    ("TCP_CONGESTION", 13),
    ("TCP_THIN_LINEAR_TIMEOUTS", 16),
    ("TCP_USER_TIMEOUT", 18),
    ("TCP_FASTOPEN", 23),
    ("TCP_NOTSENT_LOWAT", 25),
    ("TCP_FASTOPEN_CONNECT", 30),
    ("TCP_INQ", 36),
    ("F_GETFD", 1),
    ("F_SETFD", 2),
    ("F_GETFL", 3),
    ("F_SETFL", 4),
    ("O_RDONLY", 0),
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_NONBLOCK", 0o4000),
    ("SHUT_RD", 0),
    ("SHUT_WR", 1),
    ("SHUT_RDWR", 2),
    ("MSG_PEEK", 2),
    ("MSG_TRUNC", 0x20),
    ("MSG_DONTWAIT", 0x40),
    ("MSG_WAITALL", 0x100),
    ("MSG_NOSIGNAL", 0x4000),
    ("MSG_MORE", 0x8000),
    ("MSG_ZEROCOPY", 0x0400_0000),
    ("SIOCINQ", 0x541b),
    ("SIOCOUTQ", 0x5411),
    ("SIOCOUTQNSD", 0x894b),
    ("FIONREAD", 0x541b),
];

/// The events of poll; epoll has the same and some of its own.
pub(super) const EVENTS: [(&str, i64); 9] = [
    ("POLLIN", 1),
    ("POLLPRI", 2),
    ("POLLOUT", 4),
    ("POLLERR", 8),
    ("POLLHUP", 0x10),
    ("POLLRDNORM", 0x40),
    ("POLLWRNORM", 0x100),
    ("POLLRDHUP", 0x2000),
    ("EPOLLET", 1 << 31),
];

const EPOLL: [(&str, i64); 4] =
    [("EPOLL_CTL_ADD", 1), ("EPOLL_CTL_DEL", 2), ("EPOLL_CTL_MOD", 3), ("EPOLLONESHOT", 1 << 30)];

fn constant(name: &str) -> Option<i64> {
    let of_poll = match name.strip_prefix("EPOLL") {
        Some(rest) if !rest.starts_with('_') => EVENTS.iter().find(|(n, _)| n.strip_prefix("POLL") == Some(rest)),
        _ => None,
    };
    let mut all = CONSTANTS.iter().chain(&EVENTS).chain(&EPOLL);
    all.find(|(n, _)| *n == name).or(of_poll).map(|(_, value)| *value)
}

/// The name of a constant, if the value is one.
pub(super) fn word(value: &Expression) -> &str {
    match value {
        Expression::Word(word) => word,
        _ => "",
    }
}

impl Runner<'_> {
    /// A number, or constants joined by `|`.
    pub fn integer(value: &Expression, place: Place) -> Result<i64, Stop> {
        match value {
            Expression::Integer(n) => Ok(*n),
            Expression::Word(word) => constant(word).ok_or_else(|| {
                let known = CONSTANTS.iter().chain(&EVENTS).chain(&EPOLL).map(|(n, _)| *n);
                let hint = crate::error::did_you_mean(word, known);
                Wrong::new(place, format!("unknown constant `{word}`{hint}")).into()
            }),
            Expression::Or(parts) => parts.iter().try_fold(0, |all, part| Ok(all | Self::integer(part, place)?)),
            Expression::Apply(name, list) if name == "htons" && list.len() == 1 => Self::integer(&list[0], place),
            // `[4]`: what a pointer points to.
            Expression::List(list) if list.len() == 1 => Self::integer(&list[0], place),
            _ => wrong(place, "expected a number, or constants joined by `|`"),
        }
    }

    /// The argument at `index`; `what` describes it in errors.
    pub fn argument<'c>(&self, call: &'c Call, index: usize, what: &str) -> Result<(&'c Expression, Place), Stop> {
        let argument = call.arguments.get(index);
        argument.map(|a| (&a.value, a.place)).ok_or_else(|| {
            let message = format!("`{}`: expected {what} as argument {}", call.name, index + 1);
            Wrong::new(self.place, message).into()
        })
    }

    pub fn number(&self, call: &Call, index: usize, what: &str) -> Result<i64, Stop> {
        let (value, place) = self.argument(call, index, what)?;
        Self::integer(value, place)
    }

    /// A length in bytes, at most 2³⁰.
    pub fn length(&self, call: &Call, index: usize) -> Result<u64, Stop> {
        let (value, place) = self.argument(call, index, "a number of bytes")?;
        self.bytes(value, place)
    }

    fn bytes(&self, value: &Expression, place: Place) -> Result<u64, Stop> {
        let n = Self::integer(value, place)?;
        u64::try_from(n)
            .ok()
            .filter(|n| *n <= 1 << 30)
            .ok_or_else(|| Wrong::new(place, format!("{n}: expected a number of bytes up to 2^30")).into())
    }

    /// The bytes of `[{..., 1000}, {..., 500}]`.
    pub fn vector(&self, value: &Expression, place: Place) -> Result<u64, Stop> {
        let wrong = || Stop::from(Wrong::new(place, "expected buffers and their lengths: `[{..., 1000}]`"));
        let Expression::List(parts) = value else {
            return Err(wrong());
        };
        parts.iter().try_fold(0_u64, |sum, part| match part {
            Expression::Struct(fields) if fields.len() == 2 => {
                Ok(sum.saturating_add(self.bytes(&fields[1], place)?).min(1 << 30))
            }
            _ => Err(wrong()),
        })
    }

    /// The bytes of a message: `{msg_name(...)=..., msg_iov(1)=[{..., 1000}], msg_flags=0}`.
    pub fn message(&self, call: &Call, index: usize) -> Result<u64, Stop> {
        let (value, place) = self.argument(call, index, "a message")?;
        match value.field("msg_iov") {
            Some(vector) => self.vector(vector, place),
            None => wrong(place, "expected a message: `{msg_name(...)=..., msg_iov(1)=[{..., 1000}], msg_flags=0}`"),
        }
    }
}
