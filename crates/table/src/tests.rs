use super::*;
use ::parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field as ParquetField,
};
use recoup_units::Instant;
use serde::Serialize;
use serde_json::{Value, json};
use std::{io::Seek, path::Path};

#[derive(Clone)]
struct Flow {
    profile: &'static str,
    flows: u64,
    completed: u64,
    fct: Option<Fct>,
    distance: i64,
    at: Instant,
}

#[derive(Clone)]
struct Fct {
    min: f64,
    max: f64,
}

fn columns() -> Columns<Flow> {
    let fct = Columns::<Fct>::new()
        .real(("min", "ms", "smallest"), |f| Some(f.min))
        .heading("FCT min")
        .real(("max", "ms", "largest"), |f| Some(f.max))
        .heading("FCT max")
        .digits(1);
    Columns::<Flow>::new()
        .column("profile", "", "the profile", |f| f.profile)
        .column("flows", "", "flows run", |f| f.flows)
        .integer(("completed", "", "flows completed"), |f| Some(f.completed))
        .share_of(|f| f.flows)
        .group("fct_ms", fct, |f| f.fct.as_ref())
        .column("distance", "segments", "pipe - ssthresh", |f| Some(f.distance))
        .column("lost", "", "a flow did not complete", |f| f.completed < f.flows)
        .column("at", "s", "when it began", |f| f.at)
}

fn flow(profile: &'static str, completed: u64, fct: Option<(f64, f64)>) -> Flow {
    Flow {
        profile,
        flows: 4,
        completed,
        fct: fct.map(|(min, max)| Fct { min, max }),
        distance: -3,
        at: Instant::from_nanos(1_700_000_000_123_456_789),
    }
}

fn rows() -> [Flow; 2] {
    [flow("reno", 3, Some((80.5, 402.0))), flow("linux-6", 0, None)]
}

#[test]
fn csv_joins_the_names_of_groups_and_leaves_unknown_cells_empty() {
    assert_eq!(
        columns().to_csv(&rows()),
        "profile,flows,completed,fct_ms_min,fct_ms_max,distance,lost,at\n\
         reno,4,3,80.5,402,-3,true,1700000000.123456789\n\
         linux-6,4,0,,,-3,true,1700000000.123456789\n"
    );
}

#[test]
fn columns_can_be_added_behind_another() {
    let more = || {
        Columns::<Flow>::new()
            .integer(("open", "", "flows left"), |f| Some(f.flows - f.completed))
            .flag(("all", "", "all completed"), |f| f.completed == f.flows)
    };
    let names = columns().behind("flows", more()).names();
    assert_eq!(names[..4], ["profile", "flows", "open", "all"]);
    let names = columns().behind("no such column", more()).names();
    assert_eq!(names[names.len() - 2..], ["open", "all"]);
}

#[test]
fn with_several_parts_csv_names_the_part_last() {
    let rows = rows();
    let parts = [("a.pcap", &rows[..1]), ("b.pcap", &rows[1..])];
    let parts = parts.map(|(name, rows)| Part { name, rows });
    let mut out = Vec::new();
    columns().write_csv(&parts, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let last: Vec<_> = text.lines().filter_map(|l| l.rsplit(',').next()).collect();
    assert_eq!(last, ["capture", "a.pcap", "b.pcap"]);
}

#[test]
fn a_document_carries_its_schema_and_nests_groups() {
    const SCHEMA: Schema = Schema { name: "recoup.test", version: 7 };
    #[derive(Serialize)]
    struct Body<R> {
        flows: R,
    }
    let (columns, rows) = (columns(), rows());
    let body = Body { flows: columns.to_json(&rows) };
    let text = SCHEMA.to_text(&body).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "recoup.test");
    assert_eq!(document["version"], 7);
    let [first, second] = [0, 1].map(|i| &document["flows"][i]);
    assert_eq!(first["fct_ms"], json!({"min": 80.5, "max": 402.0}));
    assert_eq!(second["fct_ms"], Value::Null);
    assert_eq!((&first["distance"], &first["lost"]), (&json!(-3), &json!(true)));
    assert!(text.contains("\"at\": 1700000000.123456789"), "{text}");

    let mut lines = Vec::new();
    SCHEMA.write(&body, Layout::Lines, &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert_eq!(lines.lines().count(), 3, "a row a line: {lines}");
    assert_eq!(serde_json::from_str::<Value>(&lines).unwrap(), document);
}

#[test]
fn parquet_has_the_columns_of_csv() {
    let rows = rows();
    let mut file = tempfile::tempfile().unwrap();
    let parts = [Part { name: "", rows: &rows }];
    columns().write_parquet(&parts, &mut file).unwrap();
    file.rewind().unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let names: Vec<_> = read[0].get_column_iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, columns().names());
    let cell = |row: usize, name: &str| {
        let mut cells = read[row].get_column_iter();
        cells.find(|(other, _)| *other == name).unwrap().1.clone()
    };
    assert_eq!(cell(0, "distance"), ParquetField::Long(-3));
    assert_eq!(cell(0, "fct_ms_min"), ParquetField::Double(80.5));
    assert_eq!(cell(1, "fct_ms_min"), ParquetField::Null);
    assert_eq!(cell(1, "lost"), ParquetField::Bool(true));
}

