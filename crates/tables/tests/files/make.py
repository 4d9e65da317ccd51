"""Writes the files of this directory with pandas, PyArrow, DuckDB, Polars and Spark (each where it is installed).

    pip install pandas pyarrow duckdb polars pyspark && python make.py
"""

import datetime
import decimal
import glob
import shutil

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

ROWS = 5
UTC = datetime.timezone.utc
TABLE = pa.table(
    {
        "id": pa.array([7, -2, 300, 2**40, -(2**63)], pa.int64()),
        "small": pa.array([0, 1, 2, 254, 255], pa.uint8()),
        "big": pa.array([0, 1, 2, 3, 2**64 - 1], pa.uint64()),
        "flag": pa.array([True, False, True, True, False]),
        "name": pa.array(["ann", " bob ", "Ren\u00e9", "", "ann"]),
        "long_name": pa.array(["a", "b", "c", "d", "e" * 100], pa.large_string()),
        "city": pa.array(["Rome", "Oslo", "Rome", "Rome", "Oslo"]).dictionary_encode(),
        "amount": pa.array([decimal.Decimal(t) for t in ["1.25", "-3.00", "0.50", "12345.75", "0.00"]], pa.decimal128(10, 2)),
        "whole": pa.array([decimal.Decimal(t) for t in ["1.00", "-3.00", "0.00", "12345.00", "7.00"]], pa.decimal128(10, 2)),
        "price": pa.array([1.5, -2.25, 0.1, 1e6, 0.0], pa.float64()),
        "single": pa.array([1.0, 2.0, 3.0, 16777216.0, -5.0], pa.float32()),
        "day": pa.array([datetime.date(1970, 1, 1), datetime.date(2024, 2, 29), datetime.date(1969, 12, 31), datetime.date(2000, 3, 1), datetime.date(1900, 3, 1)]),
        "hash": pa.array([bytes([n] * 4) for n in [0, 1, 127, 128, 255]], pa.binary()),
        "maybe": pa.array([1, None, 3, None, 5], pa.int32()),
        "nothing_there": pa.array([1.0, float("nan"), 3.0, float("inf"), 5.0], pa.float64()),
        "when": pa.array([datetime.datetime(2024, 1, 1, tzinfo=UTC)] * 5, pa.timestamp("us", tz="UTC")),
        "list": pa.array([[1], [2, 3], [], [4], [5]], pa.list_(pa.int32())),
    }
)


def arrow():
    pa.feather.write_feather(TABLE, "feather_lz4.arrow", compression="lz4", chunksize=2)
    pa.feather.write_feather(TABLE, "feather_zstd.arrow", compression="zstd", chunksize=3)
    with pa.ipc.new_file("plain.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)
    with pa.ipc.new_stream("plain.arrows", TABLE.schema) as writer:
        writer.write_table(TABLE)


def parquet():
    pa.parquet.write_table(TABLE, "pyarrow.parquet", row_group_size=2)
    frame = TABLE.drop_columns(["list"]).to_pandas(types_mapper=None)
    for compression in ["snappy", "gzip", "brotli", "zstd", "lz4", None]:
        frame.to_parquet(f"pandas_{compression or 'plain'}.parquet", compression=compression, index=False)


def duckdb():
    import duckdb as duck

    rows = TABLE  # found by its name
    duck.sql("COPY (SELECT * FROM rows) TO 'duckdb.parquet' (FORMAT parquet)")


def polars():
    import polars

    frame = polars.from_arrow(TABLE)
    frame.write_parquet("polars.parquet")
    frame.write_ipc("polars.arrow", compression="lz4")


def spark():
    from pyspark.sql import SparkSession

    pa.parquet.write_table(TABLE.drop_columns(["nothing_there"]), "for_spark.parquet")
    session = SparkSession.builder.master("local[1]").getOrCreate()
    session.read.parquet("for_spark.parquet").coalesce(1).write.mode("overwrite").parquet("spark")
    shutil.copy(glob.glob("spark/part-*.parquet")[0], "spark.parquet")
    shutil.rmtree("spark")
    glob.os.remove("for_spark.parquet")


for write in [arrow, parquet, duckdb, polars, spark]:
    try:
        write()
    except ImportError as missing:
        print(f"skipped {write.__name__}: {missing}")
