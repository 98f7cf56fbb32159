//! Values of the parameters, as people write them: `2`, `1/8`, `200ms`.

use recoup_recovery::parameters::{MinimumOf, Parameters};
use recoup_recovery::rtt::Factor;
use recoup_support::quantity::format_duration;
use recoup_support::suggest::did_you_mean;
use recoup_whatif::parameters::{Grid, Parameter};

/// The word that leaves a parameter as each sender's profile has it.
pub const PROFILE: &str = "profile";

/// The most combinations of values.
const MOST_COMBINATIONS: usize = 20_000;

/// The largest denominator of a factor that is written as a fraction.
const LARGEST_DENOMINATOR: u32 = 64;

/// Reads a list of values that are separated by commas, or [`PROFILE`], which is an empty list. Values that are
/// named twice count once.
///
/// # Errors
/// That of `read`.
pub fn parse_list<T: PartialEq>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    if text.trim() == PROFILE {
        return Ok(Vec::new());
    }
    let mut values = Vec::new();
    for value in text.split(',').map(str::trim) {
        let near = did_you_mean(value, [PROFILE]);
        let value = match value {
            PROFILE => Err(format!("`{PROFILE}` stands alone: expected a list of values, or {PROFILE}")),
            _ => read(value).map_err(|why| format!("{why}, or {PROFILE}{near}")),
        }?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Ok(values)
}

/// Checks that a grid has something to try, and not too many combinations.
///
/// # Errors
/// If it has none, or too many.
pub fn check_size(grid: &Grid) -> Result<(), String> {
    let none = Grid { minimum_of: grid.minimum_of, alone: grid.alone, ..Grid::default() };
    if *grid == none {
        return Err(format!("every parameter is {PROFILE}: expected a list of values for one of them"));
    }
    match grid.combinations() {
        n if n > MOST_COMBINATIONS => {
            Err(format!("the lists have {n} combinations: expected at most {MOST_COMBINATIONS}"))
        }
        _ => Ok(()),
    }
}

/// A factor as people write it: `2`, `1.5`, `1/8`.
pub(super) fn factor_text(factor: Factor) -> String {
    let denominators = 2..=LARGEST_DENOMINATOR;
    let mut exact = denominators.filter(|n| factor.0.checked_mul(*n) == Some(Factor::ONE.0));
    match exact.next() {
        Some(denominator) => format!("1/{denominator}"),
        None => factor.to_string(),
    }
}

/// The value of one parameter of an instance, if the instance replaces it.
pub(super) fn value_text(parameter: Parameter, instance: &Parameters) -> Option<String> {
    match parameter {
        Parameter::RttvarFactor => instance.rttvar_factor.map(factor_text),
        Parameter::RttvarWeight => instance.rttvar_weight.map(factor_text),
        Parameter::SrttWeight => instance.srtt_weight.map(factor_text),
        Parameter::SrttFactor => instance.srtt_factor.map(factor_text),
        Parameter::MinRto => instance.min_rto.map(|min| {
            let text = format_duration(min);
            let digits = text.trim_end_matches(char::is_alphabetic);
            format!("{digits} {}", &text[digits.len()..])
        }),
        Parameter::Dupthresh => instance.dupthresh.map(|segments| segments.to_string()),
    }
}

/// An instance in words: `k = 2, minRTO = 200 ms`.
pub fn instance_text(instance: &Parameters) -> String {
    let replaced = Parameter::ALL.into_iter().filter_map(|parameter| {
        let value = value_text(parameter, instance)?;
        Some(format!("{} = {value}", parameter.name()))
    });
    let text = replaced.collect::<Vec<_>>().join(", ");
    match instance.minimum_of {
        MinimumOf::Rttvar if instance.min_rto.is_some() => format!("{text} (of RTTVAR on Linux)"),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