#[cfg(feature = "arrow")]
#[test]
fn arrow_has_the_columns_of_csv_with_units() {
    use arrow_array::{
        Array, RecordBatch,
        cast::AsArray,
        types::{Float64Type, Int64Type, TimestampNanosecondType},
    };

    let rows = rows();
    let part = |name| Part { name, rows: &rows };
    let one = columns().to_arrow(&[part("")]).unwrap();
    let names = one.schema.fields().iter();
    let names: Vec<String> = names.map(|field| field.name().clone()).collect();
    assert_eq!(names, columns().names());
    let field = one.schema.field_with_name("fct_ms_min").unwrap();
    assert_eq!(field.metadata().get("unit").unwrap(), "ms");
    let batch = &one.batches[0];
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("distance").as_primitive::<Int64Type>().value(0), -3);
    let fct = column("fct_ms_min").as_primitive::<Float64Type>();
    assert_eq!((fct.value(0), fct.is_null(1)), (80.5, true));
    assert!(column("lost").as_boolean().value(1));
    let at = column("at").as_primitive::<TimestampNanosecondType>();
    assert_eq!(at.value(0), 1_700_000_000_123_456_789);
    assert_eq!(at.timezone(), Some("UTC"));

    let two = columns().to_arrow(&[part("a"), part("b")]).unwrap();
    let sources = |batch: &RecordBatch| batch.column_by_name("capture").unwrap().clone();
    let sources = two.batches.iter().map(sources);
    let sources: Vec<String> = sources.map(|names| names.as_string::<i32>().value(1).to_owned()).collect();
    assert_eq!(sources, ["a", "b"]);
    let none = columns().to_arrow(&[]).unwrap();
    assert_eq!((none.schema, none.batches.len()), (one.schema, 0));
}

/// Batches of one row group, of a row each, and of several sources.
#[cfg(all(feature = "arrow", feature = "parquet"))]
#[test]
fn parquet_of_batches_is_that_of_their_rows() {
    let rows = rows();
    let file = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut file = Vec::new();
        write(&mut file).unwrap();
        file
    };
    let parts = [Part { name: "", rows: &rows }];
    let ours = file(&|out| columns().write_parquet(&parts, out));
    let whole = columns().to_arrow(&parts).unwrap();
    assert_eq!(file(&|out| whole.write_parquet(out)), ours);

    let mut each = columns().to_arrow(&[]).unwrap();
    for row in rows.chunks(1) {
        each.append(columns().to_arrow(&[Part { name: "", rows: row }]).unwrap());
    }
    assert_eq!(file(&|out| each.write_parquet(out)), ours);

    let none = columns().to_arrow(&[]).unwrap();
    assert_eq!(file(&|out| none.write_parquet(out)), file(&|out| columns().write_parquet(&[], out)));
}

/// A group of Parquet has no more rows than the program's, however they are divided into batches.
#[cfg(all(feature = "arrow", feature = "parquet"))]
#[test]
fn batches_fill_row_groups() {
    let rows: Vec<Flow> = (0..40_000).map(|n| flow("many", n, None)).collect();
    let part = || columns().to_arrow(&[Part { name: "", rows: &rows }]).unwrap();
    let mut all = part();
    all.append(columns().to_arrow(&[Part { name: "", rows: &rows[..25_536] }]).unwrap());
    all.append(part());
    let mut file = tempfile::tempfile().unwrap();
    all.write_parquet(&mut file).unwrap();
    file.rewind().unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let groups: Vec<_> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(groups, [65_536, 40_000]);
}

