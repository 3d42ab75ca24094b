//! The suite for `layer-parallel` with several pipelines: the numbers of
//! processors that all organizations are tested on give it one.

/// Two pipelines.
mod eight {
    anabranch_conformance::cases!(layer_parallel 8);
}

/// Three pipelines. The number of queues is not a multiple of it, so most packets come
/// up in another pipeline.
mod thirteen {
    anabranch_conformance::cases!(layer_parallel 13);
}

/// Cases run over IPv4.
fn family() {}
