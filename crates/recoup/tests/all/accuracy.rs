//! Measures the accuracy of the analysis on captures with known truth. For simulated flows, the simulator
//! reports why each packet was sent and whether it arrived. For the kernel's TCP behind `recoup emulate`,
//! the emulator's log reports the losses. The tests print confusion matrices
//! (`cargo test -p recoup --test all accuracy -- --nocapture`).

mod compare;
mod kernel;
mod score;
mod simulated;
mod tools;
mod truth;
