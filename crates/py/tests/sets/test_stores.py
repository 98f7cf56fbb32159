"""Captures in an object store: a local server that speaks S3."""

import gzip
import os
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("moto.server")
fs = pytest.importorskip("pyarrow.fs")

import recoup
from recoup._sets.storage import Store

from helpers import Failed, joined, without_chain

KEYS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(endpoint: str) -> fs.S3FileSystem:
    return fs.S3FileSystem(
        endpoint_override=endpoint, access_key="k", secret_key="s", region="us-east-1", allow_bucket_creation=True
    )


@pytest.fixture(scope="module")
def endpoint():
    """The address of the server."""
    port = free_port()
    program = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def bucket(endpoint, hundred) -> str:
    """A bucket with 20 of the files, compressed."""
    store = connect(endpoint)
    store.create_dir("captures")
    for path in hundred[:20]:
        with open(path, "rb") as file, store.open_output_stream(f"captures/day/{os.path.basename(path)}.gz", compression=None) as out:
            out.write(gzip.compress(file.read()))
    return "s3://captures/day/*.pcap.gz"


def expected(hundred, table="retransmissions") -> list[dict]:
    rows = joined(hundred[:20], table)
    for row in rows:
        if "file" in row:
            row["file"] = f"s3://captures/day/{os.path.basename(row['file'])}.gz"
    return rows


@pytest.mark.parametrize("engine", ["daft", "daft-ray", "ray"])
def test_objects_are_read_with_the_environments_credentials(engine, bucket, endpoint, hundred, on):
    env = KEYS | {"AWS_ENDPOINT_URL": endpoint}
    options = {"checkpoint": "s3://captures/checkpoints-" + engine, "every": 6}
    found = on(engine, "read_captures", bucket, env=env, **options)
    assert without_chain(found) == expected(hundred)
    # A second call reads the checkpoint; what it left is whole.
    assert on(engine, "read_captures", bucket, env=env, **options).equals(found)
    names = [info.path for info in connect(endpoint).get_file_info(fs.FileSelector(options["checkpoint"][5:], recursive=True))]
    assert sum(name.endswith(".state") for name in names) == 1
    assert sum(name.endswith(".records.arrow") for name in names) == 4


@pytest.mark.parametrize("engine", ["daft", "ray"])
def test_partitions_lie_in_the_store_in_between(engine, bucket, endpoint, hundred, on):
    env = KEYS | {"AWS_ENDPOINT_URL": endpoint}
    found = on(engine, "read_captures", bucket, env=env, partitions=3, scratch="s3://captures/scratch")
    assert without_chain(found) == expected(hundred)
    left = connect(endpoint).get_file_info(fs.FileSelector("captures/scratch", recursive=True, allow_not_found=True))
    assert [info.path for info in left if info.type == fs.FileType.File] == []


def test_dafts_configuration_of_s3_counts(bucket, endpoint, hundred):
    daft = pytest.importorskip("daft")
    import recoup.daft

    s3 = daft.io.S3Config(endpoint_url=endpoint, key_id="k", access_key="s", region_name="us-east-1")
    frame = recoup.daft.read_captures(bucket, "connections", io_config=daft.io.IOConfig(s3=s3))
    assert without_chain(frame.to_arrow()) == expected(hundred, "connections")


def test_a_store_that_refuses_says_where_and_what_to_check(endpoint, bucket, monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=1)
    closed = fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], access_key="k", secret_key="s", retry_strategy=retries)
    with pytest.raises(recoup.CaptureError, match="s3://captures/day/: the store refuses: .*check address, credentials"):
        Store(closed).find("s3://captures/day/*.pcap")
    with pytest.raises(recoup.CaptureError, match="s3://nowhere/x/: (there is no such folder|the store refuses)"):
        Store(connect(endpoint)).find("s3://nowhere/x/*.pcap")
    with pytest.raises(recoup.CaptureError, match="^ftp://host/a.pcap: the store refuses: .*ftp"):
        Store().find("ftp://host/a.pcap")


def test_an_object_that_vanishes_between_listing_and_reading_is_named(bucket, endpoint, tmp_path):
    with pytest.raises(recoup.CaptureError, match="s3://captures/day/gone.pcap: the file has vanished"):
        Store(connect(endpoint)).fetch("s3://captures/day/gone.pcap", str(tmp_path / "gone"))


def test_a_column_that_does_not_exist_is_named(hundred):
    pytest.importorskip("daft")
    import recoup.daft

    with pytest.raises(Exception, match="verdikt"):
        recoup.daft.read_captures(hundred[:2]).where("verdikt = 'spurious'").collect()
