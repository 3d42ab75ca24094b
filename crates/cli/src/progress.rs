//! Progress bars: on a terminal, and nowhere else.

use indicatif::{ProgressBar, ProgressStyle};
use lab::Progress;
use std::io::IsTerminal;
use std::time::Duration;

/// A bar of `steps`, as `template` shows them; hidden where standard error is no terminal.
pub fn bar(steps: u64, template: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Of work that shows only that it goes on.
pub fn spinner() -> ProgressBar {
    ticking(bar(0, "{spinner} {elapsed}  {msg}"))
}

/// A bar that is drawn anew even while no step is done.
pub fn ticking(bar: ProgressBar) -> ProgressBar {
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// A bar of samples, for [`show`].
pub fn samples() -> ProgressBar {
    bar(0, "{bar:30} {pos}/{len} samples  {elapsed}  {msg}")
}

/// Shows how far an experiment is.
pub fn show(bar: &ProgressBar, progress: Progress<'_>) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    bar.set_message(progress.organization.to_owned());
}