#[test]
fn text_has_headings_with_units_and_shares() {
    let text = columns().to_text(&rows(), &["profile", "completed", "fct_ms_max", "at"]);
    let lines: Vec<_> = text.lines().collect();
    let cells = |line: usize| -> Vec<&str> {
        let cells = lines[line].split('|').map(str::trim);
        cells.skip(1).take(4).collect()
    };
    let began = "2023-11-14T22:13:20.123456Z";
    assert_eq!(cells(0), ["profile", "completed", "FCT max (ms)", "at (UTC)"]);
    assert_eq!(cells(2), ["reno", "3 (75.0 %)", "402.0", began]);
    assert_eq!(cells(3), ["linux-6", "0", "-", began]);
}

/// Lines that are zero or unknown everywhere, or equal for all, tell nothing.
#[test]
fn a_comparison_keeps_the_lines_that_tell() {
    let compare = |rows: &[&Flow], keep| {
        let lines = ["flows", "completed", "fct_ms_min", "distance"].map(Line::from);
        columns().compare(rows, "profile", &lines, keep)
    };
    let [a, b] = rows();
    let zero = flow("zero", 0, None);
    for (rows, left_out, kept) in [
        (&[&a, &b][..], 2, &["completed", "FCT min"][..]),
        // Of one alone, all are equal: only what is zero or unknown goes.
        (&[&a], 0, &["flows", "completed", "FCT min", "distance"]),
        (&[&zero], 2, &["flows", "distance"]),
    ] {
        let found = compare(rows, Keep::Telling);
        assert_eq!(found.left_out, left_out, "{found}");
        let lines = found.text.lines().skip(2);
        let names: Vec<_> = lines.map(|line| line[2..].trim_start()).collect();
        assert_eq!(names.len(), kept.len(), "{found}");
        for (name, kept) in names.iter().zip(kept) {
            assert!(name.starts_with(kept), "{found}");
        }
        let all = compare(rows, Keep::All);
        assert_eq!((all.left_out, all.text.lines().count()), (0, 6), "{all}");
    }
    let header = compare(&[&a, &b], Keep::All).text;
    assert!(header.starts_with("|                     | reno"), "{header}");
}

#[test]
fn a_line_that_always_stands_is_kept() {
    let columns = Columns::<u64>::new()
        .text(("name", "", "a name"), |_| Some("x".into()))
        .integer(("n", "", "a number"), |n| Some(*n))
        .share_of(|_| 4);
    let line = Line { always: true, share: Share::Always, ..Line::from("n") };
    let found = columns.compare(&[&0, &0], "name", &[line], Keep::Telling);
    assert_eq!(found.left_out, 0, "{found}");
    assert!(found.text.contains("| 0 (0.0 %) |"), "{found}");
}

#[test]
fn fields_are_documented_by_their_place_in_json() {
    let fields = columns().fields();
    let paths: Vec<_> = fields.iter().map(|field| &*field.path).collect();
    assert_eq!(paths[3..5], ["fct_ms.min", "fct_ms.max"]);
    assert_eq!((fields[3].kind, fields[3].unit), ("number", "ms"));
    assert_eq!(fields[7].kind, "time");
}

#[test]
fn a_files_ending_names_the_format() {
    for (file, format) in [
        ("a.json", Some(Format::Json)),
        ("a.b/C.CSV", Some(Format::Csv)),
        ("x.parquet", Some(Format::Parquet)),
        ("x.svg", Some(Format::Svg)),
        ("x.xpl", Some(Format::Xpl)),
        ("x.txt", Some(Format::Table)),
        ("x.table", None),
        ("x.jsn", None),
        ("json", None),
    ] {
        assert_eq!(Format::of_file(Path::new(file)), format, "{file}");
    }
}

#[test]
fn rows_have_equal_cells_only_if_they_read_the_same_in_csv() {
    let columns = columns();
    let cells = columns.cells();
    let bytes = |flow: &Flow| {
        let mut bytes = Vec::new();
        cells(flow, &mut bytes);
        bytes
    };
    let [one, other] = rows();
    assert_eq!(bytes(&one), bytes(&one.clone()));
    assert_ne!(bytes(&one), bytes(&other));
    // Text that moves from one cell to the next is a difference.
    let joined = |profile, flows| Flow { profile, flows, ..one.clone() };
    assert_ne!(bytes(&joined("linux-1", 2)), bytes(&joined("linux-", 12)));
}

