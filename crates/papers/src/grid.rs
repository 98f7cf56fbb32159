//! Cells of a grid, found by what was set.

use std::collections::HashMap;
use std::hash::Hash;

/// A cell that knows what was set.
pub trait Keyed {
    /// A value on each axis.
    type Key: Eq + Hash;

    /// The cell's place in the grid.
    fn key(&self) -> Self::Key;
}

/// The cells of a grid.
pub struct Grid<'a, Cell: Keyed>(pub &'a [Cell], HashMap<Cell::Key, &'a Cell>);

impl<'a, Cell: Keyed> Grid<'a, Cell> {
    /// The grid of these cells. Of cells with the same key the first one counts.
    pub fn new(cells: &'a [Cell]) -> Self {
        Self(cells, cells.iter().rev().map(|cell| (cell.key(), cell)).collect())
    }

    /// The cell with this key.
    ///
    /// # Panics
    /// Without one: an experiment asks for the cells that it ran.
    pub fn at(&self, key: Cell::Key) -> &'a Cell {
        self.1.get(&key).expect("a cell of the grid")
    }
}

#[cfg(test)]
mod tests;
