//! Functions of the C library this library stands in front of when it is preloaded.
//!
//! packetdrill calls two functions of the C library past the table it was given: `getsockopt`, to
//! read `TCP_INFO` for the code in its scripts, and `sendfile`. Preloaded (`LD_PRELOAD`), this
//! library answers for the descriptors that are its own and passes every other call on.

use crate::{
    calls::{nothing, option, size, write_file},
    errno::Errno,
    runtime::RUNTIME,
};
use libc::{c_int, c_void, off_t, size_t, socklen_t, ssize_t};
use std::{ffi::CStr, sync::OnceLock};

type GetSockOpt = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int;
type SendFile = unsafe extern "C" fn(c_int, c_int, *mut off_t, size_t) -> ssize_t;

/// The next function called `name` in the order in which libraries are searched, after this one.
fn next(name: &'static CStr) -> *mut c_void {
    // SAFETY: `name` is a C string that lives forever.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// `getsockopt`.
///
/// # Safety
/// As for the C library's: `value` has room for as many bytes as `len` says.
// SAFETY: it has the type of the C library's, in front of which it is to stand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    static NEXT: OnceLock<Option<GetSockOpt>> = OnceLock::new();
    if RUNTIME.knows(fd) {
        // SAFETY: as the caller says.
        return nothing(unsafe { option(fd, level, name, value, len) });
    }
    let next = NEXT.get_or_init(|| {
        let found = next(c"getsockopt");
        // SAFETY: the C library's function of that name has this type; null becomes `None`.
        unsafe { std::mem::transmute::<*mut c_void, Option<GetSockOpt>>(found) }
    });
    match next {
        // SAFETY: the caller promises what the C library asks for.
        Some(next) => unsafe { next(fd, level, name, value, len) },
        None => nothing(Err(Errno::NOT_SUPPORTED)),
    }
}

/// `sendfile`.
///
/// # Safety
/// As for the C library's: `offset` is null or points to an offset.
// SAFETY: it has the type of the C library's, in front of which it is to stand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
    static NEXT: OnceLock<Option<SendFile>> = OnceLock::new();
    if RUNTIME.knows(to) {
        // SAFETY: as the caller says.
        return size(unsafe { write_file(to, from, offset, count) });
    }
    let next = NEXT.get_or_init(|| {
        let found = next(c"sendfile");
        // SAFETY: the C library's function of that name has this type; null becomes `None`.
        unsafe { std::mem::transmute::<*mut c_void, Option<SendFile>>(found) }
    });
    match next {
        // SAFETY: the caller promises what the C library asks for.
        Some(next) => unsafe { next(to, from, offset, count) },
        None => size(Err(Errno::NOT_SUPPORTED)),
    }
}
