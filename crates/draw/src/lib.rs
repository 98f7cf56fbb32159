//! Charts as SVG, time–sequence diagrams as SVG, PNG, PDF and for xplot, and the page of a capture as HTML.
//!
//! A picture depends on nothing but its data, so two of them can be compared byte for byte.

mod canvas;
pub mod chart;
pub mod html;
pub mod look;
pub mod page;
#[cfg(feature = "render")]
pub mod render;
#[cfg(not(feature = "render"))]
#[path = "no_render.rs"]
pub mod render;
pub mod sequence;
mod text;
