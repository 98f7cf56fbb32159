//! Calls that wait for events, and pipes.

use super::{nothing, number, size};
use crate::{
    errno::{Errno, Outcome},
    runtime::RUNTIME,
    sockets::{Interest, Sockets},
};
use libc::{c_int, c_uint, c_void, epoll_event, loff_t, nfds_t, pollfd, size_t, ssize_t};
use std::time::Duration;

/// Runs a call that waits for an event, for at most `timeout` ms unless that is negative.
fn wait<T: Default>(timeout: c_int, call: impl FnMut(&mut Sockets) -> Outcome<T>) -> Outcome<T> {
    let limit = u64::try_from(timeout).ok().map(Duration::from_millis);
    RUNTIME.wait(limit, call, || Ok(T::default()))
}

pub(super) unsafe extern "C" fn poll(_: *mut c_void, fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    let fds: &mut [pollfd] = match (fds.is_null(), count) {
        (_, 0) => &mut [],
        (true, _) => return nothing(Err(Errno::FAULT)),
        // SAFETY: not null, and the caller hands over `count` of them for its own use.
        (false, _) => unsafe { std::slice::from_raw_parts_mut(fds, count) },
    };
    number(wait(timeout, |sockets| {
        let mut ready = 0;
        for entry in fds.iter_mut().filter(|entry| entry.fd >= 0) {
            let events = u32::from(entry.events.cast_unsigned());
            entry.revents = sockets.poll(entry.fd, events) as i16;
            ready += i32::from(entry.revents != 0);
        }
        match ready {
            0 => Err(Errno::AGAIN),
            ready => Ok(ready),
        }
    }))
}

pub(super) unsafe extern "C" fn epoll_create(_: *mut c_void, count: c_int) -> c_int {
    match count {
        ..=0 => number::<i32>(Err(Errno::INVALID)),
        _ => number(RUNTIME.call(Sockets::epoll_create)),
    }
}

pub(super) unsafe extern "C" fn epoll_ctl(
    _: *mut c_void,
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    let interest = (!event.is_null()).then(|| {
        // SAFETY: not null, and the caller hands over an event.
        let event = unsafe { event.read_unaligned() };
        Interest { events: event.events, data: event.u64 }
    });
    let interest = || interest.ok_or(Errno::FAULT);
    nothing(RUNTIME.call(|sockets| match operation {
        libc::EPOLL_CTL_ADD => sockets.epoll_add(epoll, fd, interest()?),
        libc::EPOLL_CTL_MOD => sockets.epoll_modify(epoll, fd, interest()?),
        libc::EPOLL_CTL_DEL => sockets.epoll_remove(epoll, fd),
        _ => Err(Errno::INVALID),
    }))
}

pub(super) unsafe extern "C" fn epoll_wait(
    _: *mut c_void,
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let Some(most) = usize::try_from(most).ok().filter(|most| *most > 0) else {
        return number::<i32>(Err(Errno::INVALID));
    };
    let happened = wait(timeout, |sockets| match sockets.epoll_events(epoll, most)? {
        none if none.is_empty() => Err(Errno::AGAIN),
        some => Ok(some),
    });
    number(happened.and_then(|happened| {
        if events.is_null() && !happened.is_empty() {
            return Err(Errno::FAULT);
        }
        for (i, interest) in happened.iter().enumerate() {
            let event = epoll_event { events: interest.events, u64: interest.data };
            // SAFETY: the caller has room for `most` events, and `i` is less.
            unsafe { events.add(i).write_unaligned(event) };
        }
        Ok(happened.len() as i32)
    }))
}

pub(super) unsafe extern "C" fn pipe(_: *mut c_void, fds: *mut c_int) -> c_int {
    if fds.is_null() {
        return nothing(Err(Errno::FAULT));
    }
    nothing(RUNTIME.call(Sockets::pipe).map(|ends| {
        // SAFETY: not null, and the caller has room for two descriptors.
        unsafe { fds.cast::<[c_int; 2]>().write_unaligned(ends) };
    }))
}

pub(super) unsafe extern "C" fn splice(
    _: *mut c_void,
    from: c_int,
    _from_offset: *mut loff_t,
    to: c_int,
    _to_offset: *mut loff_t,
    count: size_t,
    flags: c_uint,
) -> ssize_t {
    let at_once = flags & libc::SPLICE_F_NONBLOCK != 0;
    let call = |sockets: &mut Sockets| sockets.splice(from, to, count);
    size(if at_once { RUNTIME.call(call) } else { RUNTIME.wait(None, call, || Err(Errno::AGAIN)) })
}
