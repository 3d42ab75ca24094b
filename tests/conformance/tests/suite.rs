//! The suite for every organization in the catalog.

catalog::for_each_organization!(anabranch_conformance::suite);

/// Cases run over IPv4.
fn family() {}
