//! Charts as SVG, time–sequence diagrams as SVG, PNG, PDF and for xplot, and the page of a capture as HTML.
//!
//! A picture depends on nothing but its data, so two of them can be compared byte for byte.
//!
//! | module | contents |
//! | --- | --- |
//! | `chart`, `sequence` | bar, box, interval, line and point charts; time–sequence diagrams |
//! | `canvas`, `look`, `render` | SVG; width and theme; PNG and PDF with bundled fonts |
//! | `html` | what HTML documents share: head, content security policy, base style and scripts |
//! | `page` (`data`, `thinning`, its scripts) | a report of a capture as one HTML page |

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
