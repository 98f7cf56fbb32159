//! The rows of the tables: a quantity of an arm, beside the paper's.

use super::Cell;
use crate::prelude::*;
use std::fmt::Write as _;

/// A quantity of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The table or figure of the paper, or `inputs`.
    pub table: &'static str,
    /// The quantity.
    pub quantity: String,
    /// Its unit.
    pub unit: &'static str,
    /// The arm.
    pub arm: &'static str,
    /// Our value, if there are data.
    pub ours: Option<f64>,
    /// Half the width of its 95 % confidence interval, where it was computed.
    pub half: Option<f64>,
    /// The paper's value, if it has one.
    pub paper: Option<f64>,
}

/// The table or figure, the quantity and its unit.
type Header<Quantity> = (&'static str, Quantity, &'static str);

/// The rows of a table under construction.
#[derive(Debug, Default)]
pub struct Rows(pub Vec<Row>);

impl Rows {
    /// Adds what `of` makes of each arm, with the paper's values.
    pub fn each(
        &mut self,
        header: Header<impl Into<String>>,
        cells: &[Cell],
        paper: &[f64],
        of: impl Fn(&Cell) -> Estimate,
    ) {
        self.add(header, cells.iter().map(|cell| (cell.arm.name, of(cell))), paper);
    }

    /// Adds how each arm but the first differs from the first, with the paper's values.
    pub fn differences(
        &mut self,
        header: Header<impl Into<String>>,
        cells: &[Cell],
        paper: &[f64],
        of: impl Fn(&Cell, &Cell) -> Estimate,
    ) {
        let arms = cells.iter().skip(1);
        self.add(header, arms.map(|cell| (cell.arm.name, of(&cells[0], cell))), paper);
    }

    /// Adds a value of each arm, with the paper's values.
    pub fn add(
        &mut self,
        (table, quantity, unit): Header<impl Into<String>>,
        ours: impl IntoIterator<Item = (&'static str, Estimate)>,
        paper: &[f64],
    ) {
        let quantity = quantity.into();
        for (i, (arm, Estimate { mean, half })) in ours.into_iter().enumerate() {
            let known = mean.is_finite() && half.is_finite();
            self.0.push(Row {
                table,
                quantity: quantity.clone(),
                unit,
                arm,
                ours: known.then_some(mean),
                half: (known && half > 0.0).then_some(half),
                paper: paper.get(i).copied().filter(|value| value.is_finite()),
            });
        }
    }
}

/// The columns of all formats but the text.
pub fn columns(figure: &'static str) -> Columns<Row> {
    columns!(columns_of_figure::<Row>(figure), r;
        table, "", "the paper's table or figure; `inputs` are no results";
        quantity, "", "the quantity" => r.quantity.clone();
        unit, "", "its unit";
        arm, "", "the servers' recovery algorithm";
        ours, "", "our value";
        half, "", "half the width of its 95 % confidence interval";
        paper, "", "the paper's value";
    )
}

/// The tables for reading: a row per quantity, a column per arm, the paper's value in brackets.
pub fn to_text(rows: &[Row], arms: &[&str]) -> String {
    let mut text = String::from("Each cell: our value ± half of the 95 % confidence interval (the paper's value).\n");
    for of_table in rows.chunk_by(|a, b| a.table == b.table) {
        let present = |arm: &&&str| of_table.iter().any(|row| row.arm == **arm);
        let arms: Vec<&str> = arms.iter().filter(present).copied().collect();
        let mut table = plain_table();
        let head = [of_table[0].table].into_iter();
        table.set_header(head.chain(arms.iter().copied()));
        for of_quantity in of_table.chunk_by(|a, b| a.quantity == b.quantity) {
            let name = match of_quantity[0].unit {
                "" => of_quantity[0].quantity.clone(),
                unit => format!("{} ({unit})", of_quantity[0].quantity),
            };
            let cell = |arm: &&str| of_quantity.iter().find(|row| row.arm == *arm).map_or_else(String::new, cell_text);
            table.add_row([name].into_iter().chain(arms.iter().map(cell)));
        }
        let _ = write!(text, "\n{table}\n");
    }
    text
}

fn cell_text(row: &Row) -> String {
    let mut text = row.ours.map_or("-".into(), shown);
    if let Some(half) = row.half {
        text = text + " ± " + &shown(half);
    }
    if let Some(paper) = row.paper {
        text = text + " (" + &shown(paper) + ")";
    }
    text
}

fn shown(value: f64) -> String {
    crate::number(value, 2)
}
