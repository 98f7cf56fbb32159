//! Populations fitted to what a paper prints of its baseline.
//!
//! A paper compares arms over a population of its own. It prints some numbers of that population, and of its baseline arm.
//! A fit finds the population's other parameters, so that the baseline arm alone has those numbers. Nothing here runs another
//! arm: a [`Fitted`] can only measure the baseline. The experiments judge with another seed than the fit's.
//!
//! A fit is a committed file (`fits/NAME.toml` in this crate). `recoup paper fit` measures the baseline again, or searches on.

mod search;
mod table;

pub use search::search;
pub use table::text;

use crate::experiment::{ExperimentError, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

/// The committed text of a fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// The population, in a few words.
    pub about: String,
    /// The experiments that use it: `prr web`.
    pub experiments: Vec<String>,
    /// Whose numbers the targets are: an arm, and the tables of the paper.
    pub baseline: String,
    /// What was not fitted: the other arms, and the baseline's own numbers that are no targets.
    pub held_out: String,
    /// The seed of the fit. The experiments have another one.
    pub seed: u64,
    /// How much of the population was run, in the unit of `size_of`.
    pub size: u32,
    /// What `size` counts: users, flows, seconds of each world.
    pub size_of: String,
    /// What the paper prints of its population, and what we chose without looking at results.
    #[serde(default)]
    pub given: Vec<Given>,
    /// What was fitted.
    #[serde(rename = "parameter")]
    pub parameters: Vec<Parameter>,
    /// What it was fitted to.
    #[serde(rename = "target")]
    pub targets: Vec<Target>,
}

/// An input that was not fitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Its name in code, if the code reads it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its value for the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// The quantity.
    pub about: String,
    /// Its value, with its unit.
    pub value: String,
    /// Where it comes from: a section or table of the paper, or why we chose it.
    pub from: String,
}

/// A fitted parameter.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name in code.
    pub name: String,
    /// The quantity.
    pub about: String,
    /// Its unit; empty for a number.
    #[serde(default)]
    pub unit: String,
    /// Its value.
    pub value: f64,
    /// The least value that the search tries.
    pub least: f64,
    /// The largest value that the search tries.
    pub most: f64,
    /// How the search steps.
    #[serde(default)]
    pub scale: Scale,
}

/// How a search steps through the values of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By factors. The least value is above 0.
    #[default]
    Log,
    /// By differences.
    Linear,
}

/// A number that the paper prints of its baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its name in code.
    pub name: String,
    /// What it is, and where the paper prints it.
    pub about: String,
    /// Its unit; empty for a number.
    #[serde(default)]
    pub unit: String,
    /// The paper's value.
    pub paper: f64,
    /// The difference that counts as one: the search minimises the sum of (difference / tolerance)².
    pub tolerance: f64,
    /// What the baseline has with the committed parameters, the fit's seed and size.
    pub ours: f64,
}

/// Another value of a parameter than the committed one.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The parameter's name.
    pub name: String,
    /// Its value.
    pub value: f64,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
        let value: f64 = value.trim().parse().map_err(|_| format!("expected a number, not `{value}`"))?;
        if !value.is_finite() || value < 0.0 {
            return Err(format!("expected a number of at least 0, not {value}"));
        }
        Ok(Self { name: name.trim().into(), value })
    }
}

/// Values of a fit's parameters, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters(BTreeMap<String, f64>);

impl Parameters {
    /// The value of a parameter.
    ///
    /// # Panics
    /// Without one of this name: the names are those of a committed file, and a test measures every fit.
    pub fn get(&self, name: &str) -> f64 {
        *self.0.get(name).unwrap_or_else(|| panic!("no parameter `{name}`"))
    }
}

/// The baseline's values of the targets, by name.
pub type Measured = Vec<(&'static str, f64)>;

/// Code that measures a population's baseline.
#[derive(Clone, Copy, Debug)]
pub struct Fitted {
    /// The name on the command line, and of the file.
    pub name: &'static str,
    /// The committed file.
    pub toml: &'static str,
    /// Runs the baseline arm with these parameters and this size, in a setup that has the seed of the fit.
    pub measure: fn(&Setup, &Parameters, u32) -> Result<Measured, ExperimentError>,
}

/// All fits, in the order of the papers.
pub static FITS: LazyLock<Vec<(Fitted, Fit)>> = LazyLock::new(|| {
    let all = [crate::tail_loss::FITS, crate::prr::FITS, crate::slp::FITS, crate::loss_detection::FITS];
    all.concat().into_iter().map(|fitted| (fitted, Fit::read(fitted.toml))).collect()
});

/// The parameters of the fit of this name: the committed ones, but for these changes.
///
/// # Panics
/// Without one: only code that names a committed file asks for it.
pub fn parameters(name: &str, changes: &[Change]) -> Parameters {
    let found = FITS.iter().find(|(fitted, _)| fitted.name == name);
    let mut fit = found.unwrap_or_else(|| panic!("no fit `{name}`")).1.clone();
    for change in changes {
        fit.change(change);
    }
    fit.values()
}

/// The fits that an experiment uses: `prr web`.
pub fn used_by(experiment: &str) -> impl Iterator<Item = &'static (Fitted, Fit)> {
    FITS.iter().filter(move |(_, fit)| fit.experiments.iter().any(|one| one == experiment))
}

impl Fit {
    /// Reads a committed file.
    ///
    /// # Panics
    /// Never with the committed ones: a test reads them.
    fn read(toml: &str) -> Self {
        toml::from_str(toml).unwrap_or_else(|e| panic!("a fit: {e}"))
    }

    /// The values of its parameters, and of the given quantities that the code reads.
    pub fn values(&self) -> Parameters {
        let given = self.given.iter().filter_map(|one| Some((one.name.clone()?, one.number?)));
        Parameters(self.parameters.iter().map(|one| (one.name.clone(), one.value)).chain(given).collect())
    }

    /// The names that a [`Change`] can have.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let given = self.given.iter().filter(|one| one.number.is_some()).filter_map(|one| one.name.as_deref());
        self.parameters.iter().map(|one| one.name.as_str()).chain(given)
    }

    /// Changes a parameter. Without one of its name nothing changes.
    pub fn change(&mut self, change: &Change) {
        for one in self.parameters.iter_mut().filter(|one| one.name == change.name) {
            one.value = change.value;
        }
        for one in self.given.iter_mut().filter(|one| one.name.as_deref() == Some(&change.name)) {
            one.number = Some(change.value);
            one.value = table::number(change.value);
        }
    }

    /// Takes over what the baseline has.
    pub fn set_ours(&mut self, measured: &Measured) {
        for target in &mut self.targets {
            target.ours = measured.iter().find(|(name, _)| *name == target.name).map_or(f64::NAN, |(_, value)| *value);
        }
    }

    /// Whether all targets have the same numbers as those of another run, beyond the rounding of the file. A number that is
    /// missing is another one.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Target, &Target)| (a.ours - b.ours).abs() <= 1e-6 * b.ours.abs().max(1e-6);
        self.targets.iter().zip(&other.targets).all(is_same)
    }

    /// The sum of the targets' squared differences in tolerances. A target without a value costs as much as ten.
    pub fn cost(&self) -> f64 {
        let difference = |one: &Target| match (one.ours - one.paper) / one.tolerance {
            known if known.is_finite() => known,
            _ => 10.0,
        };
        self.targets.iter().map(|one| difference(one).powi(2)).sum()
    }
}

#[cfg(test)]
mod tests;
