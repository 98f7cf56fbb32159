//! The cases of each mechanism.

mod adaptive;
mod byte_windows;
mod detection;
mod growth;
mod newreno;
mod pacing;
mod path_model;
mod probes;
mod quic;
mod rack;
mod reduction;
mod timers;
mod undo;
mod window;

use crate::format::File;

/// All vector files.
pub fn all() -> Vec<File> {
    let groups = [
        timers::files(),
        probes::files(),
        detection::files(),
        newreno::files(),
        rack::files(),
        reduction::files(),
        undo::files(),
        growth::files(),
        window::files(),
        quic::files(),
        adaptive::files(),
        byte_windows::files(),
        pacing::files(),
        path_model::files(),
    ];
    groups.into_iter().flatten().collect()
}
