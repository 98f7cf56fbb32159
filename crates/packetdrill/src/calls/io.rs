//! All system calls that read and write.

use super::{memory, size, sockets::waiting};
use crate::{
    errno::{Errno, Outcome},
    sockets::{Received, SendFlags},
};
use libc::{c_int, c_void, cmsghdr, iovec, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};

/// `TCP_CM_INQ`: the control message with the number of bytes left to read.
const TCP_CM_INQ: c_int = 36;

/// Receives up to `count` bytes. Without `room` for them, they stay in the receive buffer.
fn receive(fd: c_int, count: usize, room: bool, flags: c_int) -> Outcome<Received> {
    let peek = flags & libc::MSG_PEEK != 0 || !room;
    waiting(fd, flags, |sockets| sockets.receive_message(fd, count, peek))
}

/// Writes all of `bytes` if the call may wait, or else as many as fit.
fn transmit(fd: c_int, bytes: &[u8], flags: c_int) -> Outcome<usize> {
    let how = SendFlags { more: flags & libc::MSG_MORE != 0, end_of_record: flags & libc::MSG_EOR != 0 };
    let mut done = 0;
    let result = waiting(fd, flags, |sockets| {
        done += sockets.send(fd, &bytes[done..], how)?;
        if done == bytes.len() || sockets.is_nonblocking(fd) || flags & libc::MSG_DONTWAIT != 0 {
            Ok(done)
        } else {
            Err(Errno::AGAIN)
        }
    });
    // A partial write is reported before its error.
    result.or(if done > 0 { Ok(done) } else { result })
}

