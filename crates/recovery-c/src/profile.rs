//! Names: profiles, errors, the version.

use crate::abi::Error;
use crate::pointers::text;
use core::ffi::{CStr, c_char};
use core::fmt::{self, Write};
use recoup_recovery::Profile;

/// The version of the library, such as "0.1.0". A C string that is never freed.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn recoup_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

/// Checks whether `name` is a profile, such as "linux-6" or "linux-3.17+rtor". If it is not, writes to `reason` the
/// unknown word and the known ones, as a C string that is cut to `length` bytes. The text has fewer than 500
/// bytes besides the unknown word. `reason` may be null.
///
/// Allocates memory, and frees it before it returns. Returns 0, or an error: NULL, PROFILE.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_profile_check(name: *const c_char, reason: *mut c_char, length: usize) -> i32 {
    // SAFETY: the host says that `name` is a C string.
    let parsed = unsafe { text(name) }.map(str::parse::<Profile>);
    let (error, why): (Error, &dyn fmt::Display) = match &parsed {
        Ok(Ok(_)) => return 0,
        Ok(Err(why)) => (Error::Profile, why),
        Err(error) => (*error, &"the name is null or not UTF-8"),
    };
    if !reason.is_null() && length > 0 {
        // SAFETY: not null, and the host says that `length` bytes can be written there, which nobody else uses.
        // They are written before they are read.
        let room = unsafe { core::slice::from_raw_parts_mut(reason.cast(), length) };
        put(room, why);
    }
    error as i32
}

/// Explains a code that a function returned, in English. A C string that is never freed. For a negative code that no
/// function returns, it is "unknown error".
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn recoup_error_text(code: i32) -> *const c_char {
    let found = Error::ALL.iter().find(|error| **error as i32 == code);
    let text = match found {
        _ if code >= 0 => c"no error",
        Some(error) => error.text(),
        None => c"unknown error",
    };
    text.as_ptr()
}

impl Error {
    /// Every error.
    const ALL: [Self; 17] = [
        Self::Null,
        Self::Misaligned,
        Self::TooSmall,
        Self::Profile,
        Self::Settings,
        Self::NotASender,
        Self::Busy,
        Self::Position,
        Self::Constant,
        Self::NotNext,
        Self::Repeated,
        Self::GivenUp,
        Self::Full,
        Self::Numbering,
        Self::NotOutstanding,
        Self::NeedsHeap,
        Self::Refused,
    ];

    fn text(self) -> &'static CStr {
        match self {
            Self::Null => c"a pointer is null",
            Self::Misaligned => c"a pointer is not aligned",
            Self::TooSmall => c"the memory is smaller than recoup_sender_size() says",
            Self::Profile => c"no profile has this name",
            Self::Settings => c"a field of the settings is out of range",
            Self::NotASender => c"the pointer leads to no sender, or the sender was freed",
            Self::Busy => c"the function was called from inside a callback of the same sender",
            Self::Position => c"a position is larger than RECOUP_LAST_POSITION",
            Self::Constant => c"a number is none of the constants that belong there",
            Self::NotNext => c"new data must begin where the last ended, and have 1 byte to 4 GiB, or one packet",
            Self::Repeated => c"a numbered packet is sent once",
            Self::GivenUp => c"the connection was given up, because its user timeout passed",
            Self::Full => c"as many segments are outstanding as the sender has memory for",
            Self::Numbering => c"the function is for the other kind of numbering",
            Self::NotOutstanding => c"only outstanding data is copied or retransmitted",
            Self::NeedsHeap => c"a sender with this profile needs the heap: use recoup_sender_new()",
            Self::Refused => c"the transmission was refused for another reason",
        }
    }
}

/// A C string that is being written into memory of fixed length.
struct Text<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = &mut self.room[self.len..];
        let most = left.len().saturating_sub(1).min(text.len());
        let whole = |at: &usize| text.is_char_boundary(*at);
        let fits = (0..=most).rev().find(whole).unwrap_or(0);
        left[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.len += fits;
        match fits == text.len() {
            true => Ok(()),
            false => Err(fmt::Error), // the rest is cut
        }
    }
}

/// Writes `what` into `room`, which is not empty, and a zero after it.
fn put(room: &mut [u8], what: &dyn fmt::Display) {
    let mut text = Text { room, len: 0 };
    let _ = write!(text, "{what}");
    let end = text.len;
    room[end] = 0;
}
