//! Regenerates figures of papers with their claims: `recoup paper` without its arguments and its
//! printing.

use recoup_lab::scenario::{Scenario, ScenarioError};
use recoup_lab::settings::SettingsError;
use recoup_lab::stage::{self, Ends, Stage, StageError};
use recoup_papers::loss_detection::{self, impact};
use recoup_papers::{Sheet, prr, slp, tail_loss};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use thiserror::Error;

/// A figure of a paper, or another study of its claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Tail loss, figure 1: one segment lost, by RTT.
    TailLossFig1,
    /// Tail loss, figure 2: one to five segments lost.
    TailLossFig2,
    /// Tail loss, figure 3: short flows on a congested bottleneck.
    TailLossFig3,
    /// Tail loss, figure 4: web pages.
    TailLossFig4,
    /// PRR, figure 2: PRR, rate halving and RFC 3517.
    PrrFig2,
    /// PRR, figure 3: heavy loss.
    PrrFig3,
    /// PRR, figure 4: an application that pauses.
    PrrFig4,
    /// PRR, the properties of section 4.3.
    PrrProperties,
    /// PRR, section 5.3: web servers.
    PrrWeb,
    /// PRR, section 5.4: video servers.
    PrrVideo,
    /// PRR, section 6: early retransmit.
    PrrEarly,
    /// SLP: goodput of ARQ and FEC.
    SlpFec,
    /// SLP, figure 1: timeouts by position of the lost packet.
    SlpFig1,
    /// SLP, figure 3: timeouts by flags of the lost packet.
    SlpFig3,
    /// SLP: the bandwidth above which a packet is copied.
    SlpArbitrator,
    /// SLP, table I: completion times of flows with SYN loss.
    SlpTable1,
    /// SLP, figure 7: completion times of fetches.
    SlpFig7,
    /// SLP: fetches by size.
    SlpSizes,
    /// SLP beside RTO restart and tail loss probes.
    SlpTails,
    /// SLP: latency saved against bytes added.
    SlpCombined,
    /// SLP on a shared bottleneck.
    SlpCongestion,
    /// The study of loss detection: its tables and recoveries.
    LossDetectionTables,
    /// The study of loss detection, figure 1: bytes per connection.
    LossDetectionFig1,
    /// The study of loss detection, figure 2: detection durations.
    LossDetectionFig2,
    /// The study of loss detection, figure 3: best-case reduction.
    LossDetectionFig3,
    /// Loss detection, figure 4: other k.
    LossDetectionFig4,
    /// Loss detection, figure 5a: another minimum RTO.
    LossDetectionFig5a,
    /// Loss detection, figure 5b: other a and b.
    LossDetectionFig5b,
}

