//! Names that most experiments use.

pub use crate::claims::{Claim, ClaimVerdict, Compare, claim};
pub use crate::distribution::quantile;
pub use crate::experiment::{Effort, ExperimentError, Setup};
pub use crate::fit::{Fitted, Measured, Parameters};
pub use crate::flow::{Bench, Log, Seen, in_batches, ms};
pub use crate::grid::{Grid, Keyed};
pub use crate::pivot::pivot;
pub(crate) use crate::{Figure, Picture, Sheet};
pub(crate) use crate::{Joined, columns_of_figure, same};
pub use recoup_captures::study::published::System;
pub use recoup_draw::chart::{BarChart, LineChart, Scale};
pub use recoup_lab::run::simulation;
pub use recoup_lab::scenario::Scenario;
pub use recoup_lab::settings::{Settings, SettingsError};
pub use recoup_path::draws::{Draws, LogNormal};
pub use recoup_recovery::{Counters, Event, Mechanisms, Profile, State, Timer, Transmission, Trigger};
pub use recoup_sim::{FlowSpec, Network, NoObserver, Observer, Packet, Point};
pub use recoup_support::stats::{Estimate, Share};
pub use recoup_support::threads::{cores, in_parallel};
pub use recoup_table::{Columns, millis, plain_table};
pub use recoup_tcp::Endpoint;
pub use recoup_tcp::flow::{FlowRecord, Host};
pub use recoup_units::{Direction, FlowId, Instant, Offset, Segments, Span};
pub use recoup_wire::{Flags, SeqNumber};
pub use std::collections::{BTreeMap, HashMap};
pub use std::ops::{Range, RangeInclusive};
pub use std::path::Path;
pub use std::sync::Arc;
pub use std::time::Duration;

/// A number that is unknown.
pub const NAN: f64 = f64::NAN;

/// Reads a number off a cell.
pub type Number<Cell> = fn(&Cell) -> f64;

/// The result of a step of an experiment.
pub type Result<T, E = ExperimentError> = std::result::Result<T, E>;
