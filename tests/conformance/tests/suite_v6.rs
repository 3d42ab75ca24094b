//! The suite over IPv6: a part of the cases for every organization in the catalog, and all
//! of them for one of each family of organizations.

catalog::for_each_organization!(anabranch_conformance::slice);

macro_rules! whole {
    ($($organization:ident $processors:literal)*) => {
        mod whole {
            $(mod $organization { anabranch_conformance::cases!($organization $processors); })*
        }
    };
}
whole! {
    processor_per_connection 2
    group_locks 2
    group_threads 2
    engines_early 2
    message_parallel 2
    layer_parallel 2
}

/// Cases run over IPv6.
fn family() {
    anabranch_conformance::family::use_ipv6();
}
