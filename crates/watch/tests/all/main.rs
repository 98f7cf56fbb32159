//! `recoup watch`: the program `recoup-watch`, on interfaces of its own.

#![cfg(target_os = "linux")]

mod arguments;
mod live;
