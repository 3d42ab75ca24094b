//! The registry of algorithms, as a macro: the table itself is in the parent.

/// Makes `Algorithm`, the enumeration of states `Congestion`, and its dispatch,
/// from rows `"name" => Variant(State)`. The first row is the default.
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
        pub(crate) enum Congestion {
            $first($first_state),
            $($variant($state),)*
        }

        impl Congestion {
            pub(crate) fn new(algorithm: Algorithm, initial_window: u32) -> Congestion {
                match algorithm {
                    Algorithm::$first => Congestion::$first(CongestionControl::new(initial_window)),
                    $(Algorithm::$variant => {
                        Congestion::$variant(CongestionControl::new(initial_window))
                    })*
                }
            }

            /// As [`Congestion::new`], for a connection that had another before.
            pub(crate) fn resume(algorithm: Algorithm, window: u32, ssthresh: u32) -> Congestion {
                let mut new = Congestion::new(algorithm, window);
                match &mut new {
                    Congestion::$first(c) => c.set_ssthresh(ssthresh),
                    $(Congestion::$variant(c) => c.set_ssthresh(ssthresh),)*
                }
                new
            }

            /// Which algorithm it is.
            pub(crate) fn algorithm(&self) -> Algorithm {
                match self {
                    Congestion::$first(_) => Algorithm::$first,
                    $(Congestion::$variant(_) => Algorithm::$variant,)*
                }
            }
        }

        algorithms! { @dispatch $first $($variant)* }
    };
    (@dispatch $($variant:ident)*) => {
        impl Congestion {
            #[inline]
            pub(crate) fn window(&self) -> u32 {
                match self { $(Congestion::$variant(c) => c.window(),)* }
            }
            #[inline]
            pub(crate) fn ssthresh(&self) -> u32 {
                match self { $(Congestion::$variant(c) => c.ssthresh(),)* }
            }
            #[inline]
            pub(crate) fn on_ack(&mut self, sample: &Sample) {
                match self { $(Congestion::$variant(c) => c.on_ack(sample),)* }
            }
            pub(crate) fn on_loss(&mut self, flight: u32, mss: u32, now: Instant) {
                match self { $(Congestion::$variant(c) => c.on_loss(flight, mss, now),)* }
            }
            pub(crate) fn on_recovered(&mut self, window: u32, now: Instant) {
                match self { $(Congestion::$variant(c) => c.on_recovered(window, now),)* }
            }
            pub(crate) fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, now: Instant) {
                match self {
                    $(Congestion::$variant(c) => c.on_timeout(flight, mss, again, now),)*
                }
            }
            pub(crate) fn on_undo(&mut self) {
                match self { $(Congestion::$variant(c) => c.on_undo(),)* }
            }
            pub(crate) fn on_disuse(&mut self, initial: u32) {
                match self { $(Congestion::$variant(c) => c.on_disuse(initial),)* }
            }
            pub(crate) fn on_pause(&mut self, now: Instant) {
                match self { $(Congestion::$variant(c) => c.on_pause(now),)* }
            }
            pub(crate) fn on_marks(&mut self, flight: u32, mss: u32, now: Instant) {
                match self { $(Congestion::$variant(c) => c.on_marks(flight, mss, now),)* }
            }
            pub(crate) fn counts_marks(&self) -> bool {
                match self { $(Congestion::$variant(c) => c.counts_marks(),)* }
            }
            #[inline]
            pub(crate) fn models(&self) -> bool {
                match self { $(Congestion::$variant(c) => c.models(),)* }
            }
            pub(crate) fn on_sent(&mut self, sent: &Sent) {
                match self { $(Congestion::$variant(c) => c.on_sent(sent),)* }
            }
            pub(crate) fn on_lost(&mut self, lost: &Lost) {
                match self { $(Congestion::$variant(c) => c.on_lost(lost),)* }
            }
            pub(crate) fn drains(&self) -> bool {
                match self { $(Congestion::$variant(c) => c.drains(),)* }
            }
            #[inline]
            pub(crate) fn pacer(&self) -> Option<&Pacer> {
                match self { $(Congestion::$variant(c) => c.pacer(),)* }
            }
            #[inline]
            pub(crate) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
                match self { $(Congestion::$variant(c) => c.pacer_mut(),)* }
            }
        }
    };
}

pub(super) use algorithms;
