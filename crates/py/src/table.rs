//! Tables of results: Arrow record batches that other libraries take over without a copy.

use crate::errors::{defect, wrong};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    TimestampNanosecondArray,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use recoup_captures::analysis::{Analyzed, Tabular};
use recoup_support::output_file::{OutputError, OutputFile};
use recoup_support::suggest::did_you_mean;
use recoup_table::{Batches, Columns, Part};
use std::path::PathBuf;

/// Rows of a result. `polars.DataFrame`, `pandas.DataFrame.from_arrow`, `pyarrow.table` and DuckDB take it as it is, by
/// the Arrow PyCapsule interface, without a copy.
#[pyclass(frozen, module = "recoup")]
pub struct Table(Batches);

impl Table {
    /// A table of rows.
    pub fn new<R: 'static>(columns: &Columns<R>, parts: &[Part<'_, R>]) -> PyResult<Self> {
        columns.to_arrow(parts).map(Self).map_err(defect)
    }

    /// The findings of a capture.
    pub fn of<V: Tabular>(analyzed: &Analyzed<V>) -> PyResult<Self> {
        let columns = V::columns(&analyzed.counts.files);
        Self::new(&columns, &[Part { name: "", rows: V::rows(analyzed) }])
    }

    fn index(&self, name: &str) -> PyResult<usize> {
        self.0.schema.index_of(name).map_err(|_| {
            let names = self.0.schema.fields().iter().map(|field| field.name().as_str());
            let hint = did_you_mean(name, names);
            PyKeyError::new_err(format!("no column {name}: expected one of .columns{hint}"))
        })
    }

    fn cells<'py>(&self, py: Python<'py>, batch: &RecordBatch, column: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let array = batch.column(column).as_any();
        if let Some(cells) = array.downcast_ref::<StringArray>() {
            return to_list(py, cells.iter());
        }
        if let Some(cells) = array.downcast_ref::<Int64Array>() {
            return to_list(py, cells.iter());
        }
        if let Some(cells) = array.downcast_ref::<Float64Array>() {
            return to_list(py, cells.iter());
        }
        if let Some(cells) = array.downcast_ref::<BooleanArray>() {
            return to_list(py, cells.iter());
        }
        if let Some(cells) = array.downcast_ref::<TimestampNanosecondArray>() {
            return to_list(py, cells.iter());
        }
        Err(defect("a column of an unexpected type"))
    }
}

impl From<Batches> for Table {
    fn from(batches: Batches) -> Self {
        Self(batches)
    }
}

fn to_list<'py, T: IntoPyObjectExt<'py>>(
    py: Python<'py>,
    cells: impl Iterator<Item = T>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    cells.map(|cell| cell.into_bound_py_any(py)).collect()
}

#[pymethods]
impl Table {
    /// The Arrow C stream of all rows (Arrow PyCapsule interface). The schema is this table's, whatever is requested.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.0.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.0.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The Arrow C schema (Arrow PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.0.schema).map_err(defect)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.0.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        let fields = self.0.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    /// The unit of each column by its name; "" where there is none.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.metadata(py, "unit")
    }

    /// What each column holds, by its name.
    #[getter]
    fn descriptions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.metadata(py, "description")
    }

    /// The cells of a column by its name, or a row as a dict by its number, from 0; negative numbers count from the end.
    /// Times are integers: ns since 1970.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.extract::<String>() {
            let column = self.index(&name)?;
            let list = PyList::empty(py);
            for batch in &self.0.batches {
                for cell in self.cells(py, batch, column)? {
                    list.append(cell)?;
                }
            }
            return Ok(list.into_any());
        }
        let Ok(number) = key.extract::<i64>() else {
            let found = key.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a table is indexed by a column's name or a row's number, not by {found}"
            )));
        };
        let len = self.__len__();
        let row = match number {
            0.. => usize::try_from(number).ok(),
            _ => usize::try_from(number.unsigned_abs()).ok().and_then(|back| len.checked_sub(back)),
        };
        let row = row
            .filter(|row| *row < len)
            .ok_or_else(|| PyIndexError::new_err(format!("no row {number}: the table has {len}")))?;
        let row = self.rows_from(py, row, 1)?.get_item(0)?;
        Ok(row)
    }

    /// The first `count` rows as a list of dicts.
    #[pyo3(signature = (count=5))]
    fn head<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        self.rows_from(py, 0, count)
    }

    /// All rows as a list of dicts, for small tables. Data frames are quicker.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.rows_from(py, 0, usize::MAX)
    }

    /// Writes the rows as a Parquet file, as the program does. Units and descriptions are not in the file.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let mut file = OutputFile::create(&path)?;
            let written = self.0.write_parquet(&mut file);
            written.map_err(|source| OutputError { path, source })?;
            file.publish()
        })
        .map_err(wrong)
    }

    fn __repr__(&self) -> String {
        format!("<recoup.Table: {} rows, {} columns>", self.__len__(), self.0.schema.fields().len())
    }
}

impl Table {
    fn metadata<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for field in self.0.schema.fields() {
            let text = field.metadata().get(key);
            all.set_item(field.name(), text.map_or("", |text| text.as_str()))?;
        }
        Ok(all)
    }

    /// Up to `count` rows from this one on.
    fn rows_from<'py>(&self, py: Python<'py>, first: usize, count: usize) -> PyResult<Bound<'py, PyList>> {
        let names = self.columns();
        let rows = PyList::empty(py);
        let (mut skip, mut left) = (first, count);
        for batch in &self.0.batches {
            let begin = skip.min(batch.num_rows());
            skip -= begin;
            let slice = batch.slice(begin, left.min(batch.num_rows() - begin));
            left -= slice.num_rows();
            let columns = (0..names.len()).map(|column| self.cells(py, &slice, column));
            let columns = columns.collect::<PyResult<Vec<_>>>()?;
            for row in 0..slice.num_rows() {
                let dict = PyDict::new(py);
                for (name, cells) in names.iter().zip(&columns) {
                    dict.set_item(name, &cells[row])?;
                }
                rows.append(dict)?;
            }
        }
        Ok(rows)
    }
}
