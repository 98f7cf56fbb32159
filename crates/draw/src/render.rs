//! SVG documents as PNG and PDF.
//!
//! Both are set in the fonts of this crate, whatever fonts the machine has, so the same document gives the
//! same picture everywhere. A character that the fonts lack becomes their sign for a missing one.

use crate::look::{Look, PRINT_DOTS_PER_PIXEL};
use resvg::tiny_skia::{Pixmap, Transform};
use std::sync::{Arc, LazyLock};
use svg2pdf::{ConversionOptions, PageOptions};
use thiserror::Error;
use usvg::{Options, Tree, fontdb::Database};

/// Roboto, with the licence in `fonts/LICENSE`.
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(include_bytes!("../fonts/Roboto-Regular.ttf").to_vec());
    fonts.load_font_data(include_bytes!("../fonts/Roboto-Bold.ttf").to_vec());
    fonts.set_sans_serif_family("Roboto");
    Arc::new(fonts)
});

/// Why a picture has no PNG or PDF.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RenderError {
    /// It is too large for a raster picture.
    #[error("{width} by {height} dots: a PNG has at most {} million", MOST_DOTS / 1_000_000)]
    TooLarge {
        /// Dots across.
        width: u32,
        /// Dots down.
        height: u32,
    },
    /// The document cannot be converted.
    #[error("the picture cannot be converted: {0}")]
    Failed(String),
}

/// The chunk of a PNG that says how large its dots are: 11,811 a metre, which is 300 an inch (RFC 2083 §4.2.4.2).
#[rustfmt::skip]
const DOT_SIZE: [u8; 21] = [
    0, 0, 0, 9,
    b'p', b'H', b'Y', b's',
    0, 0, 0x2e, 0x23,
    0, 0, 0x2e, 0x23,
    1,
    0x78, 0xa5, 0x3f, 0x76, // CRC-32
];
/// Where the first chunk of a PNG, the header, ends.
const PNG_HEADER: usize = 33;

/// The most dots of a raster picture: 400 MB while it is drawn.
const MOST_DOTS: u64 = 100_000_000;

/// A picture as PNG. `svg` is one of this crate's documents, drawn with this look: a width in pixels means
/// dots, and other widths have 300 dots an inch.
///
/// # Errors
/// A picture with too many dots.
pub fn to_png(svg: &str, look: &Look) -> Result<Vec<u8>, RenderError> {
    raster(svg, look.width.dots_per_pixel())
}

/// A picture as PNG for print: 300 dots an inch, of which the document has 96 pixels. `svg` is one of this crate's
/// documents.
///
/// # Errors
/// A picture with too many dots.
pub fn to_print_png(svg: &str) -> Result<Vec<u8>, RenderError> {
    let mut png = raster(svg, PRINT_DOTS_PER_PIXEL)?;
    png.splice(PNG_HEADER..PNG_HEADER, DOT_SIZE);
    Ok(png)
}

/// A picture with this many dots for each of its pixels.
fn raster(svg: &str, dots_per_pixel: f64) -> Result<Vec<u8>, RenderError> {
    let tree = tree(svg)?;
    let failed = |why: &dyn std::fmt::Display| RenderError::Failed(why.to_string());
    let scale = dots_per_pixel as f32;
    let size = tree.size();
    let [width, height] = [size.width(), size.height()].map(|side| (side * scale).round() as u32);
    if u64::from(width) * u64::from(height) > MOST_DOTS {
        return Err(RenderError::TooLarge { width, height });
    }
    let pixmap = Pixmap::new(width, height);
    let mut pixmap = pixmap.ok_or_else(|| failed(&"it has no area"))?;
    let transform = Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|why| failed(&why))
}

/// A picture as PDF, of the same size. `svg` is one of this crate's documents.
///
/// # Errors
/// None for documents of this crate.
pub fn to_pdf(svg: &str) -> Result<Vec<u8>, RenderError> {
    let page = PageOptions { dpi: 96.0 };
    svg2pdf::to_pdf(&tree(svg)?, ConversionOptions::default(), page).map_err(|why| RenderError::Failed(why.to_string()))
}

fn tree(svg: &str) -> Result<Tree, RenderError> {
    let options = Options { fontdb: Arc::clone(&FONTS), font_family: "Roboto".into(), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|why| RenderError::Failed(why.to_string()))
}

#[cfg(test)]
mod tests;
