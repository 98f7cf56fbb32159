//! The packets of one connection, in stream offsets.
