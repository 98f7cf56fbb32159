//! The schema of the event stream, which `recoup run --events` writes and `recoup plot` reads.

use recoup_table::Schema;

/// The schema of the event stream, which its first line names.
pub const SCHEMA: Schema = Schema { name: "recoup.events", version: 1 };
