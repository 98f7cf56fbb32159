//! The committed header is the one that cbindgen makes of the sources.
//!
//! `RECOUP_UPDATE_HEADER=1 cargo test -p recoup-recovery-c --test header` rewrites it.

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style};
use std::path::Path;

/// The files that hold what is exported, in the order of the header.
const SOURCES: [&str; 8] =
    ["abi.rs", "handle.rs", "create.rs", "profile.rs", "send.rs", "ack.rs", "timers.rs", "status.rs"];

/// The C names of the types and constants.
const NAMES: [(&str, &str); 19] = [
    ("Handle", "recoup_sender"),
    ("Error", "recoup_error"),
    ("Numbering", "recoup_numbering"),
    ("Settings", "recoup_settings"),
    ("Kind", "recoup_kind"),
    ("Trigger", "recoup_trigger"),
    ("Transmission", "recoup_transmission"),
    ("Range", "recoup_range"),
    ("Ack", "recoup_ack"),
    ("Acked", "recoup_acked"),
    ("Packet", "recoup_packet"),
    ("PacketCallback", "recoup_packet_callback"),
    ("Timer", "recoup_timer"),
    ("State", "recoup_state"),
    ("Status", "recoup_status"),
    ("Counters", "recoup_counters"),
    ("NONE", "RECOUP_NONE"),
    ("LAST_POSITION", "RECOUP_LAST_POSITION"),
    ("MOST_OUTSTANDING", "RECOUP_MOST_OUTSTANDING"),
];

#[test]
fn the_header_is_current() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut builder = Builder::new().with_config(config());
    for source in SOURCES {
        builder = builder.with_src(home.join("src").join(source));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();

    let file = home.join("include/recoup_recovery.h");
    if std::env::var_os("RECOUP_UPDATE_HEADER").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = committed.lines().zip(made.lines()).position(|(a, b)| a != b);
    assert!(
        committed == made,
        "{} is not current (first difference: line {:?}): run this test with RECOUP_UPDATE_HEADER=1",
        file.display(),
        differs.map(|line| line + 1)
    );
}

fn config() -> Config {
    let names = NAMES.map(|(rust, c)| (rust.to_owned(), c.to_owned()));
    Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Both,
        include_guard: Some("RECOUP_RECOVERY_H".into()),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        header: Some(include_str!("header.txt").trim_end().into()),
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C99,
        line_length: 110,
        tab_width: 4,
        export: ExportConfig {
            rename: names.into(),
            // A caller of C gives numbers, which need not be constants of these.
            include: NAMES.map(|(rust, _)| rust.to_owned()).into(),
            ..ExportConfig::default()
        },
        enumeration: EnumConfig { rename_variants: RenameRule::QualifiedScreamingSnakeCase, ..EnumConfig::default() },
        ..Config::default()
    }
}
