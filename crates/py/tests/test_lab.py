"""The simulator: runs, sweeps, papers."""

import json

import pytest
import recoup
from program import recoup_program


def test_a_run_is_the_programs():
    run = recoup.run("tail-loss", profiles=["linux-6", "rfc6675"], drop="tail:2", flows=100)
    program = recoup_program(
        *("run", "tail-loss", "--profile", "linux-6", "--profile", "rfc6675"),
        *("--set", "drop=tail:2", "--flows", 100, "--format", "json"),
    )
    assert run.document == json.loads(program.stdout)
    assert run.results["profile"] == ["linux-6", "rfc6675"]
    assert run.results["fct_ms_mean"] == [482.0, 1520.0]
    assert run.results["set_drop"] == ["tail:2"] * 2
    assert run.results["seed"] == [run.seed] * 2


def test_lists_of_values_are_a_sweep():
    drops = ["tail:1", "tail:1,up:ack:2"]
    run = recoup.run("tail-loss", profiles="linux-6", flows=5, rtt=["20ms", "80ms"], drop=drops)
    rows = list(zip(run.results["set_rtt"], run.results["set_drop"]))
    assert rows == [(rtt, drop) for rtt in ("20ms", "80ms") for drop in drops]


def test_a_world():
    run = recoup.run("dumbbell", seed=3, settings={"duration": "2s", "runs": 1})
    assert set(run.results["workload"])
    assert run.seed == 3


def test_a_scenario_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(recoup_program("scenario", "show", "tail-loss").stdout)
    assert len(recoup.run(path, flows=2).results) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scenario": "tail-los"}, "did you mean `tail-loss`"),
        ({"rtt": "x"}, "rtt: `x` is not a duration"),
        ({"rt": "1ms"}, "did you mean `rtt`"),
        ({"rtt": []}, "rtt: expected at least one value"),
        ({"rtt": ["1ms", "1ms"]}, "given twice"),
        ({"flows": 0}, "flows: expected at least 1"),
        ({"profiles": ["linux-66"]}, "did you mean `linux-6`"),
        ({"scenario": "dumbbell", "flows": 3}, "workloads.NAME.flows"),
        ({"scenario": "missing.toml"}, "missing.toml"),
    ],
)
def test_wrong_arguments_are_one_line(arguments, message):
    arguments = dict(arguments)
    scenario = arguments.pop("scenario", "tail-loss")
    with pytest.raises(recoup.RecoupError, match=message) as raised:
        recoup.run(scenario, **arguments)
    assert "\n" not in str(raised.value)


def test_scenarios_are_listed():
    scenarios = recoup.scenarios()
    assert "tail-loss" in [scenario.name for scenario in scenarios]
    assert all(scenario.about for scenario in scenarios)


def test_a_papers_figure():
    paper = recoup.paper("prr", "fig2", quick=True)
    assert list(paper.figures) == ["prr fig2"]
    figure = paper["fig2"]
    assert figure.svg._repr_svg_().startswith("<svg")
    assert figure.data["figure"] == "fig2" and figure.csv.count("\n") > 2
    assert "holds" in paper.claims["verdict"]
    assert "<html" in paper.report() and "<svg" in paper._repr_html_()
    with pytest.raises(KeyError, match="no figure fig9"):
        paper["fig9"]
    with pytest.raises(recoup.RecoupError, match="did you mean `tail-loss`"):
        recoup.paper("tail-los")
