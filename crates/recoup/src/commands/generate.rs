//! `recoup generate`: manual pages, completions and Wireshark's plugin, for packagers and for those who installed the program alone.
//!
//! The files lie in the folders where man, bash, zsh, fish and Wireshark look for them below a prefix such as `/usr/local`.

use crate::Failure;
use crate::commands::captures::begin;
use clap_complete::Shell;
use recoup_support::output_file::{Files, create_folder};
use std::io;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "\
The folder gets share/man/man1, share/bash-completion/completions, share/zsh/site-functions,
share/fish/vendor_completions.d and lib/wireshark/plugins/recoup.lua. With the folder ~/.local, man,
bash, fish and Wireshark find the files there. docs/wireshark.md says what the plugin shows.")]
pub(crate) struct Args {
    /// Folder to write into, such as ~/.local or /usr/local
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Wireshark's plugin: findings as fields, columns and filters.
const PLUGIN: &str = include_str!("generate/recoup.lua");

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let share = args.folder.join("share");
    let mut command = crate::command().disable_help_subcommand(true);
    // A page describes every build of a version, so it names no commit and no target.
    command = command.long_version(env!("CARGO_PKG_VERSION"));
    // Gives the commands below their full names.
    command.build();
    let mut contents = Vec::new();
    add_manuals(&command, &share.join("man/man1"), &mut contents)?;
    // The file names that bash-completion, zsh and fish look for.
    for (shell, name) in [
        (Shell::Bash, "bash-completion/completions/recoup"),
        (Shell::Zsh, "zsh/site-functions/_recoup"),
        (Shell::Fish, "fish/vendor_completions.d/recoup.fish"),
    ] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut crate::command(), "recoup", &mut text);
        contents.push((share.join(name), text));
    }
    contents.push((args.folder.join("lib/wireshark/plugins/recoup.lua"), PLUGIN.into()));
    // All files are whole before the first has its name.
    let (mut outputs, mut files) = (Files::default(), Vec::new());
    for (path, text) in &contents {
        path.parent().map_or(Ok(()), create_folder)?;
        files.push(begin(&mut outputs, "FOLDER", path, text)?);
    }
    for file in files {
        file.publish()?;
    }
    Ok(())
}

/// Adds one page for the command, and one for each command below it.
fn add_manuals(command: &clap::Command, folder: &Path, contents: &mut Vec<(PathBuf, Vec<u8>)>) -> io::Result<()> {
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        add_manuals(below, folder, contents)?;
    }
    // A space: the header of a page has a date, and nothing here depends on the time.
    let page = clap_mangen::Man::new(command.clone())
        .date(" ")
        .source(concat!("recoup ", env!("CARGO_PKG_VERSION")))
        .manual("Recoup");
    let mut text = Vec::new();
    page.render(&mut text)?;
    contents.push((folder.join(page.get_filename()), text));
    Ok(())
}
