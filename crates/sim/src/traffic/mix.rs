//! Several sources of flows as the traffic of one world.

use crate::traffic::{App, NewFlow, Source};
use crate::world::{FlowEnd, Start, Traffic};
use recoup_units::{FlowId, Instant};

/// The bits of a flow's number that are its number within its source. The others are the source's number.
const NUMBER_BITS: u32 = 48;

/// Several sources of flows. At equal times, the first source begins its flow first.
#[derive(Debug, Default)]
pub struct Mix<S> {
    sources: Vec<S>,
}

impl<S: Source> Mix<S> {
    /// These sources.
    pub fn new(sources: Vec<S>) -> Self {
        Self { sources }
    }

    /// The sources, in the order given.
    pub fn sources(&self) -> &[S] {
        &self.sources
    }

    /// Gives the sources back.
    pub fn into_sources(self) -> Vec<S> {
        self.sources
    }

    /// The source of a flow, by its place in [`sources`](Self::sources), and the flow's number there.
    pub const fn origin(flow: FlowId) -> (usize, u64) {
        let number = flow.0 & ((1 << NUMBER_BITS) - 1);
        ((flow.0 >> NUMBER_BITS) as usize, number)
    }

    fn earliest(&self) -> Option<(usize, Instant)> {
        let starts = self.sources.iter().map(S::next_start).enumerate();
        let starts = starts.filter_map(|(i, at)| Some((i, at?)));
        starts.min_by_key(|(_, at)| *at)
    }
}

impl<S: Source> Traffic for Mix<S> {
    type Application = App;

    fn next_start(&self) -> Option<Instant> {
        self.earliest().map(|(_, at)| at)
    }

    fn start(&mut self, now: Instant) -> Start<'_, App> {
        let source = self.earliest().map_or(0, |(source, _)| source);
        let NewFlow { number, route, spec, applications } = self.sources[source].start(now);
        Start { flow: FlowId((source as u64) << NUMBER_BITS | number), route, spec, applications }
    }

    fn on_complete(&mut self, now: Instant, flow: FlowId) {
        let (source, number) = Self::origin(flow);
        self.sources[source].on_complete(now, number);
    }

    fn on_end(&mut self, now: Instant, ended: &FlowEnd<'_>) {
        let (source, number) = Self::origin(ended.flow);
        self.sources[source].on_end(now, number, ended);
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next_start(&self) -> Option<Instant> {
        (**self).next_start()
    }

    fn start(&mut self, now: Instant) -> NewFlow<'_> {
        (**self).start(now)
    }

    fn on_complete(&mut self, now: Instant, number: u64) {
        (**self).on_complete(now, number);
    }

    fn on_end(&mut self, now: Instant, number: u64, ended: &FlowEnd<'_>) {
        (**self).on_end(now, number, ended);
    }
}
