//! Parses any text as a packetdrill script. Nothing panics, an error is one line and names an existing
//! line, and a valid script runs to its end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_script::{Script, Settings};

fuzz_target!(|text: &str| {
    let lines = text.split('\n').count();
    let script = match Script::parse("x.pkt", text) {
        Ok(script) => script,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            assert!((1..=lines).contains(&error.place.line), "{error}");
            return;
        }
    };
    match script.run(&Settings::default()) {
        Ok(report) => {
            if let Some(failure) = report.failure {
                assert!((1..=lines).contains(&failure.line));
                assert!(!failure.message.contains('\n') || text.contains("\\n"));
                assert!(failure.details.ends_with('\n'));
            }
        }
        Err(error) => assert!((1..=lines).contains(&error.place.line), "{error}"),
    }
});
