//! `recoup mcp`: the program `recoup-mcp`, asked by the client of the protocol's own library.

mod answers;
mod bounds;
mod raw;
mod refusals;
mod session;
