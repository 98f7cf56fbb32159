//! `recoup watch`: the program `recoup-watch`, on interfaces of its own, and what is packaged for it.

#![cfg(target_os = "linux")]

mod arguments;
mod kernel_reasons;
mod live;
mod metrics;
mod screen;
mod service;
mod setup;
