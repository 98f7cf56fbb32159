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
