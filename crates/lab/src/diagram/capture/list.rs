//! A table of a capture's connections, for users to choose one.

use super::connections::{CaptureConnection, Ends};
use comfy_table::{CellAlignment, Table, presets};
use std::cmp::Reverse;

/// The number of connections listed: about a screenful.
const LISTED: usize = 20;

/// The connections with the most data, one per line below a heading, and the number of the others.
pub(super) fn lines(all: &mut [CaptureConnection]) -> Vec<String> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    let data = |connection: &CaptureConnection| connection.bytes.iter().sum::<u64>();
    order.sort_by_key(|number| Reverse(data(&all[*number])));
    let (listed, left_out) = order.split_at(order.len().min(LISTED));
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header([
        "connection",
        "client",
        "server",
        "up: segments",
        "bytes",
        "retransmissions",
        "down: segments",
        "bytes",
        "retransmissions",
    ]);
    for &number in listed {
        all[number].sort();
        let connection = &all[number];
        let Ends { client, server } = connection.ends;
        let mut row = vec![number.to_string(), client.to_string(), server.to_string()];
        for (way, again) in connection.retransmissions().into_iter().enumerate() {
            row.push(connection.segments[way].to_string());
            row.push(connection.bytes[way].to_string());
            row.push(again.to_string());
        }
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        if !(1..3).contains(&i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines: Vec<String> = table.lines().map(|l| l.trim_end().to_owned()).collect();
    if let Some(&most) = left_out.first() {
        lines.push(format!(
            "and {} more, of {} bytes of data or less",
            left_out.len(),
            data(&all[most])
        ));
    }
    lines
}
