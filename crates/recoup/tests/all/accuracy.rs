//! How right the analysis of captures is, on captures made here whose truth is known: simulated
//! flows, where the simulator says why each packet was sent and what became of it, and the kernel's
//! TCP behind `recoup emulate`, whose log says what was lost. The confusion matrices are printed
//! (`cargo test -p recoup --test all accuracy -- --nocapture`).

mod compare;
mod kernel;
mod score;
mod simulated;
mod tools;
mod truth;
