use recoup::Failure;

#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: &Args) -> Result<(), Failure> {
    Ok(())
}
