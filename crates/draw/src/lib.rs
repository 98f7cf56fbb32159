//! Charts as SVG, time–sequence diagrams as SVG, PNG, PDF and for xplot, and reports as HTML pages.
//!
//! A picture depends on nothing but its data, so two of them can be compared byte for byte.

mod canvas;
pub mod chart;
mod html;
pub mod look;
pub mod page;
pub mod render;
pub mod report;
pub mod sequence;
mod text;
