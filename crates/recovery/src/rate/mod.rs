//! How much may be sent in recovery? A rate control turns each ACK's deliveries into a window.

mod prr;

pub use prr::Prr;
