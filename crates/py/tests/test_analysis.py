"""Captures: tables, sentences, pictures, streams, states."""

import csv
import html
import io
import json
import re
import threading
import warnings

import pytest
import recoup
from program import cut, recoup_program


@pytest.fixture(scope="module")
def analysis(capture):
    return recoup.analyze(capture)


@pytest.mark.parametrize("view", ["retransmissions", "episodes", "connections"])
def test_tables_hold_what_the_program_prints(analysis, capture, view):
    printed = recoup_program("analyze", capture, f"--{view}", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(printed)))
    table = getattr(analysis, view)
    assert len(table) == len(rows) > 20
    assert table.columns == list(rows[0])
    for ours, theirs in zip(table.to_pylist(), rows):
        for name, value in ours.items():
            assert same(value, theirs[name], table.units[name]), name


def same(value, printed, unit):
    """Whether a cell is what CSV has."""
    if value is None:
        return printed == ""
    if isinstance(value, bool):
        return printed == str(value).lower()
    if isinstance(value, float):
        return float(printed) == value
    if unit == "s":
        return printed == f"{value // 10**9}.{value % 10**9:09}"
    return printed == str(value)


def test_intervals_add_up_to_the_totals(analysis):
    assert sum(analysis.intervals["retransmissions"]) == len(analysis.retransmissions)
    begins = analysis.intervals["time"]
    width = analysis.intervals["width_ms"][0] * 1e6
    assert all(b - a == width for a, b in zip(begins, begins[1:]))


def test_intervals_are_collected_beside_the_tables_or_when_asked_for(capture, analysis, tmp_path):
    beside = recoup.analyze(capture, intervals=True)
    assert beside.intervals.to_pylist() == analysis.intervals.to_pylist()
    assert analysis.intervals is analysis.intervals
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(capture.read_bytes())
    several = recoup.analyze([capture, copy])
    assert several.intervals.to_pylist() == recoup.analyze([capture, copy], intervals=True).intervals.to_pylist()
    with open(capture, "rb") as stream:
        streamed = recoup.analyze(stream)
    with pytest.raises(recoup.RecoupError, match=r"expected analyze\(…, intervals=True\)"):
        streamed.intervals
    with open(capture, "rb") as stream:
        streamed = recoup.analyze(stream, intervals=True)
    assert streamed.intervals.to_pylist() == analysis.intervals.to_pylist()


def test_lost_time_adds_up_to_the_explanation_and_to_the_connections(analysis, capture):
    (explained,) = recoup.explain(capture, advice=False).document["captures"]
    by_cause = {}
    for row in analysis.episodes.to_pylist():
        lost, times = by_cause.get(row["cause"], (0, 0))
        by_cause[row["cause"]] = lost + row["lost_ms"], times + row["times"]
    by_cause = {cause: found for cause, found in by_cause.items() if found[1]}
    assert by_cause.keys() == {of["cause"] for of in explained["causes"]}
    for of in explained["causes"]:
        lost, times = by_cause[of["cause"]]
        assert (times, lost) == (of["times"], pytest.approx(of["lost_ms"]))
        table = analysis.connections
        columns = [f"{side}_lost_{of['cause']}_ms" for side in ("src", "dst")]
        assert sum(map(sum, (table[name] for name in columns))) == pytest.approx(lost)
    assert sum(analysis.connections["lost_ms"]) == pytest.approx(explained["lost_ms"])


def test_addresses_and_ports_are_columns_of_their_own(analysis):
    for table in (analysis.connections, analysis.retransmissions, analysis.whatif("+tlpr").connections):
        for row in table.head(20):
            for end in ("src", "dst"):
                assert row[end] == f"{row[f'{end}_host']}:{row[f'{end}_port']}"


def test_polars_takes_tables(analysis):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(analysis.retransmissions)
    assert frame["trigger"].to_list() == analysis.retransmissions["trigger"]
    assert frame.schema["time"] == polars.Datetime("ns", "UTC")


def test_pandas_takes_tables(analysis):
    pandas = pytest.importorskip("pandas", minversion="3")
    frame = pandas.DataFrame.from_arrow(analysis.retransmissions)
    assert frame["trigger"].to_list() == analysis.retransmissions["trigger"]


def test_pyarrow_takes_tables_without_a_copy(analysis):
    pyarrow = pytest.importorskip("pyarrow")
    one, two = pyarrow.table(analysis.retransmissions), pyarrow.table(analysis.retransmissions)
    assert one.equals(two)
    addresses = [table.column("frame").chunk(0).buffers()[1].address for table in (one, two)]
    assert addresses[0] == addresses[1]
    assert one.schema.field("detection_ms").metadata[b"unit"] == b"ms"
    assert pyarrow.schema(analysis.retransmissions).equals(one.schema)


def test_duckdb_takes_tables(analysis):
    duckdb = pytest.importorskip("duckdb")
    retransmissions = analysis.retransmissions
    counts = duckdb.sql("select trigger, count(*) from retransmissions group by 1").fetchall()
    assert sum(count for _, count in counts) == len(retransmissions)


