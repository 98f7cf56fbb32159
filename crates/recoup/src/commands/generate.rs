//! `recoup generate`: manual pages and completions, for packagers and for those who installed the program alone.
//!
//! The files lie in the folders where man, bash, zsh and fish look for them below a prefix such as `/usr/local`.

use crate::Failure;
use crate::output::Output;
use clap_complete::Shell;
use recoup_support::output_file::create_folder;
use std::io;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "\
The folder gets share/man/man1, share/bash-completion/completions, share/zsh/site-functions and
share/fish/vendor_completions.d. With the folder ~/.local, man, bash and fish find the files there.")]
pub(crate) struct Args {
    /// Folder to write into, such as ~/.local or /usr/local
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let share = args.folder.join("share");
    let manuals = share.join("man/man1");
    create_folder(&manuals)?;
    let mut command = crate::command().disable_help_subcommand(true);
    // A page describes every build of a version, so it names no commit and no target.
    command = command.long_version(env!("CARGO_PKG_VERSION"));
    // Gives the commands below their full names.
    command.build();
    write_manuals(&command, &manuals)?;
    for (shell, folder) in [
        (Shell::Bash, "bash-completion/completions"),
        (Shell::Zsh, "zsh/site-functions"),
        (Shell::Fish, "fish/vendor_completions.d"),
    ] {
        write_completions(shell, &share.join(folder))?;
    }
    Ok(())
}

/// One page for the command, and one for each command below it.
fn write_manuals(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        write_manuals(below, folder)?;
    }
    // A space: the header of a page has a date, and nothing here depends on the time.
    let page = clap_mangen::Man::new(command.clone())
        .date(" ")
        .source(concat!("recoup ", env!("CARGO_PKG_VERSION")))
        .manual("Recoup");
    write(&folder.join(page.get_filename()), |out| page.render(out))
}

fn write_completions(shell: Shell, folder: &Path) -> Result<(), Failure> {
    create_folder(folder)?;
    // The file names that bash-completion, zsh and fish look for.
    let name = match shell {
        Shell::Zsh => "_recoup",
        Shell::Fish => "recoup.fish",
        _ => "recoup",
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "recoup", &mut text);
    write(&folder.join(name), |out| out.write_all(&text))
}

fn write(file: &Path, write: impl FnOnce(&mut (dyn io::Write + Send)) -> io::Result<()>) -> Result<(), Failure> {
    Output::create(file)?.write(write)
}
