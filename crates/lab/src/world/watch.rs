//! Observes chosen flows of a world.

use super::WorldScenario;
use recoup_recovery::Event;
use recoup_sim::traffic::Mix;
use recoup_sim::{Observer, Packet, Point};
use recoup_support::suggest::did_you_mean;
use recoup_tcp::Endpoint;
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_units::{Direction, FlowId, Instant};
use std::ops::RangeInclusive;

/// Flows of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The workload's place in the file, from 0.
    workload: usize,
    numbers: RangeInclusive<u64>,
}

impl WorldScenario {
    /// Reads `WORKLOAD`, `WORKLOAD:N` or `WORKLOAD:N-M`: all flows of a workload, or some of them by number, from 0.
    /// Flow n of pair p has the number n · pairs + p.
    ///
    /// # Errors
    /// A workload that does not exist, or no number.
    pub fn choose(&self, text: &str) -> Result<Chosen, String> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let mut names = self.workloads.iter().map(|one| one.name.as_str());
        let workload = names.position(|known| known == name).ok_or_else(|| {
            let names = self.workloads.iter().map(|one| one.name.as_str());
            format!("no workload `{name}`{}", did_you_mean(name, names))
        })?;
        let (first, last) = match numbers.split_once('-') {
            _ if numbers.is_empty() => ("0", None),
            Some((first, last)) => (first, Some(last)),
            None => (numbers, Some(numbers)),
        };
        let number = |text: &str| {
            let wrong = |_| format!("`{numbers}`: expected a flow's number, or two such as 0-9");
            text.trim().parse::<u64>().map_err(wrong)
        };
        let numbers = number(first)?..=last.map_or(Ok(u64::MAX), number)?;
        Ok(Chosen { workload, numbers })
    }
}

/// Tells an observer of chosen flows only.
#[derive(Debug)]
pub struct Watch<'a, O> {
    observer: O,
    /// All, if empty.
    chosen: &'a [Chosen],
}

impl<'a, O> Watch<'a, O> {
    /// Tells `observer` of the `chosen` flows, or of all if none is chosen.
    pub const fn new(observer: O, chosen: &'a [Chosen]) -> Self {
        Self { observer, chosen }
    }

    /// Gives the observer back.
    pub fn into_observer(self) -> O {
        self.observer
    }

    fn wants(&self, flow: FlowId) -> bool {
        let (workload, number) = Mix::<recoup_sim::traffic::Repeated>::origin(flow);
        let matches = |one: &Chosen| one.workload == workload && one.numbers.contains(&number);
        self.chosen.is_empty() || self.chosen.iter().any(matches)
    }
}

impl<O: Observer> Observer for Watch<'_, O> {
    const WANTS_EVENTS: bool = O::WANTS_EVENTS;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        if self.wants(packet.flow) {
            self.observer.on_packet(now, point, direction, packet);
        }
    }

    fn on_event(&mut self, now: Instant, flow: FlowId, host: Host, event: &Event) {
        if self.wants(flow) {
            self.observer.on_event(now, flow, host, event);
        }
    }

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        self.observer.on_settled(now, host, endpoint);
    }

    fn on_flow_end(&mut self, now: Instant, flow: FlowId, record: &FlowRecord) {
        if self.wants(flow) {
            self.observer.on_flow_end(now, flow, record);
        }
    }
}
