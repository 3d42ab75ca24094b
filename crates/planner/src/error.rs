//! [`Error`]: why something cannot be computed.

/// Why something cannot be computed: one line that names the cause and the remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The contents of a file make no sense.
    #[error("{0}")]
    File(String),
    /// The request makes no sense.
    #[error("{0}")]
    Asked(String),
    /// A station cannot serve all that arrives, so its queue would grow without end.
    #[error(
        "station `{station}` saturates at {} a second, and {} are asked; ask for less than \
         that, or give it less to do",
        short(*limit_per_s), short(*asked_per_s)
    )]
    Saturated {
        /// The station that saturates first.
        station: String,
        /// The total rate at which it saturates, over all classes in the given mix,
        /// customers a second.
        limit_per_s: f64,
        /// The total rate that was asked for, customers a second.
        asked_per_s: f64,
    },
    /// An iteration does not converge.
    #[error(
        "no solution within {iterations} iterations, queue lengths still change by {change:.1e}; \
         allow more iterations or a greater tolerance, or put stations or classes together"
    )]
    NoConvergence {
        /// Iterations made.
        iterations: u64,
        /// The greatest relative change of a queue length in the last one.
        change: f64,
    },
}

/// Up to six decimal places, without trailing zeros.
fn short(figure: f64) -> String {
    let text = format!("{figure:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
