//! Errors whose `Debug` is their sentence.

/// Lets a program that returns an error from `main` print its sentence.
macro_rules! debug_is_display {
    ($type:ty) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

pub(crate) use debug_is_display;