pub(super) unsafe extern "C" fn read(_: *mut c_void, fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {
    // SAFETY: the caller hands over room for `count` bytes.
    size(unsafe { receive_into(fd, buffer, count, 0) })
}

/// # Safety
/// `buffer` is null or `count` bytes can be written there.
unsafe fn receive_into(fd: c_int, buffer: *mut c_void, count: size_t, flags: c_int) -> Outcome<usize> {
    let Received { bytes, .. } = receive(fd, count, !buffer.is_null(), flags)?;
    // SAFETY: no more than `count` bytes were received, for which the caller says there is room.
    let out = unsafe { memory::room(buffer, bytes.len()) }?;
    out.copy_from_slice(&bytes);
    Ok(bytes.len())
}

/// # Safety
/// Each of `buffers` is null or valid for writes of its length.
unsafe fn receive_spread(fd: c_int, buffers: &[iovec], flags: c_int) -> Outcome<Received> {
    let room = buffers.iter().all(|part| !part.iov_base.is_null());
    let received = receive(fd, memory::capacity(buffers), room, flags)?;
    // SAFETY: the caller says that the buffers have the room.
    unsafe { memory::scatter(buffers, &received.bytes) }?;
    Ok(received)
}

pub(super) unsafe extern "C" fn readv(_: *mut c_void, fd: c_int, buffers: *const iovec, count: c_int) -> ssize_t {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller hands over `count` buffers with the room each says it has.
    size(unsafe { memory::vector(buffers, count).and_then(|buffers| Ok(receive_spread(fd, buffers, 0)?.bytes.len())) })
}

pub(super) unsafe extern "C" fn recv(
    _: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller hands over room for `count` bytes.
    size(unsafe { receive_into(fd, buffer, count, flags) })
}

pub(super) unsafe extern "C" fn recvfrom(
    _: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    flags: c_int,
    _from: *mut sockaddr,
    len: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller hands over room for `count` bytes, and for a length or null; a stream's
    // peer is not named.
    size(unsafe {
        memory::put(len, 0);
        receive_into(fd, buffer, count, flags)
    })
}

pub(super) unsafe extern "C" fn recvmsg(_: *mut c_void, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller hands over a message header, or null, that nobody else uses.
    let Some(message) = (unsafe { message.as_mut() }) else {
        return size(Err(Errno::FAULT));
    };
    if flags & libc::MSG_ERRQUEUE != 0 {
        return size(Err(Errno::AGAIN)); // the error queue is always empty
    }
    // SAFETY: the header names buffers with the room each says it has.
    let received = unsafe {
        memory::vector(message.msg_iov, message.msg_iovlen).and_then(|buffers| receive_spread(fd, buffers, flags))
    };
    size(received.and_then(|received| {
        message.msg_flags = 0;
        // SAFETY: the header says how many bytes there are for control messages.
        unsafe { put_inq(message, received.inq) }?;
        Ok(received.bytes.len())
    }))
}

/// Writes the control message with the number of bytes left to read, if it is requested and fits.
///
/// # Safety
/// `message.msg_controllen` bytes can be written at `message.msg_control`.
unsafe fn put_inq(message: &mut msghdr, inq: Option<i32>) -> Outcome<()> {
    // SAFETY: computes a length and looks at nothing.
    let len = unsafe { libc::CMSG_LEN(size_of::<c_int>() as u32) } as usize;
    let Some(inq) = inq.filter(|_| message.msg_controllen >= len) else {
        message.msg_controllen = 0;
        return Ok(());
    };
    // SAFETY: the caller says that there are that many bytes.
    let out = unsafe { memory::room(message.msg_control, len) }?;
    let data = len - size_of::<c_int>();
    let fields = [libc::IPPROTO_TCP, TCP_CM_INQ];
    out[..size_of::<usize>()].copy_from_slice(&len.to_ne_bytes());
    for (field, at) in fields.iter().zip([size_of::<usize>(), size_of::<usize>() + 4]) {
        out[at..at + 4].copy_from_slice(&field.to_ne_bytes());
    }
    out[data..].copy_from_slice(&inq.to_ne_bytes());
    // SAFETY: computes a length and looks at nothing.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<c_int>() as u32) } as usize;
    Ok(())
}

// The header of a control message is a length and two numbers, as written above.
const _: () = assert!(size_of::<cmsghdr>() == size_of::<usize>() + 8);

pub(super) unsafe extern "C" fn write(_: *mut c_void, fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    // SAFETY: the caller hands over `count` bytes.
    size(unsafe { memory::bytes(buffer, count) }.and_then(|bytes| transmit(fd, bytes, 0)))
}

pub(super) unsafe extern "C" fn writev(_: *mut c_void, fd: c_int, buffers: *const iovec, count: c_int) -> ssize_t {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller hands over `count` buffers that hold what each says.
    let bytes = unsafe { memory::vector(buffers, count).and_then(|v| memory::gather(v)) };
    size(bytes.and_then(|bytes| transmit(fd, &bytes, 0)))
}

pub(super) unsafe extern "C" fn send(
    _: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller hands over `count` bytes.
    size(unsafe { memory::bytes(buffer, count) }.and_then(|bytes| transmit(fd, bytes, flags)))
}

pub(super) unsafe extern "C" fn sendto(
    _: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    flags: c_int,
    _to: *const sockaddr,
    _len: socklen_t,
) -> ssize_t {
    if flags & libc::MSG_FASTOPEN != 0 {
        return size(Err(Errno::NOT_SUPPORTED));
    }
    // SAFETY: the caller hands over `count` bytes; a connected stream's address is not looked at.
    size(unsafe { memory::bytes(buffer, count) }.and_then(|bytes| transmit(fd, bytes, flags)))
}

pub(super) unsafe extern "C" fn sendmsg(_: *mut c_void, fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller hands over a message header, or null.
    let Some(message) = (unsafe { message.as_ref() }) else {
        return size(Err(Errno::FAULT));
    };
    if flags & libc::MSG_FASTOPEN != 0 {
        return size(Err(Errno::NOT_SUPPORTED));
    }
    // SAFETY: the header names buffers that hold what each says.
    let bytes = unsafe { memory::vector(message.msg_iov, message.msg_iovlen).and_then(|v| memory::gather(v)) };
    size(bytes.and_then(|bytes| transmit(fd, &bytes, flags)))
}

/// Sends up to `count` bytes of the file `from`. They start at `offset`, which then advances, or at the
/// file's own position if `offset` is null.
///
/// # Safety
/// `offset` is null or points to an offset that nothing else uses.
pub(crate) unsafe fn write_file(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> Outcome<usize> {
    const MOST: usize = 1 << 20;
    let mut buffer = vec![0u8; count.min(MOST)];
    // SAFETY: the buffer has room for its length, and `offset`, where not null, can be read.
    let got = unsafe {
        if offset.is_null() {
            libc::read(from, buffer.as_mut_ptr().cast(), buffer.len())
        } else {
            libc::pread(from, buffer.as_mut_ptr().cast(), buffer.len(), *offset)
        }
    };
    let got = usize::try_from(got).map_err(|_| {
        let error = std::io::Error::last_os_error();
        Errno(error.raw_os_error().unwrap_or(libc::EIO))
    })?;
    let sent = transmit(to, &buffer[..got], 0)?;
    if !offset.is_null() {
        // SAFETY: not null, and the caller says that it is ours to write.
        unsafe { *offset += sent as off_t };
    }
    Ok(sent)
}
