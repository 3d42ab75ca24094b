//! All figures of [`Costs`] together: they are checked and scaled alike.

use super::{Caches, Costs, Extra, Frames, HandOff, Layers, LockCosts, Rounds, Steps, Threads};
use crate::Error;
use sync::LockKind;

/// The largest cost, ns (a second), and the largest count.
const MOST: f64 = 1e9;
/// The largest cost of a byte, ns.
const MOST_PER_BYTE: f64 = 1e3;
/// The largest number of frames of an operation.
const MOST_FRAMES: f64 = 1e4;

/// One number of [`Costs`].
struct Figure<'a> {
    /// Its path in the file.
    name: String,
    value: &'a mut f64,
    most: f64,
}

impl Figure<'_> {
    /// True for a time: the unit is in the name.
    fn is_time(&self) -> bool {
        self.name.ends_with("_ns")
    }

    /// True for the time that some layer takes.
    fn is_of_layer(&self) -> bool {
        self.name.starts_with("layers")
    }
}

/// The names and values of a table's fields. The pattern has no `..`, so a field
/// that is missing here does not compile.
macro_rules! fields {
    ($table:expr, $type:ident { $($field:ident),+ $(,)? }) => {{
        let $type { $($field),+ } = $table;
        [$((stringify!($field), $field)),+]
    }};
}

/// Adds a table's fields to `all`.
fn add<'a, const N: usize>(
    all: &mut Vec<Figure<'a>>,
    table: &str,
    most: f64,
    fields: [(&str, &'a mut f64); N],
) {
    all.extend(fields.map(|(name, value)| Figure { name: format!("{table}{name}"), value, most }));
}

impl Layers {
    fn fields(&mut self) -> [(&'static str, &mut f64); 10] {
        fields!(
            self,
            Layers {
                receive_ns,
                link_in_ns,
                ip_in_ns,
                transport_in_ns,
                application_ns,
                transport_out_ns,
                ip_out_ns,
                link_out_ns,
                transmit_ns,
                presentation_ns,
            }
        )
    }
}

impl Costs {
    fn figures(&mut self) -> Vec<Figure<'_>> {
        let mut all = Vec::new();
        add(&mut all, "layers.", MOST, self.layers.fields());
        add(&mut all, "layers_per_byte.", MOST_PER_BYTE, self.layers_per_byte.fields());
        let frames = fields!(&mut self.frames, Frames { per_operation_in, per_operation_out });
        add(&mut all, "frames.", MOST_FRAMES, frames);
        let rounds = fields!(
            &mut self.rounds,
            Rounds { round_ns, empty_poll_ns, visit_ns, scan_ns, sleep_ns }
        );
        add(&mut all, "rounds.", MOST, rounds);
        for (name, lock) in &mut self.locks {
            let lock = fields!(lock, LockCosts { alone_ns, contended_ns, per_waiter_ns, spin_ns });
            add(&mut all, &format!("locks.{name}."), MOST, lock);
        }
        let steps = fields!(
            &mut self.steps,
            Steps { demultiplex_ns, filter_ns, lookup_ns, ticket_ns, schedule_ns, open_ns }
        );
        add(&mut all, "steps.", MOST, steps);
        let hand_off = fields!(
            &mut self.hand_off,
            HandOff { item_ns, batch_ns, sleep_lock_ns, layer_item_ns }
        );
        add(&mut all, "hand_off.", MOST, hand_off);
        let threads = fields!(
            &mut self.threads,
            Threads { wake_call_ns, wake_up_ns, context_switch_ns, time_slice_ns, spin_yield_ns }
        );
        add(&mut all, "threads.", MOST, threads);
        let caches = fields!(
            &mut self.caches,
            Caches {
                line_transfer_ns,
                connection_lines,
                unit_lines,
                packet_lines,
                thread_lines,
                connections_held,
                miss_ns,
            }
        );
        add(&mut all, "caches.", MOST, caches);
        let extra = fields!(&mut self.extra, Extra { operation_ns, round_ns });
        add(&mut all, "extra.", MOST, extra);
        add(&mut all, "", 1.0, [("variation", &mut self.variation)]);
        all
    }

    /// Multiplies all times by `factor`, which is limited to 0.001 to 1000. A factor
    /// that is not finite counts as 1.
    pub(crate) fn scale(&mut self, factor: f64) {
        let factor = if factor.is_finite() { factor.clamp(1e-3, 1e3) } else { 1.0 };
        for figure in self.figures().into_iter().filter(Figure::is_time) {
            *figure.value *= factor;
        }
    }

    /// All times, with the paths that they have in the file, ns.
    pub fn times(&self) -> Vec<(String, f64)> {
        let mut copy = self.clone();
        let times = copy.figures().into_iter().filter(Figure::is_time);
        times.map(|figure| (figure.name, *figure.value)).collect()
    }

    /// Sets the figure of this name to what `f` makes of it.
    pub(crate) fn change(&mut self, name: &str, f: impl FnOnce(f64) -> f64) {
        if let Some(figure) = self.figures().into_iter().find(|figure| figure.name == name) {
            *figure.value = f(*figure.value);
        }
    }

    /// Checks that all figures are finite, not negative, and not absurdly large.
    ///
    /// # Errors
    /// [`Error::File`] with the name of the first figure that is not.
    pub fn check(&self) -> Result<(), Error> {
        let mut copy = self.clone();
        let figures = copy.figures();
        for Figure { name, value, most } in &figures {
            if !(0.0..=*most).contains(*value) {
                return Err(Error::File(format!(
                    "costs: {name} is {value}; give a number from 0 to {most:e}"
                )));
            }
        }
        for name in self.locks.keys() {
            if !LockKind::ALL.iter().any(|kind| kind.name() == name) {
                let names = LockKind::names();
                return Err(Error::File(format!(
                    "costs: there is no lock called {name:?}; the kinds are {names}"
                )));
            }
        }
        if self.threads.time_slice_ns < 1.0 {
            return Err(Error::File("costs: threads.time_slice_ns must be at least 1".into()));
        }
        let work: f64 = figures.iter().filter(|f| f.is_of_layer()).map(|f| *f.value).sum();
        if work < 0.01 {
            return Err(Error::File(
                "costs: no layer takes any time; give [layers] in ns an operation".into(),
            ));
        }
        Ok(())
    }
}
