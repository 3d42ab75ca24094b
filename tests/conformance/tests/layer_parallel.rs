//! The suite for `layer-parallel` with several pipelines: the numbers of
//! processors that all organizations are tested on give it one.

/// Two pipelines.
mod eight {
    anabranch_conformance::cases!(layer_parallel 8);
}

/// Three pipelines, of which the devices' queues are no multiple: what comes up
/// is mostly another pipeline's.
mod thirteen {
    anabranch_conformance::cases!(layer_parallel 13);
}
