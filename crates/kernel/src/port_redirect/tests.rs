//! In the running kernel.

mod live;
mod packets;

use super::*;
use recoup_testing::skip;

/// `None` if the system does not permit it.
fn permitted<T>(redirect: Result<T, KernelError>) -> Option<T> {
    match redirect {
        Ok(redirect) => Some(redirect),
        Err(why @ KernelError::NoRight { .. }) => {
            skip(why);
            None
        }
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn an_interface_that_does_not_exist_is_named() {
    match PortRedirect::attach("recoup-none", 1, &[]) {
        Err(why @ KernelError::NoRight { .. }) => skip(why),
        Err(why) => {
            assert!(matches!(why, KernelError::NoInterface { .. }), "{why}");
            let text = why.to_string();
            assert!(text.contains("recoup-none") && !text.contains('\n'), "{text}");
        }
        Ok(_) => panic!("there is no such interface"),
    }
}
