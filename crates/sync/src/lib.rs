//! Everything in Anabranch that needs `unsafe` to be fast and is not a device:
//! shared buffers with their pool, and the byte kernels (copy, sum, both fused).

pub mod bytes;
