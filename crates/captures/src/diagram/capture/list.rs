//! A table of a capture's connections, for users to choose one.

use crate::analysis::OneConnection;
use crate::text_table::{align_right, texts};
use comfy_table::{Table, presets};

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
        let server = match one.tunnel {
            None => one.endpoints.dst.to_string(),
            Some(tunnel) => format!("{} ({tunnel})", one.endpoints.dst),
        };
        let sent = |way: usize| texts![one.segments[way], one.bytes[way], one.retransmissions[way]];
        table.add_row([texts![one.id, one.endpoints.src, server], sent(0), sent(1)].concat());
    }
    align_right(&mut table, &[0, 3, 4, 5, 6, 7, 8]);
    let mut lines: Vec<String> = table.lines().map(|l| l.trim_end().to_owned()).collect();
    if let Some(most) = left_out {
        lines.push(format!("and {} more, of {most} bytes of data or less", all.numbers() - listed.len() as u64));
    }
    lines
}
