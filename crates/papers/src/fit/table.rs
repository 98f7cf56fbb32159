//! A fit as text.

use super::Fit;
use recoup_table::plain_table;

/// The fit for reading: what was given, fitted, aimed at and held out.
pub fn text(name: &str, fit: &Fit) -> String {
    let Fit { about, baseline, held_out, seed, size, size_of, .. } = fit;
    let mut text = format!("{name}: {about}\nFitted to {baseline}; seed {seed}, {size} {size_of}.\n");
    let mut add = |head: &[&str], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            let mut table = plain_table();
            table.set_header(head);
            table.add_rows(rows);
            text += &format!("\n{table}\n");
        }
    };
    let unit = |about: &str, unit: &str| if unit.is_empty() { about.to_owned() } else { format!("{about} ({unit})") };
    let given = fit
        .given
        .iter()
        .map(|one| vec![one.about.clone(), one.name.clone().unwrap_or_default(), one.value.clone(), one.from.clone()]);
    add(&["given", "name", "value", "from"], given.collect());
    let parameters =
        fit.parameters.iter().map(|one| vec![unit(&one.about, &one.unit), one.name.clone(), number(one.value)]);
    add(&["fitted parameter", "name", "value"], parameters.collect());
    let targets = fit
        .targets
        .iter()
        .map(|one| vec![unit(&one.about, &one.unit), number(one.paper), number(one.ours), number(one.tolerance)]);
    add(&["fitted to", "the paper", "ours", "tolerance"], targets.collect());
    text += &format!(
        "\nCost: {} (the sum of the squared differences in tolerances)\nHeld out: {held_out}\n",
        number(fit.cost())
    );
    text
}

/// Three digits at least, and no more decimals than they need.
pub fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "none".into(),
        size if size >= 100.0 || value == value.trunc() => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}
