//! Replays a vector file against the engine.

use crate::driver::{Driver, describe, given_with};
use crate::format::{Case, Fields, File, Input, Step};
use serde_json::Value;

/// The first difference of each case from what the engine does, as a line of text.
pub fn differences(file: &File) -> Vec<String> {
    let difference = |case: &Case| {
        let (step, what) = replay(file, case).err()?;
        Some(format!("{}.json, case \"{}\", step {step}: {what}", file.mechanism, case.name))
    };
    file.cases.iter().filter_map(difference).collect()
}

/// Replays a case. The error has the number of the step, from 1, and what differs there.
fn replay(file: &File, case: &Case) -> Result<(), (usize, String)> {
    let mut driver = Driver::new(&case.settings).map_err(|e| (0, e))?;
    for (i, step) in case.steps.iter().enumerate() {
        let number = |what| (i + 1, what);
        driver.begin_step();
        take(file, &mut driver, step).map_err(number)?;
        // First what other mechanisms determine: a difference there is not this one's.
        if given_with(&step.input) {
            check(&driver, step, "given", &file.given, &step.given).map_err(number)?;
        }
        check(&driver, step, "expect", &file.expect, &step.expect).map_err(number)?;
    }
    Ok(())
}

/// Applies the step's input. Where the file says what is sent next, the engine must send the same.
fn take(file: &File, driver: &mut Driver, step: &Step) -> Result<(), String> {
    let Input::Sent(sent) = &step.input else {
        return driver.apply(step.at_ns, &step.input);
    };
    let decides = file.expect.iter().any(|name| name == "next");
    let segments = driver.segments(sent)?;
    let last = segments.len().saturating_sub(1);
    for (i, what) in segments.into_iter().enumerate() {
        let would = driver.next(step.at_ns);
        if decides && would != Some(what) {
            let (expected, got) = (describe(what), would.map(describe));
            return Err(format!("sends: expected {expected}, got {got:?}"));
        }
        driver.send(step.at_ns, what, sent.size, sent.push && i == last)?;
    }
    Ok(())
}

fn check(driver: &Driver, step: &Step, part: &str, names: &[String], fields: &Fields) -> Result<(), String> {
    if fields.0.len() != names.len() {
        return Err(format!("{part} does not have the fields that the file lists"));
    }
    for name in names {
        let expected = fields.get(name).ok_or(format!("{part} lacks {name}"))?;
        let got: Value = driver.field(step.at_ns, name)?;
        if got != *expected {
            return Err(format!("{part} {name}: expected {expected}, got {got}"));
        }
    }
    Ok(())
}
