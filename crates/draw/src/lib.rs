//! Charts as SVG, and time–sequence diagrams as SVG, PNG, PDF and for xplot.
//!
//! A picture depends on nothing but its data, so two of them can be compared byte for byte.

mod canvas;
pub mod chart;
pub mod look;
pub mod render;
pub mod sequence;
mod text;