def test_a_stream_outlives_its_table(analysis, capture):
    pyarrow = pytest.importorskip("pyarrow")
    reader = pyarrow.RecordBatchReader.from_stream(recoup.analyze(capture).retransmissions)
    assert reader.read_all().num_rows == len(analysis.retransmissions)


def test_a_table_without_rows_has_its_columns(analysis, capture):
    none = recoup.analyze(capture, filter="port 1")
    assert len(none.retransmissions) == 0
    assert none.retransmissions.columns == analysis.retransmissions.columns
    assert none.retransmissions.head() == []


def test_rows_by_number_and_columns_by_name(analysis):
    table = analysis.connections
    assert table[0] == table.head(1)[0] == table[-len(table)]
    with pytest.raises(KeyError, match="no column tigger.*`trigger`"):
        analysis.retransmissions["tigger"]
    with pytest.raises(IndexError, match="no row 999999"):
        table[999999]
    with pytest.raises(TypeError, match="not by float"):
        table[1.5]


def test_several_captures_are_told_apart(capture, tmp_path):
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(capture.read_bytes())
    both = recoup.analyze([capture, copy])
    assert both.captures == [str(capture), str(copy)]
    assert set(both.retransmissions["capture"]) == set(both.captures)
    with pytest.raises(recoup.RecoupError, match="one capture, or join=True"):
        both[0]


def test_patterns_and_streams(capture, analysis):
    by_pattern = recoup.analyze(str(capture.parent / "*sender*"))
    assert by_pattern.captures == [str(capture)]
    with open(capture, "rb") as stream:
        streamed = recoup.analyze(stream)
    assert streamed.retransmissions.to_pylist() == analysis.retransmissions.to_pylist()
    with pytest.raises(recoup.RecoupError, match="expected one in a file"):
        streamed.explain()
    with open(capture, encoding="latin-1") as text, pytest.raises(recoup.RecoupError, match="binary"):
        recoup.analyze(text)


def test_what_cannot_be_read(capture, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no capture")
    with pytest.raises(recoup.CaptureError, match="notes.txt: not a capture"):
        recoup.analyze(text)
    with pytest.raises(recoup.CaptureError, match="missing.pcap: No such file"):
        recoup.analyze(tmp_path / "missing.pcap")
    with pytest.raises(recoup.CaptureError, match="no file matches"):
        recoup.analyze(tmp_path / "*.pcap")
    with pytest.raises(recoup.RecoupError, match="recoup.daft"):
        recoup.analyze("s3://bucket/day.pcap")
    with pytest.warns(RuntimeWarning, match="notes.txt: not a capture"):
        found = recoup.analyze([capture, text])
    assert len(found.failures) == 1
    assert found.captures == [str(capture)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filter": "prot 80"}, "did you mean `port`"),
        ({"profile": "linux-66"}, "did you mean `linux-6`"),
        ({"idle": "soon"}, "idle: `soon` is not a duration"),
        ({"idle": "0s"}, "idle: expected more than 0"),
        ({"threads": 0}, "threads: expected"),
        ({"start": "5s", "end": "1s"}, "start before end"),
        ({"start": "yesterday"}, "start yesterday"),
    ],
)
def test_wrong_options_are_one_line(capture, options, message):
    with pytest.raises(recoup.RecoupError, match=message) as raised:
        recoup.analyze(capture, **options)
    assert "\n" not in str(raised.value)


def test_unknown_options_are_a_type_error(capture):
    with pytest.raises(TypeError, match=r"analyze\(\).*filtre.*did you mean `filter`"):
        recoup.analyze(capture, filtre="port 80")


def test_a_connection(analysis):
    number = analysis.retransmissions["connection"][0]
    connection = analysis[number]
    assert connection["connection"] == number == connection.number
    assert connection.retransmissions[0] == analysis.retransmissions[0]
    assert f"connection {number}" in connection.explain().lower()
    assert connection.plot(width="700px")._repr_svg_().startswith("<svg")
    assert "<svg" in connection._repr_html_()
    with pytest.raises(recoup.RecoupError, match="expected 0 to"):
        analysis[10_000]
    with pytest.raises(KeyError, match="no column sender_"):
        connection["sender_"]


def test_an_explanation_is_the_programs(capture):
    explanation = recoup.explain(capture)
    assert str(explanation) == recoup_program("explain", capture).stdout
    (finding,) = explanation.findings
    assert explanation.document["captures"][0]["finding"] == finding
    assert "<html" in explanation.page()


def test_an_explanation_keeps_the_connections_that_the_program_keeps(capture):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (all_of_them,) = recoup.explain(capture, advice=False).document["captures"]
    assert len(all_of_them["connections"]) == all_of_them["connection_count"] == 60
    lost = [connection["lost_ms"] for connection in all_of_them["connections"]]
    few = recoup.explain(capture, advice=False, top=2)
    expected = f"has 2 of 60 connections, which lost {sum(lost[:2]) / 1e3:.3f} of {sum(lost) / 1e3:.3f} s"
    with pytest.warns(RuntimeWarning, match=re.escape(expected)) as warned:
        (document,) = few.document["captures"]
    assert warned[0].filename == __file__
    assert document["connections_left_out"] == 58


