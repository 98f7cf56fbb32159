//! A host of the stack over a TUN device in real time.
//!
//! A [`Driver`] runs a host over a [`Device`], on one thread. A [`TunDevice`] has the kernel's TCP at its
//! other end.

mod device;
mod driver;

pub use device::{Device, TunDevice, TunOptions};
pub use driver::Driver;
pub use recoup_stack::host::*;
