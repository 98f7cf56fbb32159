use super::*;

#[test]
fn a_row_has_the_values_of_all_series() {
    let cells = [("a", 1), ("a", 2), ("b", 3), ("b", 4)];
    let table = pivot(
        &cells,
        &[("key", &|c| c.0.into())],
        &["x", "y"],
        &[(" (n)", &|c| c.1.to_string()), (" half", &|c| format!("{:.1}", f64::from(c.1) / 2.0))],
    );
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_terminator('|').map(str::trim).collect()).collect();
    assert_eq!(lines[0], ["", "key", "x (n)", "y (n)", "x half", "y half"]);
    assert_eq!(lines[3], ["", "b", "3", "4", "1.5", "2.0"]);
}
