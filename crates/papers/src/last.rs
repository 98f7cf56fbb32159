//! The last result of a simulation that several figures show.

use crate::experiment::Setup;
use crate::prelude::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// Keeps the last result, with what it depends on.
pub struct Last<T>(Mutex<Option<(String, Arc<T>)>>);

impl<T> Last<T> {
    /// None yet.
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The result of this setup and `own`, made if the last one is another's.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn or_make(&self, setup: &Setup, own: &str, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let key = {
            let mutation = setup.mutation.map(|mutation| &mutation.name);
            format!("{own} {} {mutation:?} {:?}", setup.seed(), setup.changes)
        };
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((of, result)) if *of == key => Ok(Arc::clone(result)),
            _ => {
                let result = Arc::new(make()?);
                *last = Some((key, Arc::clone(&result)));
                Ok(result)
            }
        }
    }
}
