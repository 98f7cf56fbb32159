//! The claims of §3.3.

use super::WebCell;
use crate::claims::Claim;

/// All claims.
pub fn all(_cells: &[WebCell]) -> Vec<Claim> {
    vec![]
}
