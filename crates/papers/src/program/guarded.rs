//! `recoup paper slp --guarded`: what is printed.

use crate::slp::fetch::guarded::{Arm, GuardedError, arms};
use recoup::commands::separate::find;
use recoup::{Failure, console};
use recoup_net::NetError;
use recoup_support::stats::Share;
use recoup_table::table_of_texts;

/// Fetches, and prints how long they took.
pub fn run(seed: u64) -> Result<(), Failure> {
    let Some(guard) = find("recoup-guard") else {
        console::note("skipped: the program recoup-guard is neither beside this program nor on PATH");
        return Ok(());
    };
    let arms = match arms(seed, &guard) {
        Ok(arms) => arms,
        Err(GuardedError::Net(why @ NetError::Privilege { .. })) => {
            console::note(format_args!("skipped: {why}"));
            return Ok(());
        }
        Err(GuardedError::Guard(why)) => {
            console::note(format_args!("skipped: recoup guard copies: {why}"));
            return Ok(());
        }
        Err(why) => return Err(why.into()),
    };
    let share =
        |share: Share| format!("{:.2} [{:.2}, {:.2}]", share.share * 100.0, share.low * 100.0, share.high * 100.0);
    let row = |arm: &Arm| {
        let [mean, median] = arm.mean_and_median();
        let mut row = vec![arm.name.to_owned(), format!("{mean:.1}"), format!("{median:.1}")];
        row.extend([500, 1000, 2000].map(|limit| share(arm.over(limit))));
        row.push(arm.failed.to_string());
        row
    };
    println!(
        "Fetches of 34 kB by a client that loses 2 % of its packets, with seed {seed}; shares with 95 % intervals\n"
    );
    let head = ["", "mean (ms)", "median (ms)", "over 0.5 s (%)", "over 1 s (%)", "over 2 s (%)", "failed"];
    println!("{}", table_of_texts(&head, 1, arms.iter().map(row)));
    Ok(())
}
