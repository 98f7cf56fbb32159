//! Sweeps: one scenario with every combination of some values of its keys.
//!
//! All cells have the scenario's seed, so they meet the same random draws.

mod plot;
mod report;

pub use report::{PAIR_SCHEMA, SweepReport, WORLD_SCHEMA};

use crate::scenario::Scenario;
use crate::world::WorldScenario;
use std::fmt;

/// The most cells of a sweep.
pub const MOST_CELLS: usize = 1000;

/// Keys with the values that each takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    axes: Vec<Axis>,
}

/// A key and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The key, as in `--set`.
    pub key: String,
    /// Its values, as they were given.
    pub values: Vec<String>,
}

/// One combination of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its place in the sweep, from 0. The values of the last key change fastest.
    pub number: usize,
    /// Every swept key with its value, in the order of the sweep.
    pub values: Vec<(String, String)>,
}

impl Sweep {
    /// Reads texts such as `rtt=20ms,80ms`. Values are separated by semicolons if the text has one, and by commas
    /// otherwise. The values of a key that is given several times add up.
    ///
    /// # Errors
    /// A text without a key or values, a value that is given twice, or more than [`MOST_CELLS`] cells.
    pub fn parse(texts: &[String]) -> Result<Self, String> {
        let mut sweep = Self::default();
        for text in texts {
            sweep.add(text)?;
        }
        match sweep.len() {
            Some(cells) if cells <= MOST_CELLS => Ok(sweep),
            cells => {
                let keys: Vec<&str> = sweep.keys().collect();
                let cells = cells.map_or("too many".into(), |cells| cells.to_string());
                Err(format!("{}: expected at most {MOST_CELLS} combinations of values, found {cells}", keys.join(", ")))
            }
        }
    }

    fn add(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("{text}: expected KEY=VALUE,VALUE, such as rtt=20ms,80ms");
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let key = key.trim();
        if key.is_empty() {
            return Err(wrong());
        }
        let separator = if values.contains(';') { ';' } else { ',' };
        // A semicolon at the end marks a single value that contains commas.
        let values = values.strip_suffix(';').unwrap_or(values);
        let place = self.axes.iter().position(|axis| axis.key == key);
        let place = place.unwrap_or_else(|| {
            self.axes.push(Axis { key: key.into(), values: Vec::new() });
            self.axes.len() - 1
        });
        let known = &mut self.axes[place].values;
        for value in values.split(separator).map(str::trim) {
            if value.is_empty() {
                return Err(format!("{text}: expected a value, found nothing"));
            }
            if known.iter().any(|other| other == value) {
                return Err(format!("{key}: {value} is given twice"));
            }
            known.push(value.into());
        }
        Ok(())
    }

    /// Whether nothing is swept.
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }

    /// The number of cells; `None` if it exceeds every integer.
    fn len(&self) -> Option<usize> {
        let mut sizes = self.axes.iter().map(|axis| axis.values.len());
        sizes.try_fold(1_usize, usize::checked_mul)
    }

    /// The keys, in the order given.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|axis| axis.key.as_str())
    }

    /// All combinations of the values.
    pub fn cells(&self) -> Vec<Cell> {
        let cells = self.len().unwrap_or(0);
        let cell = |number: usize| {
            let mut rest = number;
            let mut values = Vec::with_capacity(self.axes.len());
            for axis in self.axes.iter().rev() {
                let value = &axis.values[rest % axis.values.len()];
                values.push((axis.key.clone(), value.clone()));
                rest /= axis.values.len();
            }
            values.reverse();
            Cell { number, values }
        };
        (0..cells).map(cell).collect()
    }

    /// The scenario of each cell.
    ///
    /// # Errors
    /// An unknown key, a value that does not fit, or a combination of values that do not fit together.
    pub fn scenarios(&self, base: &Scenario) -> Result<Vec<(Cell, Scenario)>, String> {
        self.check_each_key(|key, value| base.clone().set(key, value).map_err(|e| e.to_string()))?;
        self.with(base, |scenario, cell| {
            for (key, value) in &cell.values {
                scenario.set(key, value).map_err(|e| e.to_string())?;
            }
            scenario.check()
        })
    }

    /// The world of each cell.
    ///
    /// # Errors
    /// As [`scenarios`](Self::scenarios).
    pub fn worlds(&self, base: &WorldScenario) -> Result<Vec<(Cell, WorldScenario)>, String> {
        self.with(base, |world, cell| cell.values.iter().try_for_each(|(key, value)| world.set(key, value)))
    }

    /// Checks every value alone, so that the error about a value does not name a whole combination.
    fn check_each_key(&self, check: impl Fn(&str, &str) -> Result<(), String>) -> Result<(), String> {
        self.axes.iter().try_for_each(|axis| {
            let mut values = axis.values.iter();
            values.try_for_each(|value| check(&axis.key, value))
        })
    }

    fn with<S: Clone>(
        &self,
        base: &S,
        change: impl Fn(&mut S, &Cell) -> Result<(), String>,
    ) -> Result<Vec<(Cell, S)>, String> {
        let cells = self.cells().into_iter().map(|cell| {
            let mut changed = base.clone();
            change(&mut changed, &cell).map_err(|why| match cell.values.as_slice() {
                // The error itself names the key and what is wrong with its value.
                [_] => why,
                _ => format!("{cell}: {why}"),
            })?;
            Ok((cell, changed))
        });
        cells.collect()
    }
}

impl fmt::Display for Cell {
    /// As `rtt=20ms drop=tail:1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.values.iter().map(|(key, value)| format!("{key}={value}"));
        f.write_str(&pairs.collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests;
