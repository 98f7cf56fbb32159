//! A server of the Model Context Protocol over standard input and output: an assistant asks it why captures are slow.
//!
//! ```text
//! stdin ─► rmcp ─► server: one call at a time, on a thread, until its deadline ─► tools ─► recoup_captures
//!                     ▲                                                             │
//! stdout ◄── rmcp ◄───┴──── answer: text and document, cut to the bound ◄───────────┘
//!                                                            root: opens files, all below one folder
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `program` | the command line |
//! | `server` | lists tools; runs each call on a thread of its own, as long as it may take |
//! | `watch` | ends a call's work, and reports its progress |
//! | `root` | opens captures below one folder, and nothing else; lists them |
//! | `arguments` | checks the arguments of a call: unknown names, wrong types |
//! | `tools` | the tools: a module each |
//! | `answer` | an answer, cut to its bound |
//! | `schema` | JSON Schemas of the documents, from their lists of fields |
//!
//! The documents are those that the commands write with `--format json`, and the texts are those that they print.

mod answer;
mod arguments;
pub mod program;
mod root;
mod schema;
mod server;
mod tools;
mod watch;
