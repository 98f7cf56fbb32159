//! The same work on several cores.

use std::sync::atomic::{AtomicUsize, Ordering};

/// As many threads as there are cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does `work` on so many threads, one at least, at the same time: what each came to.
///
/// # Errors
/// The first that a thread came to.
pub fn on_threads<T: Send, E: Send>(
    threads: usize,
    work: impl Fn() -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    if threads <= 1 {
        return Ok(vec![work()?]);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        let results = workers.into_iter().map(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect()
    })
}

/// `of(i)` of every `i` below `count`, in that order, whoever computed it: the result does not depend
/// on `threads`.
///
/// # Errors
/// One that `of` gave.
pub fn in_parallel<T: Send, E: Send>(
    count: usize,
    threads: usize,
    of: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let parts = on_threads(threads.min(count), || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return Ok(done);
            }
            done.push((i, of(i)?));
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
    fn results_are_in_order_however_many_threads() {
        for (count, threads) in [(0, 4), (1, 4), (500, 0), (500, 1), (500, 7)] {
            let squares = in_parallel(count, threads, |i| Ok::<_, ()>(i * i));
            let expected: Vec<usize> = (0..count).map(|i| i * i).collect();
            assert_eq!(squares, Ok(expected), "{count} on {threads}");
        }
    }

    #[test]
    fn an_error_is_passed_on() {
        for threads in [1, 3] {
            let halves = in_parallel(100, threads, |i| if i == 40 { Err(i) } else { Ok(i) });
            assert_eq!(halves, Err(40));
        }
    }
}
