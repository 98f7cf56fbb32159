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

/// A value of a parameter or a target.
pub fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "none".into(),
        size if size > 0.0 && size < 0.01 => format!("{value:.2e}"),
        _ => crate::number(value, 3),
    }
}
