//! Error numbers, as system calls return them.

/// An error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

/// The result of a system call, or its error number.
pub type Outcome<T> = Result<T, Errno>;

macro_rules! errnos {
    ($($name:ident = $value:ident,)*) => {
        impl Errno {
            $(#[doc = concat!("`", stringify!($value), "`.")]
            pub const $name: Self = Self(libc::$value);)*
        }
    };
}

errnos! {
    ACCESS = EACCES,
    ADDRESS_FAMILY = EAFNOSUPPORT,
    ADDRESS_IN_USE = EADDRINUSE,
    ADDRESS_NOT_AVAILABLE = EADDRNOTAVAIL,
    AGAIN = EAGAIN,
    ALREADY = EALREADY,
    BAD_DESCRIPTOR = EBADF,
    CONNECTION_REFUSED = ECONNREFUSED,
    CONNECTION_RESET = ECONNRESET,
    FAULT = EFAULT,
    EXISTS = EEXIST,
    HOST_UNREACHABLE = EHOSTUNREACH,
    IN_PROGRESS = EINPROGRESS,
    INVALID = EINVAL,
    IS_CONNECTED = EISCONN,
    NETWORK_UNREACHABLE = ENETUNREACH,
    NO_ENTRY = ENOENT,
    NO_PROTOCOL_OPTION = ENOPROTOOPT,
    NOT_CONNECTED = ENOTCONN,
    NOT_SOCKET = ENOTSOCK,
    NOT_SUPPORTED = EOPNOTSUPP,
    PIPE = EPIPE,
    PROTOCOL = EPROTONOSUPPORT,
    TIMED_OUT = ETIMEDOUT,
}
