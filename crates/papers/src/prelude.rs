//! Names that most experiments use.

pub(crate) use crate::columns_of_figure;
pub use crate::experiment::{ExperimentError, Setup};
pub use crate::flow::{Bench, Keys, Log, in_batches, ms};
pub use crate::grid::{Grid, Keyed};
pub use crate::{Figure, Picture, Sheet};
pub use recoup_captures::study::published::System;
pub use recoup_draw::chart::{BarChart, LineChart, Scale};
pub use recoup_lab::run::simulation;
pub use recoup_lab::settings::SettingsError;
pub use recoup_recovery::{Event, Mechanisms, Profile, Transmission, Trigger};
pub use recoup_sim::{NoObserver, Observer, Packet, Point};
pub use recoup_support::stats::{Estimate, Share};
pub use recoup_support::threads::{cores, in_parallel};
pub use recoup_table::{Columns, millis};
pub use recoup_tcp::flow::{FlowRecord, Host};
pub use recoup_units::{Direction, FlowId, Instant, Offset};
pub use std::time::Duration;

/// Reads a number off a cell.
pub type Number<Cell> = fn(&Cell) -> f64;

/// The result of a simulation: settings may not fit together.
pub type Result<T, E = SettingsError> = std::result::Result<T, E>;
