//! The predefined names in code: the fields of `TCP_INFO`, and constants of the kernel.

use super::{Node, Statement, Value, What};
use crate::error::{Wrong, wrong};
use recoup_tcp::Info;
use std::collections::HashSet;

/// The kernel's constants.
pub(super) const CONSTANTS: [(&str, i128); 24] = [
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCPI_OPT_USEC_TS", 64),
    ("TCPI_OPT_TFO_CHILD", 128),
];

/// The prefix of `TCP_INFO`'s fields.
const PREFIX: &str = "tcpi_";

/// The value of a name that is not assigned in the script.
pub(super) fn value(name: &str, info: &Info) -> Option<i128> {
    let field = name.strip_prefix(PREFIX).and_then(|field| info.get(field));
    field.map(i128::from).or_else(|| {
        let constant = CONSTANTS.iter().find(|(n, _)| *n == name);
        constant.map(|(_, value)| *value)
    })
}

/// Checks that every name is predefined or assigned before. Adds new assignments to `assigned`.
pub(crate) fn check(statements: &[Statement], assigned: &mut HashSet<String>) -> Result<(), Wrong> {
    for statement in statements {
        match &statement.what {
            What::Assert { test, message, .. } => {
                check_value(test, assigned)?;
                message.iter().try_for_each(|m| check_value(m, assigned))?;
            }
            What::Print(values) => values.iter().try_for_each(|v| check_value(v, assigned))?,
            What::Assign(name, operator, value) => {
                check_value(value, assigned)?;
                if operator.is_some() {
                    check_name(statement.place, name, assigned)?;
                }
                assigned.insert(name.clone());
            }
            What::Pass => {}
        }
    }
    Ok(())
}

fn check_value(value: &Value, assigned: &HashSet<String>) -> Result<(), Wrong> {
    match &value.node {
        Node::Name(name) => check_name(value.place, name, assigned),
        _ => value.parts().into_iter().try_for_each(|part| check_value(part, assigned)),
    }
}

fn check_name(place: crate::error::Place, name: &str, assigned: &HashSet<String>) -> Result<(), Wrong> {
    if assigned.contains(name) || value(name, &Info::default()).is_some() {
        return Ok(());
    }
    let fields: Vec<String> = Info::NAMES.iter().map(|n| format!("{PREFIX}{n}")).collect();
    let known = fields.iter().map(String::as_str);
    let known = known.chain(CONSTANTS.iter().map(|(n, _)| *n));
    let known = known.chain(assigned.iter().map(String::as_str));
    let hint = crate::error::did_you_mean(name, known);
    let hint = if hint.is_empty() {
        ", expected a field of TCP_INFO (`tcpi_…`), a constant of Linux's, or a name assigned before".into()
    } else {
        hint
    };
    wrong(place, format!("unknown name `{name}`{hint}"))
}
