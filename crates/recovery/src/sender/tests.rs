//! The sender's behaviour as traces (one claim a test, its name the claim), by mechanism, and
//! whatever happens to it at random.

mod adaptive;
mod counters;
mod early_forms;
mod early_retransmit;
mod fack;
mod fast_recovery;
mod frto;
mod handshake_and_idle;
mod hostile;
mod limited_transmit;
mod loss_probe;
mod loss_probe_modern;
mod memory;
mod misuse;
mod network;
mod newreno;
mod pacing;
mod packets;
mod path_mtu;
mod peer_window;
mod properties;
mod rack;
mod random;
mod rate_controls;
mod reason;
mod recover_fs;
mod reordering;
mod rfc6675;
mod rfc9002;
mod script;
mod slp;
mod study;
mod timeout;
mod undo;
mod window_growth;
