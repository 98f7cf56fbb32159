//! An option of the kernel's sockets that rustix lacks.

use std::{
    io,
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
