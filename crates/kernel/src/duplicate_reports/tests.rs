//! In the running kernel.

mod live;
mod packets;

use super::*;
use recoup_testing::skip;

/// `None` if the system does not permit it.
fn permitted(reports: Result<DuplicateReports, KernelError>) -> Option<DuplicateReports> {
    match reports {
        Ok(reports) => Some(reports),
        Err(why @ KernelError::NoRight { .. }) => {
            skip(why);
            None
        }
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn an_interface_that_does_not_exist_is_named() {
    match DuplicateReports::attach("recoup-none") {
        Err(why @ KernelError::NoRight { .. }) => skip(why),
        Err(why) => {
            assert!(matches!(why, KernelError::NoInterface { .. }), "{why}");
            let text = why.to_string();
            assert!(text.contains("recoup-none") && !text.contains('\n'), "{text}");
        }
        Ok(_) => panic!("there is no such interface"),
    }
}

#[test]
fn ends_of_two_ip_versions_are_refused() {
    let Some(mut reports) = permitted(DuplicateReports::load()) else { return };
    let mixed = Endpoints { src: "192.0.2.1:80".parse().unwrap(), dst: "[2001:db8::1]:80".parse().unwrap() };
    let error = reports.hide(&mixed, SeqNumber(1), SeqNumber(2)).unwrap_err();
    assert!(matches!(error, KernelError::TwoVersions(_)), "{error}");
}
