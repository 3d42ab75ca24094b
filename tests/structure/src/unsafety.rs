//! Which crates may have `unsafe`.

/// Those that may, as ARCHITECTURE.md and CONTRIBUTING.md say.
const WITH_UNSAFE: [&str; 4] =
    ["crates/buffer", "crates/sync", "crates/device", "crates/packetdrill"];

/// A finding if the root of crate `name` neither forbids `unsafe` nor may have it.
pub fn unsafety(name: &str, text: &str) -> Option<String> {
    let forbids = text.lines().any(|line| line == "#![forbid(unsafe_code)]");
    (!forbids && !WITH_UNSAFE.contains(&name)).then(|| format!("unsafe: {name} does not forbid it"))
}
