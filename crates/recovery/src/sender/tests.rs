//! The sender's behaviour as traces (one claim a test, its name the claim), by mechanism, and
//! whatever happens to it at random.

mod early_retransmit;
mod fast_recovery;
mod handshake_and_idle;
mod loss_probe;
mod peer_window;
mod random;
mod reordering;
mod script;
mod timeout;
mod window_growth;
