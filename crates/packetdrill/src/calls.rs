//! The functions of packetdrill's table: they translate raw arguments into safe calls on the sockets.
//!
//! packetdrill calls each function with the arguments of the system call it implements. Each function keeps
//! that call's contract: it reads and writes memory only within the lengths passed with the pointers.

mod addresses;
mod events;
mod io;
mod memory;
mod network;
mod sockets;

use crate::{
    errno::{Errno, Outcome},
    interface::Interface,
    runtime::RUNTIME,
    settings::Settings,
};
pub(crate) use io::write_file;
use std::ffi::CStr;
use std::io::Write;

use libc::{c_char, c_int, c_void, ssize_t};
pub(crate) use sockets::option;

/// Fills in packetdrill's table. Invalid settings end the process with a message, as in packetdrill
/// itself.
///
/// # Safety
/// `flags` is null or a C string. `table` points to packetdrill's table, which nothing else uses during
/// the call.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(flags: *const c_char, table: *mut Interface) {
    let flags = match flags.is_null() {
        true => c"",
        // SAFETY: not null, so the caller guarantees a C string.
        false => unsafe { CStr::from_ptr(flags) },
    };
    let variable = |name: &str| std::env::var(name).ok();
    match Settings::of(&flags.to_string_lossy(), variable) {
        Ok(settings) => RUNTIME.begin(settings),
        Err(error) => {
            // Where standard error is closed, the exit status has to do.
            let _ = writeln!(std::io::stderr(), "recoup: {error}");
            std::process::exit(2);
        }
    }
    // SAFETY: the caller guarantees that `table` points to a table and is its only user. The fields
    // have no destructors, so the old contents can be overwritten.
    unsafe { table.write(filled()) };
}

/// The table.
pub(crate) fn filled() -> Interface {
    Interface {
        userdata: std::ptr::null_mut(),
        free,
        socket: sockets::socket,
        bind: sockets::bind,
        listen: sockets::listen,
        accept: sockets::accept,
        connect: sockets::connect,
        read: io::read,
        readv: io::readv,
        recv: io::recv,
        recvfrom: io::recvfrom,
        recvmsg: io::recvmsg,
        write: io::write,
        writev: io::writev,
        send: io::send,
        sendto: io::sendto,
        sendmsg: io::sendmsg,
        fcntl: sockets::fcntl,
        ioctl: sockets::ioctl,
        close: sockets::close,
        shutdown: sockets::shutdown,
        getsockopt: sockets::getsockopt,
        setsockopt: sockets::setsockopt,
        poll: events::poll,
        netdev_send: network::netdev_send,
        netdev_receive: network::netdev_receive,
        usleep: network::usleep,
        gettimeofday: network::gettimeofday,
        epoll_create: events::epoll_create,
        epoll_ctl: events::epoll_ctl,
        epoll_wait: events::epoll_wait,
        pipe: events::pipe,
        splice: events::splice,
    }
}

unsafe extern "C" fn free(_: *mut c_void) {
    RUNTIME.end();
}

/// The return value of a call: the number, or -1 with the error in `errno`.
fn answer<T: Into<i64>>(result: Outcome<T>) -> i64 {
    match result {
        Ok(number) => number.into(),
        Err(Errno(error)) => {
            // SAFETY: the C library returns a pointer to this thread's errno, which is always there.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

fn number<T: Into<i64>>(result: Outcome<T>) -> c_int {
    answer(result) as c_int
}

pub(crate) fn size(result: Outcome<usize>) -> ssize_t {
    answer(result.map(|size| size as i64)) as ssize_t
}

pub(crate) fn nothing(result: Outcome<()>) -> c_int {
    number(result.map(|()| 0i32))
}