impl Figure {
    /// The name of its paper.
    pub const fn paper(self) -> &'static str {
        match self {
            Self::TailLossFig1 | Self::TailLossFig2 | Self::TailLossFig3 | Self::TailLossFig4 => {
                tail_loss::NAME
            }
            Self::PrrFig2
            | Self::PrrFig3
            | Self::PrrFig4
            | Self::PrrProperties
            | Self::PrrWeb
            | Self::PrrVideo
            | Self::PrrEarly => prr::NAME,
            Self::LossDetectionTables
            | Self::LossDetectionFig1
            | Self::LossDetectionFig2
            | Self::LossDetectionFig3
            | Self::LossDetectionFig4
            | Self::LossDetectionFig5a
            | Self::LossDetectionFig5b => loss_detection::NAME,
            _ => slp::NAME,
        }
    }

    /// The built-in scenario whose settings its cells start from.
    const fn scenario(self) -> &'static str {
        match self {
            Self::TailLossFig1 | Self::TailLossFig2 | Self::TailLossFig3 | Self::TailLossFig4 => {
                tail_loss::NAME
            }
            Self::PrrFig2
            | Self::PrrFig3
            | Self::PrrFig4
            | Self::PrrProperties
            | Self::PrrWeb
            | Self::PrrVideo
            | Self::PrrEarly => prr::NAME,
            _ => "fetch",
        }
    }

    /// The settings that its cells set themselves, and that cannot be changed.
    pub fn own_settings(self) -> &'static [&'static str] {
        match self {
            Self::TailLossFig1 | Self::TailLossFig2 => &tail_loss::OWN_SETTINGS,
            Self::TailLossFig3 => &tail_loss::dumbbell::OWN_SETTINGS,
            Self::TailLossFig4 => &tail_loss::web::OWN_SETTINGS,
            Self::PrrFig2 | Self::PrrFig3 | Self::PrrFig4 => &prr::OWN_SETTINGS,
            Self::PrrProperties => &prr::properties::OWN_SETTINGS,
            Self::PrrWeb | Self::PrrVideo | Self::PrrEarly => &prr::servers::OWN_SETTINGS,
            _ => &[],
        }
    }

    /// Its data center, if it is one of the PRR paper's sections 5 and 6.
    const fn servers(self) -> Option<prr::servers::Id> {
        match self {
            Self::PrrWeb => Some(prr::servers::Id::Web),
            Self::PrrVideo => Some(prr::servers::Id::Video),
            Self::PrrEarly => Some(prr::servers::Id::Early),
            _ => None,
        }
    }

    /// Regenerates it in the simulator.
    fn simulate(self, request: &Request) -> Result<Sheet, PaperError> {
        let base = &request.base;
        if let Some(servers) = self.servers() {
            let sheet = prr::servers::sheet(servers, base, request.users);
            return sheet.map_err(PaperError::Unfit);
        }
        let sheet = match self {
            Self::TailLossFig1 => tail_loss::sheet(tail_loss::Id::Fig1, base),
            Self::TailLossFig2 => tail_loss::sheet(tail_loss::Id::Fig2, base),
            Self::TailLossFig3 => {
                let background = request.background.as_deref();
                let sheet = tail_loss::dumbbell::sheet(base, background);
                return sheet.map_err(PaperError::Unfit);
            }
            Self::TailLossFig4 => {
                let sheet = tail_loss::web::sheet(base, &request.pages);
                return sheet.map_err(PaperError::Unfit);
            }
            Self::PrrFig2 => prr::sheet(prr::Id::Fig2, base),
            Self::PrrFig3 => prr::sheet(prr::Id::Fig3, base),
            Self::PrrFig4 => prr::sheet(prr::Id::Fig4, base),
            // The other three are data centers.
            Self::PrrProperties | Self::PrrWeb | Self::PrrVideo | Self::PrrEarly => {
                prr::properties::sheet(base)
            }
            Self::SlpFec => slp::fec::sheet(base.seed),
            Self::SlpFig1 => slp::timeouts::positions(base.seed),
            Self::SlpFig3 => slp::timeouts::flags(base.seed),
            Self::SlpArbitrator => Ok(slp::arbitrator::sheet()),
            Self::SlpTable1 => slp::timeouts::table(base.seed),
            Self::SlpFig7 => slp::fetch::fig7::sheet(base),
            Self::SlpSizes => slp::fetch::sizes::sheet(base),
            Self::SlpTails => slp::tails::sheet(base.seed),
            Self::SlpCombined => slp::combined::sheet(base),
            Self::SlpCongestion => {
                return slp::congestion::sheet(base.seed).map_err(PaperError::Unfit);
            }
            Self::LossDetectionTables => {
                loss_detection::sheet(loss_detection::Id::Tables, base.seed)
            }
            Self::LossDetectionFig1 => loss_detection::sheet(loss_detection::Id::Fig1, base.seed),
            Self::LossDetectionFig2 => loss_detection::sheet(loss_detection::Id::Fig2, base.seed),
            Self::LossDetectionFig3 => loss_detection::sheet(loss_detection::Id::Fig3, base.seed),
            Self::LossDetectionFig4 => impact::sheet(impact::Id::Fig4, base.seed),
            Self::LossDetectionFig5a => impact::sheet(impact::Id::Fig5a, base.seed),
            Self::LossDetectionFig5b => impact::sheet(impact::Id::Fig5b, base.seed),
        };
        Ok(sheet?)
    }

    /// Measures it over real packets. `None` for figures that are not measured.
    #[cfg(target_os = "linux")]
    fn measure(
        self,
        base: &Scenario,
        stage: Stage,
        progress: &dyn Progress,
    ) -> Result<Option<Sheet>, PaperError> {
        let id = match self {
            Self::TailLossFig1 => tail_loss::Id::Fig1,
            Self::TailLossFig2 => tail_loss::Id::Fig2,
            _ => return Ok(None),
        };
        let testbeds = crate::testbeds::Testbeds::default();
        progress.measurement_begins(self, stage, tail_loss::stages::flows(id, stage));
        let finished = |n| progress.flows_finished(n);
        let sheet = tail_loss::stages::sheet(id, base, stage, &testbeds, &finished);
        progress.figure_ends();
        Ok(sheet?)
    }

    /// Other systems have no TUN devices and network namespaces.
    #[cfg(not(target_os = "linux"))]
    fn measure(
        self,
        _: &Scenario,
        stage: Stage,
        _: &dyn Progress,
    ) -> Result<Option<Sheet>, PaperError> {
        Err(PaperError::NoTestbed(stage.name()))
    }
}

/// Follows the regeneration of figures. Calls come from any thread.
pub trait Progress: Sync {
    /// A figure begins in the simulator; it is the `number`-th, counted from 1, of `figures`.
    fn figure_begins(&self, figure: Figure, number: usize, figures: usize);

    /// A figure begins over real packets, with this many flows.
    fn measurement_begins(&self, figure: Figure, stage: Stage, flows: u64);

    /// This many more flows are finished.
    fn flows_finished(&self, flows: u64);

    /// The figure is finished.
    fn figure_ends(&self);

