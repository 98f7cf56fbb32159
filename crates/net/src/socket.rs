//! Options of the kernel's sockets that rustix lacks.

use std::{
    io,
    net::UdpSocket,
    os::fd::{AsFd, AsRawFd},
};

/// Sets how many bytes wake the reader of a socket (SO_RCVLOWAT, socket(7)): 1 to 1 MiB; others become the nearest of
/// these. The end of the stream wakes it, too.
///
/// # Errors
/// When the system refuses.
pub fn set_receive_low_water_mark(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    let bytes = i32::try_from(bytes.clamp(1, 1 << 20)).unwrap_or(1);
    // SAFETY: SO_RCVLOWAT reads an int, which lives until the call returns, from a socket that is
    // open for as long.
    let set = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const bytes).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number of the calling thread's network namespace, which no other has as long as the machine runs
/// (SO_NETNS_COOKIE, Linux 5.14).
///
/// # Errors
/// When there is no socket, or the kernel is older.
pub fn namespace_cookie() -> io::Result<u64> {
    // A socket belongs to the namespace of the thread that opens it.
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes of the number, which lives until the call returns, and the
    // socket is open for as long.
    let got = unsafe {
        let value = (&raw mut cookie).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NETNS_COOKIE, value, &raw mut length)
    };
    match got {
        0 => Ok(cookie),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Namespace;

    #[test]
    fn each_namespace_has_a_cookie_of_its_own() {
        let own = namespace_cookie().unwrap();
        assert_eq!(namespace_cookie().unwrap(), own);
        match Namespace::new() {
            Ok(other) => assert_ne!(other.run(namespace_cookie).unwrap().unwrap(), own),
            Err(why) => recoup_testing::skip(why),
        }
    }
}
