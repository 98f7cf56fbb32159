//! The pages of `recoup paper tail-loss fig4`.

use crate::experiment::Pages;
use recoup::Failure;
use recoup_lab::website::{read_har, read_site};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct PageArgs {
    /// Web page for fig4 in place of the paper's sites: a TOML file with the sizes and subdomains of its objects (repeatable)
    #[arg(long = "site", value_name = "FILE")]
    sites: Vec<PathBuf>,
    /// Web page for fig4 in place of the paper's sites: a HAR file, as browsers save it (repeatable)
    #[arg(long = "har", value_name = "FILE")]
    hars: Vec<PathBuf>,
    /// Downloads of each page with each mechanism in fig4, as the paper's 2000; with fewer than the default, claims may
    /// be undecided [default: 300]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    downloads: Option<u32>,
}

impl PageArgs {
    /// Reads the files.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no page.
    pub fn read(&self) -> Result<Pages, Failure> {
        let mut own = vec![];
        for file in &self.sites {
            own.push(read_site(file)?);
        }
        for file in &self.hars {
            own.push(read_har(file)?);
        }
        Ok(Pages { own: (!own.is_empty()).then_some(own), downloads: self.downloads.map(|n| n as usize) })
    }
}
