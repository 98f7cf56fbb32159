//! What an idle connection takes of what the process allocates: the connections of the example `idle`, which says what they take of
//! resident memory.

#[path = "../examples/idle/cases.rs"]
mod cases;
#[path = "../examples/idle/peer.rs"]
mod peer;

use cap::Cap;
use recoup_stack::host::{ConnectionId, Host};
use std::alloc::System;

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

const CONNECTIONS: u32 = 2000;

/// Bytes of one connection at most, with its socket. Beside them the allocator takes some 20 bytes.
const MOST: usize = 2240;

/// Bytes of small rings that the thread keeps for buffers to come, whatever the number of connections.
const SPARE: usize = 32 * 4096;

#[test]
fn an_idle_connection_takes_little() {
    // Connections that are closed would take memory while the next ones are measured.
    let mut all = Vec::with_capacity(cases::ALL.len());
    for case in cases::ALL {
        let before = ALLOCATED.allocated();
        let kept = (case.open)(CONNECTIONS).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let each = (ALLOCATED.allocated() - before) / CONNECTIONS as usize;
        println!("{}: {each} bytes", case.name);
        assert!(each > 1000, "{}: {each} bytes: there are no connections", case.name);
        assert!(each <= MOST, "{}: {each} bytes", case.name);
        // What a host counts is what it takes.
        if let Some((host, ids)) = kept.downcast_ref::<(Host, Vec<ConnectionId>)>() {
            assert_eq!((host.connections(), ids.len()), (CONNECTIONS as usize, CONNECTIONS as usize));
            let counted = host.memory() / CONNECTIONS as usize;
            let beside = 20 + SPARE / CONNECTIONS as usize;
            assert!(
                counted + beside >= each && counted < each + 200,
                "{}: counts {counted} bytes of {each}",
                case.name
            );
        }
        all.push(kept);
    }
}
