//! Web pages: a browser fetches a page's HTML document, then all its other objects over persistent connections.
//!
//! The browser is that of the tail-loss paper (Rajiullah et al. 2015, §3.3): it retrieves the HTML document first, and
//! then "all resources", over "six parallel connections per sub domain, using persistent TCP connections". A request has
//! [`REQUEST`] bytes. It is written when the response before it has arrived (no pipelining), and the server answers
//! at once. The HTML document's connection is one of the six. Objects wait in the order of the page until a connection
//! to their subdomain is free. When no object is left for a connection, the browser closes it, and the server closes it
//! then. So the ACK of a connection's last data is not delayed: the FIN carries it. A browser may keep connections open for a
//! next page; the paper's downloads have none.

mod applications;

pub use applications::{WebClient, WebServer};

use crate::FlowSpec;
use crate::traffic::{App, NewFlow, Source};
use crate::world::RouteId;
use recoup_tcp::flow::Action;
use recoup_units::Instant;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bytes of a request.
pub const REQUEST: u64 = 300;

/// The most connections to a subdomain (§3.3).
pub const CONNECTIONS: usize = 6;

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The name in reports.
    pub name: String,
    /// The HTML document, then the other objects in the order in which they are requested. At least the document.
    pub objects: Vec<PageObject>,
}

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageObject {
    /// The bytes of the response, headers included; at least 1.
    pub bytes: u64,
    /// The number of its subdomain. Connections are to a subdomain.
    pub subdomain: usize,
}

impl Page {
    /// The bytes of all objects.
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|object| object.bytes).sum()
    }

    /// The number of subdomains: one more than the highest number in use.
    pub fn subdomains(&self) -> usize {
        let numbers = self.objects.iter().map(|object| object.subdomain);
        numbers.max().map_or(0, |highest| highest + 1)
    }
}

/// The fetch of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The object, by its place in [`Page::objects`].
    pub object: usize,
    /// The connection's number, from 0. It is the number of the flow within the source.
    pub connection: u64,
    /// Where the object begins in the bytes that the server sends on this connection.
    pub offset: u64,
    /// When the request was written. For a connection's first object: when the client connected.
    pub began: Instant,
    /// When the last byte arrived, if it did.
    pub ended: Option<Instant>,
}

impl Fetch {
    /// The object completion time (§3.3): from the request to the last byte. It includes the handshake for a connection's
    /// first object. `None` if the last byte never arrived.
    pub fn completion_time(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.since(self.began))
    }
}

/// A source of the connections of one download of a page.
#[derive(Debug)]
pub struct Browser {
    spec: FlowSpec,
    route: RouteId,
    download: Shared,
}

impl Browser {
    /// A download of `page` that begins at [`Instant::ZERO`], over connections of `spec` on `route`. The workload of
    /// `spec` is not used. A page without objects has no connections.
    pub fn new(page: &Page, spec: FlowSpec, route: RouteId) -> Self {
        let download = Download::new(page);
        Self { spec, route, download: Shared(Arc::new(Mutex::new(download))) }
    }

    /// The fetches of all objects that were requested, in the order of the requests.
    pub fn fetches(&self) -> Vec<Fetch> {
        self.download.lock().fetches.clone()
    }

    /// Whether all objects of the page have arrived.
    pub fn is_complete(&self) -> bool {
        self.download.lock().missing == 0
    }
}

impl Source for Browser {
    fn next_start(&self) -> Option<Instant> {
        self.download.lock().opening.front().map(|(at, _)| *at)
    }

    fn start(&mut self, now: Instant) -> NewFlow<'_> {
        let number = self.download.lock().open(now);
        NewFlow {
            number,
            route: self.route,
            spec: &self.spec,
            applications: [
                App::WebClient(WebClient::new(self.download.clone(), number)),
                App::WebServer(WebServer::new(self.download.clone(), number)),
            ],
        }
    }
}

/// A download, shared by the source and the applications of its connections. They run on one thread.
#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<Download>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Download> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A download under way.
#[derive(Debug)]
struct Download {
    /// The page's objects.
    objects: Vec<PageObject>,
    /// Objects that wait for a connection, by subdomain.
    waiting: Vec<VecDeque<usize>>,
    /// Connections that are to be opened, each with its first object.
    opening: VecDeque<(Instant, usize)>,
    connections: Vec<Connection>,
    fetches: Vec<Fetch>,
    /// Objects that have not arrived.
    missing: usize,
}

/// A connection of a download.
#[derive(Debug, Default)]
struct Connection {
    /// The sizes of the responses on it, in bytes.
    responses: Vec<u64>,
    /// All bytes of these responses.
    end: u64,
    /// The fetch under way, by its place in [`Download::fetches`].
    fetch: Option<usize>,
}

impl Download {
    fn new(page: &Page) -> Self {
        let first = page.objects.first().map(|_| (Instant::ZERO, 0));
        Self {
            objects: page.objects.clone(),
            waiting: vec![VecDeque::new(); page.subdomains()],
            opening: first.into_iter().collect(),
            connections: Vec::new(),
            fetches: Vec::new(),
            missing: page.objects.len(),
        }
    }

    /// Opens the next connection, and returns its number.
    fn open(&mut self, now: Instant) -> u64 {
        let number = self.connections.len();
        self.connections.push(Connection::default());
        if let Some((_, object)) = self.opening.pop_front() {
            self.fetch(now, number, object);
        }
        number as u64
    }

    /// Requests an object on a connection.
    fn fetch(&mut self, now: Instant, connection: usize, object: usize) {
        let bytes = self.objects[object].bytes;
        let on = &mut self.connections[connection];
        on.fetch = Some(self.fetches.len());
        self.fetches.push(Fetch { object, connection: connection as u64, offset: on.end, began: now, ended: None });
        on.responses.push(bytes);
        on.end += bytes;
    }

    /// The client has received `received` bytes on a connection. Returns what it does then.
    fn on_received(&mut self, now: Instant, connection: usize, received: u64) -> Option<Action> {
        let on = &mut self.connections[connection];
        let fetch = on.fetch.filter(|_| received >= on.end)?;
        on.fetch = None;
        self.missing -= 1;
        self.fetches[fetch].ended = Some(now);
        let object = self.fetches[fetch].object;
        if object == 0 {
            self.enqueue_resources();
        }
        let subdomain = self.objects[object].subdomain;
        let next = self.waiting[subdomain].pop_front();
        if let Some(next) = next {
            self.fetch(now, connection, next);
        }
        if object == 0 {
            self.open_connections(now);
        }
        Some(if next.is_some() { Action::Write(REQUEST) } else { Action::Close })
    }

    /// The HTML document has arrived: all other objects wait.
    fn enqueue_resources(&mut self) {
        for (number, object) in self.objects.iter().enumerate().skip(1) {
            self.waiting[object.subdomain].push_back(number);
        }
    }

    /// Opens connections for the objects that wait. The HTML document's connection is open.
    fn open_connections(&mut self, now: Instant) {
        let document = self.objects[0].subdomain;
        for (subdomain, waiting) in self.waiting.iter_mut().enumerate() {
            let open = usize::from(subdomain == document);
            let more = waiting.len().min(CONNECTIONS - open);
            let first = waiting.drain(..more);
            self.opening.extend(first.map(|object| (now, object)));
        }
    }
}

#[cfg(test)]
mod tests;
