//! Pictures: charts as SVG, time–sequence diagrams as SVG and for xplot.
//!
//! A picture depends on nothing but its data, so that it can be kept and compared byte for byte.

mod canvas;
pub mod chart;
pub mod sequence;
mod text;
