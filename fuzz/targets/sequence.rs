//! Draws any bytes as a capture or an event stream. Nothing panics, errors are one line, and a second
//! drawing is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_captures::diagram::source::{Choice, read};

fuzz_target!(|bytes: &[u8]| {
    for connection in [None, Some(0)] {
        let choice = Choice { connection, ..Choice::default() };
        let source = match read("x", bytes, &choice) {
            Ok(source) => source,
            Err(error) => {
                let text = std::str::from_utf8(bytes).unwrap_or("\n");
                // Quoted text may span lines.
                assert!(text.contains(['\n', '\\']) || !error.to_string().contains('\n'));
                continue;
            }
        };
        let diagram = source.into_diagram();
        let svg = diagram.to_svg();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg, diagram.to_svg());
        for panel in 0..diagram.panels.len() {
            let xplot = diagram.to_xplot(panel).expect("a panel");
            assert!(xplot.ends_with("go\n"));
        }
    }
});
