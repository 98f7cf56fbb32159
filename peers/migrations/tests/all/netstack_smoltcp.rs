//! The gateway on `netstack-smoltcp`, and on `recoup-stack`.

use super::*;
use futures::StreamExt;
use recoup_stack::device::{ChannelDevice, channel};
use std::io;

#[allow(dead_code)]
#[path = "../../programs/netstack-smoltcp/after.rs"]
mod after;
#[allow(dead_code)]
#[path = "../../programs/netstack-smoltcp/before.rs"]
mod before;

/// A client's device, and packets as the gateway wants them.
macro_rules! gateway {
    ($program:ident) => {{
        serve();
        let (device, packets) = channel(MTU, 256);
        ::tokio::spawn($program::serve(packets.map(Ok::<_, io::Error>), route));
        device
    }};
}

#[::tokio::test]
async fn before_it_serves() {
    relays(gateway!(before)).await;
}

#[::tokio::test]
async fn after_it_serves() {
    let device: ChannelDevice = gateway!(after);
    relays(device).await;
}
