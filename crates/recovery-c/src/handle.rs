//! The opaque sender, and how a function reaches it.

use crate::abi::Error;
use crate::pointers::check;
use recoup_recovery::Sender;

/// A sender: one direction of a connection.
pub struct Handle {
    pub(crate) mark: Mark,
    /// A callback runs.
    busy: bool,
    /// Packets are numbered, not bytes.
    packets: bool,
    sender: Sender,
}

/// The mark of memory that holds a sender, and who owns the memory. With any other number there is no sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Mark(u64);

impl Mark {
    /// The heap.
    pub const HEAP: Self = Self(0x7265_636f_7570_2d48);
    /// The host.
    pub const LENT: Self = Self(0x7265_636f_7570_2d4c);
    /// The sender was freed.
    pub const GONE: Self = Self(0);
}

impl Handle {
    pub(crate) fn new(mark: Mark, packets: bool, sender: Sender) -> Self {
        Self { mark, busy: false, packets, sender }
    }
}

/// Whose memory the sender at `handle` lies in. Refuses what is no sender, and a sender whose callback runs.
///
/// # Safety
/// `handle` is null, or misaligned, or as many bytes as a `Handle` has are initialized and can be read there.
pub(crate) unsafe fn idle(handle: *const Handle) -> Result<Mark, Error> {
    check(handle)?;
    // SAFETY: neither null nor misaligned, so the caller says that the field lies in memory that can be read. No
    // reference to the whole is made, because `sender` may be borrowed by a call whose callback runs.
    let mark = unsafe { (&raw const (*handle).mark).read() };
    if mark != Mark::HEAP && mark != Mark::LENT {
        return Err(Error::NotASender);
    }
    // SAFETY: as before. The mark says that a `Handle` lies there, so the byte is a `bool`.
    match unsafe { (&raw const (*handle).busy).read() } {
        true => Err(Error::Busy),
        false => Ok(mark),
    }
}

/// Refuses a sender that does not number packets (`packets`), or bytes.
///
/// # Safety
/// As for [`idle`].
pub(crate) unsafe fn numbers(handle: *const Handle, packets: bool) -> Result<(), Error> {
    // SAFETY: the same duty of the caller.
    unsafe { idle(handle) }?;
    // SAFETY: the mark says that a `Handle` lies there, which is not borrowed because it is idle.
    match unsafe { (&raw const (*handle).packets).read() } == packets {
        true => Ok(()),
        false => Err(Error::Numbering),
    }
}

/// Looks at the sender at `handle`.
///
/// # Safety
/// As for [`idle`]; nobody changes the sender during the call.
pub(crate) unsafe fn look<R>(handle: *const Handle, at: impl FnOnce(&Sender) -> Result<R, Error>) -> Result<R, Error> {
    // SAFETY: the same duty of the caller.
    unsafe { idle(handle) }?;
    // SAFETY: the mark says that a sender lies there. No call that changes it runs: not in another thread, as the
    // caller says, and not in this one, because it is not busy.
    at(unsafe { &(*handle).sender })
}

/// Changes the sender at `handle`. While `change` runs, other calls with it are refused.
///
/// # Safety
/// As for [`idle`]; nobody uses the sender during the call, except through this crate's functions in this thread.
pub(crate) unsafe fn change<R>(
    handle: *mut Handle,
    change: impl FnOnce(&mut Sender) -> Result<R, Error>,
) -> Result<R, Error> {
    // SAFETY: the same duty of the caller.
    unsafe { idle(handle) }?;
    // SAFETY: the mark says that a `Handle` lies there, and it is writable, since the host made it a sender.
    unsafe { (&raw mut (*handle).busy).write(true) };
    // SAFETY: the mark says that a sender lies there. It was not busy, and is now: no other reference exists, and
    // none is made until it is idle again.
    let result = change(unsafe { &mut (*handle).sender });
    // SAFETY: as for the write before.
    unsafe { (&raw mut (*handle).busy).write(false) };
    result
}

/// The code that a function returns.
pub(crate) fn code<T: Into<i32>>(result: Result<T, Error>) -> i32 {
    match result {
        Ok(number) => number.into(),
        Err(error) => error as i32,
    }
}

/// The code of a function that returns no number.
pub(crate) fn done(result: Result<(), Error>) -> i32 {
    code(result.map(|()| 0))
}
