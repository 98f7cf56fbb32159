//! A table of a capture's connections, for users to choose one.

use crate::analysis::OneConnection;
use comfy_table::{CellAlignment, Table, presets};

/// The connections with the most data, one per line below a heading, and the number of the others.
pub(super) fn lines(all: &OneConnection) -> Vec<String> {
    let (listed, left_out) = all.largest();
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
    for one in listed {
        let (client, server) = (one.endpoints.src, one.endpoints.dst);
        let mut row = vec![one.id.to_string(), client.to_string(), server.to_string()];
        for way in 0..2 {
            for number in [one.segments[way], one.bytes[way], one.retransmissions[way]] {
                row.push(number.to_string());
            }
        }
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        if !(1..3).contains(&i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines: Vec<String> = table.lines().map(|l| l.trim_end().to_owned()).collect();
    if let Some(most) = left_out {
        lines.push(format!("and {} more, of {most} bytes of data or less", all.numbers() - listed.len() as u64));
    }
    lines
}
