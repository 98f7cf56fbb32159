//! The host's pointers: checked, then read or written.
//!
//! `T` is a struct of integers and pointers, so every bit pattern is a value.

use crate::abi::{Error, Range, offset};
use core::ffi::{CStr, c_char};
use core::mem::{offset_of, size_of};
use recoup_units::Span;

/// Refuses null and misaligned pointers.
pub fn check<T>(pointer: *const T) -> Result<(), Error> {
    if pointer.is_null() {
        Err(Error::Null)
    } else if !pointer.is_aligned() {
        Err(Error::Misaligned)
    } else {
        Ok(())
    }
}

/// Reads what `from` points to.
///
/// # Safety
/// `from` is null, or misaligned, or a `T` can be read there.
pub unsafe fn read<T: Copy>(from: *const T) -> Result<T, Error> {
    check(from)?;
    // SAFETY: neither null nor misaligned, so the caller says that a `T` can be read.
    Ok(unsafe { from.read() })
}

/// Writes `value` to where `to` points.
///
/// # Safety
/// `to` is null, or misaligned, or a `T` can be written there.
pub unsafe fn write<T: Copy>(to: *mut T, value: T) -> Result<(), Error> {
    check(to)?;
    // SAFETY: neither null nor misaligned, so the caller says that a `T` can be written.
    unsafe { to.write(value) };
    Ok(())
}

/// The C string at `text`; if it is not UTF-8, it names nothing.
///
/// # Safety
/// `text` is null, or a C string that nobody changes during `'a`.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Error> {
    check(text)?;
    // SAFETY: not null, so the caller says that it is a C string which stays as it is.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::Profile)
}

// A range has the layout of a span, so that an array of ranges is one of spans.
const _: () = assert!(size_of::<Range>() == size_of::<Span>());
const _: () = assert!(align_of::<Range>() == align_of::<Span>());
const _: () = assert!(offset_of!(Range, start) == offset_of!(Span, start));
const _: () = assert!(offset_of!(Range, end) == offset_of!(Span, end));
const _: () = assert!(size_of_val(&Span::new(recoup_units::Offset(0), recoup_units::Offset(0)).start) == 8);

/// Calls `with` with the host's ranges as spans. No memory is allocated for them: the array itself is changed from
/// positions to offsets, and back afterwards.
///
/// # Safety
/// `ranges` is null, or misaligned, or `count` ranges can be read and written there, and nobody else uses them
/// until the function returns.
pub unsafe fn as_spans<R>(ranges: *mut Range, count: usize, with: impl FnOnce(&[Span]) -> R) -> Result<R, Error> {
    if count == 0 {
        return Ok(with(&[]));
    }
    check(ranges)?;
    if count > isize::MAX as usize / size_of::<Range>() {
        return Err(Error::Position);
    }
    let spans = ranges.cast::<Span>();
    // SAFETY: neither null nor misaligned, and of a size that can be, so the caller says that `count` ranges can be
    // read and written and are ours alone. A range has the layout of a span, as asserted above.
    let spans = unsafe { core::slice::from_raw_parts_mut(spans, count) };
    // Until here the numbers are positions: none may overflow.
    for span in spans.iter() {
        offset(span.start.0.max(span.end.0))?;
    }
    for span in spans.iter_mut() {
        (span.start.0, span.end.0) = (span.start.0 + 1, span.end.0 + 1);
    }
    let result = with(spans);
    for span in spans.iter_mut() {
        (span.start.0, span.end.0) = (span.start.0 - 1, span.end.0 - 1);
    }
    Ok(result)
}
