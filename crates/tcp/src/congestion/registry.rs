//! The registry of algorithms, as a macro: the table itself is in the parent.

/// Makes `Algorithm`, the enumeration of states `Control`, `Congestion` around it, and its
/// dispatch, from rows `"name" => Variant(State)`. The first row is the default.
macro_rules! algorithms {
    ($(#[$first_doc:meta])* $first_name:literal => $first:ident($first_state:ty),
     $($(#[$doc:meta])* $name:literal => $variant:ident($state:ty),)*) => {
        /// The algorithms there are.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Algorithm {
            $(#[$first_doc])*
            #[default]
            $first,
            $($(#[$doc])* $variant,)*
        }

        impl Algorithm {
            /// All of them.
            pub const ALL: &[Algorithm] = &[Algorithm::$first, $(Algorithm::$variant),*];

            /// The name by which it is chosen.
            pub const fn name(self) -> &'static str {
                match self {
                    Algorithm::$first => $first_name,
                    $(Algorithm::$variant => $name,)*
                }
            }
        }

        /// The state of the algorithm that a connection runs.
        #[derive(Clone, Debug)]
        enum Control {
            $first($first_state),
            $($variant($state),)*
        }

        /// The algorithm that a connection runs, and the window that it has said last: each
        /// segment asks for that, several times.
        #[derive(Clone, Debug)]
        pub(crate) struct Congestion {
            window: u32,
            models: bool,
            control: Control,
        }

        impl Congestion {
            pub(crate) fn new(algorithm: Algorithm, initial_window: u32) -> Congestion {
                let control = match algorithm {
                    Algorithm::$first => Control::$first(CongestionControl::new(initial_window)),
                    $(Algorithm::$variant => {
                        Control::$variant(CongestionControl::new(initial_window))
                    })*
                };
                let models = match &control {
                    Control::$first(c) => c.models(),
                    $(Control::$variant(c) => c.models(),)*
                };
                let mut new = Congestion { window: 0, models, control };
                new.note();
                new
            }

            /// As [`Congestion::new`], for a connection that had another before.
            pub(crate) fn resume(algorithm: Algorithm, window: u32, ssthresh: u32) -> Congestion {
                let mut new = Congestion::new(algorithm, window);
                match &mut new.control {
                    Control::$first(c) => c.set_ssthresh(ssthresh),
                    $(Control::$variant(c) => c.set_ssthresh(ssthresh),)*
                }
                new.note();
                new
            }

            /// Asks the memory for what says whether it has a [pacer](Paces::pacer).
            #[inline]
            pub(crate) fn ask_for_pacer(&self) {
                wire::prefetch(&self.models);
            }

            /// Which algorithm it is.
            pub(crate) fn algorithm(&self) -> Algorithm {
                match self.control {
                    Control::$first(_) => Algorithm::$first,
                    $(Control::$variant(_) => Algorithm::$variant,)*
                }
            }
        }

        algorithms! { @dispatch $first $($variant)* }
    };
    // The default is compiled into the acknowledgment's own code. The others get a sample of
    // their own, so that none need be in memory for the first.
    (@first $self:ident $sample:ident $first:ident $($variant:ident)*) => {
        if let Control::$first(c) = &mut $self.control {
            c.on_ack_of($sample);
            $self.window = c.window();
        } else {
            $self.on_ack_of_another(&$sample());
        }
    };
    (@dispatch $($variant:ident)*) => {
        impl Congestion {
            #[inline]
            pub(crate) fn window(&self) -> u32 {
                self.window
            }
            #[inline]
            pub(crate) fn ssthresh(&self) -> u32 {
                match &self.control { $(Control::$variant(c) => c.ssthresh(),)* }
            }
            /// Notes what the algorithm says after it has heard something.
            #[inline]
            fn note(&mut self) {
                self.window = match &self.control { $(Control::$variant(c) => c.window(),)* };
            }
            #[inline(always)]
            pub(crate) fn on_ack(&mut self, sample: impl Fn() -> Sample) {
                algorithms! { @first self sample $($variant)* }
            }
            /// As [`Congestion::on_ack`], for any.
            #[inline(never)]
            fn on_ack_of_another(&mut self, sample: &Sample) {
                match &mut self.control { $(Control::$variant(c) => c.on_ack(sample),)* }
                self.note();
            }
            pub(crate) fn on_loss(&mut self, flight: u32, mss: u32, now: Instant) {
                match &mut self.control { $(Control::$variant(c) => c.on_loss(flight, mss, now),)* }
                self.note();
            }
            pub(crate) fn on_recovered(&mut self, window: u32, now: Instant) {
                match &mut self.control { $(Control::$variant(c) => c.on_recovered(window, now),)* }
                self.note();
            }
            pub(crate) fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, now: Instant) {
                match &mut self.control {
                    $(Control::$variant(c) => c.on_timeout(flight, mss, again, now),)*
                }
                self.note();
            }
            pub(crate) fn on_undo(&mut self) {
                match &mut self.control { $(Control::$variant(c) => c.on_undo(),)* }
                self.note();
            }
            pub(crate) fn rest(&mut self) {
                match &mut self.control { $(Control::$variant(c) => c.rest(),)* }
            }
            pub(crate) fn on_disuse(&mut self, initial: u32) {
                match &mut self.control { $(Control::$variant(c) => c.on_disuse(initial),)* }
                self.note();
            }
            pub(crate) fn on_pause(&mut self, now: Instant) {
                match &mut self.control { $(Control::$variant(c) => c.on_pause(now),)* }
                self.note();
            }
            pub(crate) fn on_marks(&mut self, flight: u32, mss: u32, now: Instant) {
                match &mut self.control { $(Control::$variant(c) => c.on_marks(flight, mss, now),)* }
                self.note();
            }
            pub(crate) fn counts_marks(&self) -> bool {
                match &self.control { $(Control::$variant(c) => c.counts_marks(),)* }
            }
            #[inline]
            pub(crate) fn models(&self) -> bool {
                self.models
            }
            pub(crate) fn on_sent(&mut self, sent: &Sent) {
                match &mut self.control { $(Control::$variant(c) => c.on_sent(sent),)* }
                self.note();
            }
            pub(crate) fn on_lost(&mut self, lost: &Lost) {
                match &mut self.control { $(Control::$variant(c) => c.on_lost(lost),)* }
                self.note();
            }
            pub(crate) fn drains(&self) -> bool {
                match &self.control { $(Control::$variant(c) => c.drains(),)* }
            }
            /// What paces, if something does: an algorithm that makes a model does.
            #[inline]
            pub(crate) fn pacer(&self) -> Option<&Pacer> {
                if !self.models {
                    return None;
                }
                match &self.control { $(Control::$variant(c) => c.pacer(),)* }
            }
            #[inline]
            pub(crate) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
                if !self.models {
                    return None;
                }
                match &mut self.control { $(Control::$variant(c) => c.pacer_mut(),)* }
            }
        }
    };
}

pub(super) use algorithms;
