//! Cells of a grid, found by what was set.

use std::collections::HashMap;
use std::hash::Hash;

/// A cell that knows what was set.
pub trait Keyed {
    /// What was set: a value on each axis.
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
mod tests {
    use super::*;

    impl Keyed for (u32, char) {
        type Key = u32;

        fn key(&self) -> u32 {
            self.0
        }
    }

    #[test]
    fn the_first_of_equal_keys_counts() {
        let cells = [(1, 'a'), (2, 'b'), (1, 'c')];
        let grid = Grid::new(&cells);
        assert_eq!([grid.at(1).1, grid.at(2).1], ['a', 'b']);
        assert_eq!(grid.0.len(), 3);
    }
}
