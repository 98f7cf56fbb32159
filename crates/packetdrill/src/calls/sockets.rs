//! Calls on sockets: create, connect, close, options.

use super::{addresses, memory, nothing, number};
use crate::{
    errno::{Errno, Outcome},
    runtime::RUNTIME,
    sockets::Sockets,
    sysctl,
};
use libc::{c_int, c_ulong, c_void, sockaddr, socklen_t};

/// `SIOCOUTQNSD`, which the libc crate does not name.
const SIOCOUTQNSD: c_ulong = 0x894b;

pub(super) unsafe extern "C" fn socket(_: *mut c_void, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let v6 = match domain {
        libc::AF_INET => false,
        libc::AF_INET6 => true,
        _ => return number::<i32>(Err(Errno::ADDRESS_FAMILY)),
    };
    if kind & !flags != libc::SOCK_STREAM || ![0, libc::IPPROTO_TCP].contains(&protocol) {
        return number::<i32>(Err(Errno::PROTOCOL));
    }
    let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
    let sysctls = sysctl::of_this_machine();
    number(RUNTIME.call(|sockets| sockets.socket(v6, nonblocking, sysctls)))
}

pub(super) unsafe extern "C" fn bind(_: *mut c_void, fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the caller hands over an address of `len` bytes.
    let address = unsafe { addresses::read(address, len) };
    nothing(address.and_then(|address| RUNTIME.call(|sockets| sockets.bind(fd, address))))
}

pub(super) unsafe extern "C" fn listen(_: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    nothing(RUNTIME.call(|sockets| sockets.listen(fd, backlog)))
}

pub(super) unsafe extern "C" fn accept(
    _: *mut c_void,
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    let accepted = waiting(fd, 0, |sockets| sockets.accept(fd));
    number(accepted.and_then(|(new, peer)| {
        // SAFETY: the caller hands over room for an address and its length, or null.
        unsafe { addresses::write(peer, address, len) }?;
        Ok(new)
    }))
}

pub(super) unsafe extern "C" fn connect(_: *mut c_void, fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the caller hands over an address of `len` bytes.
    let address = unsafe { addresses::read(address, len) };
    nothing(address.and_then(|to| match RUNTIME.call(|sockets| sockets.connect(fd, to)) {
        Err(Errno::IN_PROGRESS) => {
            waiting(fd, 0, |sockets| sockets.connected(fd, Errno::AGAIN)).map_err(|error| match error {
                Errno::AGAIN => Errno::IN_PROGRESS,
                other => other,
            })
        }
        done => done,
    }))
}

/// Runs a call that waits, unless the descriptor or `flags` (`MSG_DONTWAIT`) forbid it.
pub(super) fn waiting<T>(fd: c_int, flags: c_int, mut call: impl FnMut(&mut Sockets) -> Outcome<T>) -> Outcome<T> {
    let at_once = flags & libc::MSG_DONTWAIT != 0 || RUNTIME.call(|sockets| Ok(sockets.is_nonblocking(fd)))?;
    if at_once { RUNTIME.call(&mut call) } else { RUNTIME.wait(None, call, || Err(Errno::AGAIN)) }
}

/// `fcntl`, whose third argument is a number for all supported commands. In C it is variadic: without a
/// third argument, `argument` holds whatever its register does, and is not read.
pub(super) unsafe extern "C" fn fcntl(_: *mut c_void, fd: c_int, command: c_int, argument: c_int) -> c_int {
    match command {
        libc::F_GETFL => number(RUNTIME.call(|sockets| {
            if !sockets.knows(fd) {
                return Err(Errno::BAD_DESCRIPTOR);
            }
            let nonblocking = if sockets.is_nonblocking(fd) { libc::O_NONBLOCK } else { 0 };
            Ok(libc::O_RDWR | nonblocking)
        })),
        libc::F_SETFL => {
            let nonblocking = argument & libc::O_NONBLOCK != 0;
            nothing(RUNTIME.call(|sockets| sockets.set_nonblocking(fd, nonblocking)))
        }
        libc::F_GETFD | libc::F_SETFD => 0,
        _ => number::<i32>(Err(Errno::INVALID)),
    }
}

/// `ioctl`, whose third argument points to a number for all supported requests.
pub(super) unsafe extern "C" fn ioctl(_: *mut c_void, fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // packetdrill passes an `int`, which may arrive sign-extended.
    let known = RUNTIME.call(|sockets| match request & 0xffff_ffff {
        libc::FIONREAD => sockets.inq(fd),
        libc::TIOCOUTQ => sockets.outq(fd),
        SIOCOUTQNSD => sockets.outq_unsent(fd),
        _ => Err(Errno::INVALID),
    });
    nothing(known.map(|value| {
        // SAFETY: for these requests the caller hands over room for an int, or null.
        unsafe { memory::put(argument.cast::<c_int>(), value) };
    }))
}

pub(super) unsafe extern "C" fn close(_: *mut c_void, fd: c_int) -> c_int {
    nothing(RUNTIME.call(|sockets| sockets.close(fd)).inspect(|()| {
        // SAFETY: `Sockets` made the descriptor to keep its number, and has just forgotten it; if
        // somebody has closed it behind our back, closing it again fails and does nothing else.
        unsafe { libc::close(fd) };
    }))
}

pub(super) unsafe extern "C" fn shutdown(_: *mut c_void, fd: c_int, how: c_int) -> c_int {
    let (read, write) = match how {
        libc::SHUT_RD => (true, false),
        libc::SHUT_WR => (false, true),
        libc::SHUT_RDWR => (true, true),
        _ => return nothing(Err(Errno::INVALID)),
    };
    nothing(RUNTIME.call(|sockets| sockets.shutdown(fd, read, write)))
}

pub(super) unsafe extern "C" fn getsockopt(
    _: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller hands over room for a value and its length.
    nothing(unsafe { option(fd, level, name, value, len) })
}

/// Writes the value of an option, truncated to the requested length.
///
/// # Safety
/// `len` is null, or `*len` bytes can be written at `value`; `value` may be null if `*len` is 0.
pub(crate) unsafe fn option(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> Outcome<()> {
    let bytes = RUNTIME.call(|sockets| sockets.option(fd, level, name))?;
    if len.is_null() {
        return Err(Errno::FAULT);
    }
    // SAFETY: not null, and the caller says that a length can be read there.
    let count = bytes.len().min(unsafe { len.read_unaligned() } as usize);
    // SAFETY: the caller says that as many bytes can be written, and `count` is not more.
    let out = unsafe { memory::room(value, count) }?;
    out.copy_from_slice(&bytes[..count]);
    // SAFETY: the caller says that the length can be written.
    unsafe { memory::put(len, count as socklen_t) };
    Ok(())
}

pub(super) unsafe extern "C" fn setsockopt(
    _: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: the caller hands over a value of `len` bytes.
    let value = unsafe { memory::bytes(value, len as usize) };
    nothing(value.and_then(|value| RUNTIME.call(|sockets| sockets.set_option(fd, level, name, value))))
}
