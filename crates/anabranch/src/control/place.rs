//! Where control sockets are: in a directory that only their owner may enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The directory of the control sockets of this user.
pub(super) fn directory() -> PathBuf {
    let user = rustix::process::geteuid();
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(place) if !place.is_empty() => Path::new(&place).join("anabranch"),
        _ if user.is_root() => "/run/anabranch".into(),
        _ => std::env::temp_dir().join(format!("anabranch-{}", user.as_raw())),
    }
}

/// Makes the directory, or sees to it that the one that is there is safe.
///
/// # Errors
/// If it cannot be made, or is another user's, or open to others.
pub(super) fn make(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => is_safe(directory),
        made => made,
    }
}

/// `Ok` if nobody else may put anything there, or look for it there.
///
/// # Errors
/// Why not.
pub(super) fn is_safe(directory: &Path) -> io::Result<()> {
    let there = fs::symlink_metadata(directory)?;
    let is_ours = there.uid() == rustix::process::geteuid().as_raw();
    if there.is_dir() && is_ours && there.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is not a directory for you alone", directory.display())))
}

/// Can a socket have this name?
///
/// # Errors
/// `InvalidInput` if it cannot.
pub(super) fn check_name(name: &str) -> io::Result<()> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=64).contains(&name.len()) && name.chars().all(is_good) {
        return Ok(());
    }
    let text = format!("{name:?} cannot name one: use 1 to 64 letters, digits, `-`, `_` and `.`");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// The socket of this name. Several processes may have sockets of one name.
pub(super) fn socket(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.{}.sock", std::process::id()))
}

/// The sockets there, by name.
pub(super) fn sockets(directory: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".sock")?;
        Some(name.rsplit_once('.')?.0.to_owned())
    };
    let mut found: Vec<_> = paths.filter_map(|path| Some((named(&path)?, path))).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_ones_own_is_safe() {
        let place = tempfile::tempdir().expect("a directory");
        let ours = place.path().join("ours");
        make(&ours).expect("made");
        make(&ours).expect("there already");
        assert_eq!(fs::metadata(&ours).expect("there").permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&ours, fs::Permissions::from_mode(0o755)).expect("set");
        assert!(make(&ours).expect_err("open").to_string().contains("for you alone"));
        let link = place.path().join("link");
        fs::set_permissions(&ours, fs::Permissions::from_mode(0o700)).expect("set");
        std::os::unix::fs::symlink(&ours, &link).expect("made");
        assert!(make(&link).is_err(), "another may turn it elsewhere");
    }

    #[test]
    fn sockets_have_names() {
        let place = tempfile::tempdir().expect("a directory");
        for name in ["ana0.17.sock", "a.b.5.sock", "readme", "x.sock"] {
            fs::write(place.path().join(name), "").expect("written");
        }
        let names: Vec<_> = sockets(place.path()).into_iter().map(|(device, _)| device).collect();
        assert_eq!(names, ["a.b", "ana0"]);
        assert!(sockets(&place.path().join("none")).is_empty());
        assert!(check_name("ana0.9_-x").is_ok());
        for bad in ["", "a/b", "../x", "a b", "\u{e4}", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
