//! Prints a page about an invented capture, to look at: `cargo run -p recoup-draw --example report_page
//! > page.html`. Arguments: rows of the table, connections in detail, segments of each.

#[path = "../tests/page/sample.rs"]
mod sample;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().ok());
    let mut next = |otherwise| arguments.next().flatten().unwrap_or(otherwise);
    let size = sample::Size { rows: next(2000) as usize, details: next(20) as usize, segments: next(7000) };
    print!("{}", sample::page(size).to_html());
}
