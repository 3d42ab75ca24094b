//! What the unit tests share.
