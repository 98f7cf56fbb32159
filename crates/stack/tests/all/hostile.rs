//! Peers that lie: a peer made of single segments, over a device in memory, against sockets.
//!
//! | module | lies about |
//! | --- | --- |
//! | `peer` | the peer itself |
//! | `acks` | what arrived: SACK blocks, ACKs of what was not received or not sent, ACKs cut small, duplicates |
//! | `windows` | the window, the MSS, and how long they last |
//! | `segments` | sequence numbers, timestamps, urgent data, FIN, SYN and RST |

mod acks;
mod peer;
mod segments;
mod windows;

use super::*;
use recoup_stack::{TcpListener, TcpStream};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

/// The time limit of each transfer.
const PATIENCE: Duration = Duration::from_secs(20);