def test_an_explanation_in_a_notebook_is_the_page_in_a_frame(capture, monkeypatch):
    explanation = recoup.explain(capture, advice=False)
    shown = explanation._repr_html_()
    (frame,) = re.findall(r'<iframe srcdoc="([^"]*)"', shown)
    page = html.unescape(frame)
    assert page.startswith("<!DOCTYPE html>") and page.count("</html>") == 1
    (finding,) = explanation.findings
    assert finding in page and page.count('class="chart"') == 3 and '<div id="table">' in page
    # Elsewhere the text is shown, and nothing of the page's style or script.
    outside = shown.replace(frame, "")
    assert finding in html.unescape(outside) and "<style" not in outside and "<script" not in outside
    assert len(shown) < 500_000
    monkeypatch.setattr("recoup._html.MOST_BYTES", 1_000)
    too_long = recoup.explain(capture, advice=False)._repr_html_()
    assert "<iframe" not in too_long and "1 more captures are shown as text only" in too_long


def test_the_built_in_capture():
    assert "60 connections" in str(recoup.explain())


def test_whatif_is_the_programs(capture, analysis):
    answer = analysis.whatif(["+tlpr", "rfc6675"])
    program = recoup_program("whatif", capture, "--try", "+tlpr", "--try", "rfc6675")
    assert str(answer) == program.stdout
    assert answer.results["mechanism"] == ["+tlpr", "rfc6675"]
    assert len(answer.connections) > 10
    with pytest.raises(recoup.RecoupError, match="did you mean"):
        recoup.whatif(capture, "+tlpp")


def test_compare_is_the_programs(capture):
    compared = recoup.compare(capture, capture, "+tlpr")
    program = recoup_program("compare", capture, capture, "--try", "+tlpr")
    assert str(compared) == program.stdout
    assert compared.document["schema"] == "recoup.compare"
    assert all(change["change"] == 0 for change in compared.document["changes"])
    assert compared.page().startswith("<!DOCTYPE html>")
    with pytest.raises(recoup.RecoupError, match="did you mean"):
        recoup.compare(capture, capture, "+tlpp")


def test_a_continued_analysis_is_the_joined_one(capture, tmp_path):
    pieces = cut(capture, tmp_path, 5)
    joined = recoup.analyze(pieces, join=True)
    state, latest = None, {}
    for piece in pieces:
        step = recoup.Continuation("retransmissions", state)
        step.read(piece)
        for record in step.finish().to_pylist():
            latest[record["frame"], record["seq"]] = record
        state = step.state
    rows = [row for _, row in sorted(latest.items()) if row.pop("record") != "withdrawn"]
    assert rows == joined.retransmissions.to_pylist()
    with pytest.raises(recoup.RecoupError, match="finished"):
        step.read(pieces[0])
    with pytest.raises(recoup.StateError, match="state"):
        recoup.Continuation("connections", state)
    with pytest.raises(recoup.StateError, match="not a state file"):
        recoup.Continuation("retransmissions", b"something else")
    with pytest.raises(recoup.RecoupError, match="did you mean `connections`"):
        recoup.Continuation("connection")


def in_threads(count, work):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_analyze_beside_each_other(capture, analysis):
    results = []
    in_threads(4, lambda: results.append(recoup.analyze(capture, progress=False).retransmissions.to_pylist()))
    assert results == [analysis.retransmissions.to_pylist()] * 4


def test_threads_share_a_table(capture):
    found, tables = recoup.analyze(capture), []
    in_threads(8, lambda: tables.append(found.connections))
    assert len(tables) == 8 and all(table is tables[0] for table in tables)


def test_progress_is_reported_and_may_end_the_call(capture):
    calls = []
    recoup.analyze(capture, progress=lambda *call: calls.append(call))
    done, total, what, unit = calls[-1]
    assert (done, unit, what) == (total, "bytes", str(capture))

    class Enough(Exception):
        pass

    def stop(*_):
        raise Enough

    with pytest.raises(Enough):
        recoup.run("tail-loss", flows=10_000_000, drop="bernoulli:0.02", progress=stop)


def test_nothing_warns(capture):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = recoup.analyze(capture)
        assert json.dumps(found.retransmissions.to_pylist())
        assert found._repr_html_() and repr(found) and found.connections._repr_html_()
        assert found.explain(advice=False)._repr_html_()


def test_groups_add_up_to_the_whole():
    explained = recoup.explain(by=["server", "prefix:16"], advice=False)
    capture = explained.document["captures"][0]
    groups = explained.groups
    assert set(groups["by"]) == {"server", "prefix:16"}
    for by in ("server", "prefix:16"):
        lost = sum(ms for of, ms in zip(groups["by"], groups["lost_ms"]) if of == by)
        assert lost == pytest.approx(capture["lost_ms"])
    with pytest.raises(recoup.RecoupError, match="did you mean `server`"):
        recoup.explain(by="servr")
