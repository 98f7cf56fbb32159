//! Takes the terminal, and gives it back on every way out: at the end, after errors, and when a part of the program panics.

use super::{Look, Screen};
use crate::shared::{Shared, Status};
use crate::source::now;
use crate::watcher::WatchError;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use recoup::Failure;
use recoup::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the screen is drawn, if no key is pressed.
const DRAW: Duration = Duration::from_millis(250);

type Watching = JoinHandle<Result<Status, WatchError>>;

/// The terminal while it is taken.
struct Taken {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Taken {
    fn take() -> io::Result<Self> {
        let view = thread::current().id();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            // The message of another thread would be lost on the screen: its result says that it panicked.
            if thread::current().id() == view {
                give_back();
                before(about);
            }
        }));
        enable_raw_mode()?;
        let taken = execute!(stdout(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())))
            .inspect_err(|_| give_back())?;
        Ok(Self { terminal: taken })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
        // A thread that panics may not change the hook, which gave the terminal back already.
        if !thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

/// Where the terminal is gone, nothing is left to give back.
fn give_back() {
    _ = disable_raw_mode();
    _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// Shows what is shared while `watch` runs in a thread of its own, until the user or a signal ends it, or it ends by itself. If it
/// ends by an error, the screen stays until the user has seen it.
///
/// # Errors
/// That of `watch`, or when the terminal cannot be used.
pub fn show(
    shared: &Arc<Shared>,
    look: Look,
    signals: &Signals,
    watch: impl FnOnce() -> Result<Status, WatchError> + Send + 'static,
) -> Result<Status, Failure> {
    let mut taken = Taken::take().map_err(|why| failure(&why))?;
    let ended = Arc::clone(shared);
    let watching = thread::Builder::new()
        .name("watch".into())
        .spawn(move || watch().inspect_err(|why| ended.status().ended = Some(why.to_string())))?;
    let screen = Screen::new(Arc::clone(shared), look);
    let shown = run(&mut taken, screen, signals, &watching);
    drop(taken);
    signals.end();
    let watched = watching.join();
    shown.map_err(|why| failure(&why))?;
    match watched {
        Ok(status) => Ok(status?),
        Err(_) => Err(Failure::Wrong("watching stopped by a defect of the program (a panic)".into())),
    }
}

fn failure(why: &io::Error) -> Failure {
    Failure::Wrong(format!("cannot use the terminal: {why} (--format lines needs none)"))
}

/// Waits for keys, at most for this long. Returns whether the terminal is still there: crossterm would read from one that is gone
/// again and again, and never return.
fn wait_for_keys(most: Duration) -> io::Result<bool> {
    let input = io::stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN)];
    let most = Timespec::try_from(most).map_err(io::Error::other)?;
    match poll(&mut watched, Some(&most)) {
        // A signal: the size of the terminal changed.
        Ok(_) | Err(Errno::INTR) => {}
        Err(why) => return Err(why.into()),
    }
    Ok(!watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
}

/// Draws and takes keys.
fn run(taken: &mut Taken, mut screen: Screen, signals: &Signals, watching: &Watching) -> io::Result<()> {
    loop {
        screen.update(now());
        taken.terminal.draw(|frame| screen.draw(frame))?;
        let is_over = watching.is_finished() && screen.data.ended.is_none();
        if signals.is_end() || is_over {
            return Ok(());
        }
        if !wait_for_keys(DRAW)? {
            return Err(io::Error::other("it is gone"));
        }
        // Keys that wait are taken before the screen is drawn.
        while event::poll(Duration::ZERO)? {
            let goes_on = match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => screen.key(key),
                _ => true,
            };
            if !goes_on {
                return Ok(());
            }
        }
    }
}
