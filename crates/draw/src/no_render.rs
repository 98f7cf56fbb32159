//! In place of PNG and PDF, where they are left out: every picture is refused.

use crate::look::Look;
use thiserror::Error;

/// Why a picture has no PNG or PDF.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("this build draws no PNG and no PDF (it lacks the feature `render`)")]
pub struct RenderError;

/// Refuses to draw.
///
/// # Errors
/// Always.
pub fn to_png(_: &str, _: &Look) -> Result<Vec<u8>, RenderError> {
    Err(RenderError)
}

/// Refuses to draw.
///
/// # Errors
/// Always.
pub fn to_print_png(_: &str) -> Result<Vec<u8>, RenderError> {
    Err(RenderError)
}

/// Refuses to draw.
///
/// # Errors
/// Always.
pub fn to_pdf(_: &str) -> Result<Vec<u8>, RenderError> {
    Err(RenderError)
}