    /// Whether the figure that is simulated should be given up.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// How often a figure that is simulated looks whether it is stopped.
const STOP_INTERVAL: Duration = Duration::from_millis(10);

/// Why figures cannot be regenerated.
#[derive(Debug, Error)]
pub enum PaperError {
    /// The paper's scenario cannot be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The settings do not fit together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The settings do not fit together; the text says where they are from.
    #[error("{0}")]
    Unfit(String),
    /// A setting that the cells set themselves.
    #[error(
        "--set {0}: the cells of the figures set it; name other figures, or use `recoup run` for one of your own"
    )]
    OwnSetting(&'static str),
    /// A stage with real packets failed.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// This system has no testbed.
    #[error("--on {0}: real packets need Linux")]
    NoTestbed(&'static str),
}

/// Figures of one paper, the settings of their cells, and where to run them.
#[derive(Clone, Debug)]
pub struct Request {
    /// The figures, in order.
    pub figures: Vec<Figure>,
    /// The scenario whose settings the cells start from.
    pub base: Scenario,
    /// Whether to run them in the simulator.
    pub simulate: bool,
    /// The stages with real packets to measure them on, after the simulator.
    pub real: Vec<Stage>,
    /// A file of connection vectors for the background of figure 3 of tail loss, in place of the synthetic mix.
    pub background: Option<PathBuf>,
    /// The pages of figure 4 of tail loss, and how often they are downloaded.
    pub pages: tail_loss::web::Pages,
    /// The users of the data centers of PRR; `None`: as many as each figure has by default.
    pub users: Option<u32>,
}

/// The figures that are finished.
#[derive(Clone, Debug)]
pub struct Finished {
    /// In order.
    pub sheets: Vec<Sheet>,
    /// The figure at which [`Progress::is_stopped`] ended the regeneration.
    pub interrupted: Option<Figure>,
}

/// The scenario that the cells of these figures start from: the paper's, as `change` changes it.
/// `is_changed` says whether a setting is changed.
///
/// # Errors
/// A setting that the cells set themselves; settings that do not fit together; errors of `change`.
pub fn base<E: From<PaperError>>(
    figures: &[Figure],
    is_changed: impl Fn(&str) -> bool,
    change: impl FnOnce(&mut Scenario) -> Result<(), E>,
) -> Result<Scenario, E> {
    let name = figures.first().map_or(tail_loss::NAME, |f| f.scenario());
    let mut base = Scenario::load(name).map_err(PaperError::from)?;
    let own = figures.iter().flat_map(|figure| figure.own_settings());
    if let Some(key) = own.copied().find(|key| is_changed(key)) {
        return Err(PaperError::OwnSetting(key).into());
    }
    change(&mut base)?;
    base.check().map_err(PaperError::Unfit)?;
    Ok(base)
}

impl Request {
    /// What has no effect on the stages with real packets, a line each.
    pub fn notes(&self) -> Vec<String> {
        let ends = self.real.iter().copied();
        let ends: Vec<Ends> = ends.filter_map(|s| Ends::new(s, None, None)).collect();
        match ends.is_empty() {
            true => vec![],
            false => stage::notes(&self.base, self.simulate, &ends),
        }
    }

    /// Regenerates the figures in the simulator, then measures those that can be measured. After
    /// [`Progress::is_stopped`] the figures that are finished are returned at once. A simulation that is under way then goes
    /// on in a thread of its own, until the process ends.
    ///
    /// # Errors
    /// Settings that do not fit together; a system that refuses what a testbed needs.
    pub fn run(&self, progress: &dyn Progress) -> Result<Finished, PaperError> {
        let mut sheets = Vec::new();
        if self.simulate {
            for (i, figure) in self.figures.iter().enumerate() {
                progress.figure_begins(*figure, i + 1, self.figures.len());
                let sheet = self.simulate_apart(*figure, progress);
                progress.figure_ends();
                match sheet {
                    Some(sheet) => sheets.push(sheet?),
                    None => {
                        let interrupted = Some(*figure);
                        return Ok(Finished {
                            sheets,
                            interrupted,
                        });
                    }
                }
            }
        }
        for figure in &self.figures {
            for stage in &self.real {
                sheets.extend(figure.measure(&self.base, *stage, progress)?);
            }
        }
        Ok(Finished {
            sheets,
            interrupted: None,
        })
    }

    /// Regenerates a figure in the simulator, in a thread of its own. `None` if it was stopped first.
    fn simulate_apart(
        &self,
        figure: Figure,
        progress: &dyn Progress,
    ) -> Option<Result<Sheet, PaperError>> {
        let request = self.clone();
        let worker = thread::spawn(move || figure.simulate(&request));
        while !worker.is_finished() {
            if progress.is_stopped() {
                return None;
            }
            thread::sleep(STOP_INTERVAL);
        }
        match worker.join() {
            Ok(sheet) => Some(sheet),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