#[test]
fn a_column_of_a_missing_part_can_have_a_value_of_its_own() {
    let columns = Columns::<(u64, Option<Flow>)>::new()
        .all_of(columns(), |(_, flow)| flow.as_ref())
        .read_by("flows", |(flows, _)| *flows);
    let csv = columns.to_csv(&[(7, None)]);
    let row = csv.lines().nth(1).expect("a row");
    assert!(row.starts_with(",7,,"), "{row}");
}

const SCHEMA: Schema = Schema { name: "recoup.test", version: 7 };

/// Both rows, written one after the other.
fn appended<W: std::io::Write + Send>(format: RowFormat, several: bool, out: W) -> W {
    let mut file = RowFile::new(columns(), SCHEMA, format, several, out).unwrap();
    for (row, name) in rows().into_iter().zip(["a.pcap", "b.pcap"]) {
        file.write(name, vec![row]).unwrap();
    }
    file.finish().unwrap()
}

#[test]
fn rows_written_as_they_come_are_those_of_the_whole_table() {
    let rows = rows();
    let parts = [("a.pcap", &rows[..1]), ("b.pcap", &rows[1..])];
    let parts = parts.map(|(name, rows)| Part { name, rows });
    let mut whole = Vec::new();
    columns().write_csv(&parts, &mut whole).unwrap();
    assert_eq!(appended(RowFormat::Csv, true, Vec::new()), whole);
    let one = columns().to_csv(&rows);
    assert_eq!(appended(RowFormat::Csv, false, Vec::new()), one.into_bytes());

    let lines = String::from_utf8(appended(RowFormat::JsonLines, true, Vec::new())).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({"schema": "recoup.test", "version": 7}));
    assert_eq!(lines[1]["fct_ms"], json!({"min": 80.5, "max": 402.0}));
    assert_eq!((&lines[2]["profile"], &lines[2]["capture"]), (&json!("linux-6"), &json!("b.pcap")));

    let mut file = appended(RowFormat::Parquet, true, tempfile::tempfile().unwrap());
    file.rewind().unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let last = |row: ::parquet::record::Row| row.into_columns().pop().unwrap();
    let captures = reader.get_row_iter(None).unwrap();
    let captures: Vec<_> = captures.map(|row| last(row.unwrap())).collect();
    let capture = |name: &str| ("capture".to_owned(), ParquetField::Str(name.into()));
    assert_eq!(captures, [capture("a.pcap"), capture("b.pcap")]);
}

#[test]
fn a_files_ending_names_the_form_of_its_rows() {
    for (name, format) in [
        ("events.jsonl", Some(RowFormat::JsonLines)),
        ("dir.csv/events.CSV", Some(RowFormat::Csv)),
        ("a.parquet", Some(RowFormat::Parquet)),
        ("events.json", None),
        ("events", None),
    ] {
        assert_eq!(RowFormat::of_file(Path::new(name)), format, "{name}");
    }
}

#[test]
fn an_interval_is_a_pair_in_json_and_two_columns_elsewhere() {
    struct Change(Option<(f64, f64)>);
    let changes = || Columns::new().interval("change", "ms", "change", |c: &Change| c.0);
    let columns = Columns::<Change>::new().prefixed("all", changes(), |c| Some(c)).all_of(changes(), |c| Some(c));
    let rows = [Change(Some((-1.5, 2.0))), Change(None)];
    assert_eq!(
        columns.to_csv(&rows),
        "all_change_ci95_low_ms,all_change_ci95_high_ms,change_ci95_low_ms,change_ci95_high_ms\n-1.5,2,-1.5,2\n,,,\n"
    );
    assert_eq!(
        serde_json::to_string(&columns.to_json(&rows)).unwrap(),
        r#"[{"all_change_ci95_ms":[-1.5,2.0],"change_ci95_ms":[-1.5,2.0]},{"all_change_ci95_ms":null,"change_ci95_ms":null}]"#
    );
    assert_eq!(columns.fields()[1].about, "upper end of the 95 % interval of the change");
}
