//! Runs work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// The number of cores, at least 1.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs `work` on each of `threads` threads, this one among them, and returns all results. Where the system has fewer
/// threads left, there are fewer results.
///
/// # Errors
/// The first error in the order of threads.
pub fn on_threads<T: Send, E: Send>(threads: usize, work: impl Fn() -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    if threads <= 1 {
        return Ok(vec![work()?]);
    }
    std::thread::scope(|scope| {
        let (others, own) = begin(scope, threads - 1, &work);
        let results = others.into_iter().map(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(own).chain(results).collect()
    })
}

/// Begins `work` on so many other threads, or as many as the system has left, and does it on this one.
fn begin<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    others: usize,
    work: &'scope (impl Fn() -> R + Sync),
) -> (Vec<ScopedJoinHandle<'scope, R>>, R) {
    let spawned = (0..others).map_while(|_| Builder::new().spawn_scoped(scope, work).ok());
    (spawned.collect(), work())
}

/// `of(i)` for each `i` below `count`, in order. The result does not depend on `threads`.
///
/// # Errors
/// An error that `of` returned.
pub fn in_parallel<T: Send, E: Send>(
    count: usize,
    threads: usize,
    of: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    in_parallel_with(count, threads, || (), |(), i| of(i))
}

/// [`in_parallel`] with a value for each thread, which `make` makes, such as buffers that `of` uses again.
///
/// # Errors
/// An error that `of` returned.
pub fn in_parallel_with<W, T: Send, E: Send>(
    count: usize,
    threads: usize,
    make: impl Fn() -> W + Sync,
    of: impl Fn(&mut W, usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let parts = on_threads(threads.min(count), || {
        let mut with = make();
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return Ok(done);
            }
            done.push((i, of(&mut with, i)?));
        }
    })?;
    let mut all: Vec<_> = parts.into_iter().flatten().collect();
    all.sort_by_key(|(i, _)| *i);
    Ok(all.into_iter().map(|(_, one)| one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_for_any_number_of_threads() {
        for (count, threads) in [(0, 4), (1, 4), (500, 0), (500, 1), (500, 7)] {
            let squares = in_parallel(count, threads, |i| Ok::<_, ()>(i * i));
            let expected: Vec<usize> = (0..count).map(|i| i * i).collect();
            assert_eq!(squares, Ok(expected), "{count} on {threads}");
        }
    }

    #[test]
    fn an_error_is_returned() {
        for threads in [1, 3] {
            let halves = in_parallel(100, threads, |i| if i == 40 { Err(i) } else { Ok(i) });
            assert_eq!(halves, Err(40));
        }
    }
}
