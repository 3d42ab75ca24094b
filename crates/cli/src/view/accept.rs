//! Listening that survives a moment without descriptors.

use std::io;
use std::time::Duration;

/// How long the listener rests after a failure: what it lacks, others have to give back.
const REST: Duration = Duration::from_millis(100);

/// The next connection that `accept` gives. Where it fails, for want of descriptors or
/// because the client has gone already, it is asked again after a moment: others may make
/// it fail, and must not end the listening so.
pub async fn next<T, F>(mut accept: impl FnMut() -> F) -> T
where
    F: Future<Output = io::Result<T>>,
{
    loop {
        match accept().await {
            Ok(connection) => return connection,
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_failure_does_not_end_it() {
        let mut answers = [24, 103, 0].into_iter();
        let connection = next(|| {
            std::future::ready(match answers.next() {
                Some(0) => Ok("a connection"),
                error => Err(io::Error::from_raw_os_error(error.expect("asked no more"))),
            })
        });
        assert_eq!(connection.await, "a connection");
    }
}
