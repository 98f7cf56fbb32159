//! Sources of flows for a [`World`](crate::world::World).
//!
//! A [`Source`] begins flows of one kind: hosts that fetch again and again ([`Repeated`]),
//! a browser's download of a page ([`web::Browser`]), and others. A [`Mix`]
//! is several sources together, and what a world runs. All random choices are keyed ([`recoup_path::draws`]), so that a
//! source's flows do not depend on the sources beside it.

pub mod cvec;
mod mix;
mod repeated;
mod replay;
pub mod synth;
pub mod web;

pub use mix::Mix;
pub use repeated::{Repeated, StartRule};
pub use replay::{Replay, ReplaySettings};

use crate::world::{FlowEnd, RouteId};
use crate::{Application, FlowSpec};
use recoup_tcp::Endpoint;
use recoup_tcp::flow::{Action, ScriptProgress};
use recoup_units::Instant;

/// A source of flows.
pub trait Source {
    /// When its next flow begins. It may change at every event.
    fn next_start(&self) -> Option<Instant>;

    /// The flow that begins now. It is asked when [`next_start`](Self::next_start) is due.
    fn start(&mut self, now: Instant) -> NewFlow<'_>;

    /// Both hosts of the flow with this number have received all bytes of the other.
    fn on_complete(&mut self, _now: Instant, _number: u64) {}

    /// Nothing more will happen to the flow with this number.
    fn on_end(&mut self, _now: Instant, _number: u64, _ended: &FlowEnd<'_>) {}
}

/// A flow that begins.
#[derive(Debug)]
pub struct NewFlow<'a> {
    /// Its number among the flows of its source, below 2^48.
    pub number: u64,
    /// The links between its hosts.
    pub route: RouteId,
    /// The configuration of its hosts.
    pub spec: &'a FlowSpec,
    /// The client's application, the server's.
    pub applications: [App; 2],
}

/// An application of any source.
#[derive(Debug)]
pub enum App {
    /// It follows a script.
    Script(ScriptProgress),
    /// It is a browser's end of a connection.
    WebClient(web::WebClient),
    /// It is a web server's end of a connection.
    WebServer(web::WebServer),
}

impl Application for App {
    #[inline]
    fn poll(&mut self, now: Instant, endpoint: &Endpoint) -> Option<Action> {
        match self {
            Self::Script(script) => Application::poll(script, now, endpoint),
            Self::WebClient(client) => client.poll(now, endpoint),
            Self::WebServer(server) => server.poll(now, endpoint),
        }
    }

    #[inline]
    fn wake(&self) -> Option<Instant> {
        match self {
            Self::Script(script) => script.wake(),
            Self::WebClient(client) => client.wake(),
            Self::WebServer(server) => server.wake(),
        }
    }

    fn total(&self) -> Option<u64> {
        match self {
            Self::Script(script) => script.total(),
            Self::WebClient(client) => client.total(),
            Self::WebServer(server) => server.total(),
        }
    }
}
