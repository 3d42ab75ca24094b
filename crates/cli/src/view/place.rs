//! Where control sockets are: in a directory that only their owner may enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The directory of the control sockets of this user.
pub fn directory() -> PathBuf {
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
pub fn make(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => is_safe(directory),
        made => made,
    }
}

/// `Ok` if nobody else may put anything there, or look for it there.
///
/// # Errors
/// Why not.
pub fn is_safe(directory: &Path) -> io::Result<()> {
    let there = fs::symlink_metadata(directory)?;
    let is_ours = there.uid() == rustix::process::geteuid().as_raw();
    if there.is_dir() && is_ours && there.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is not a directory for you alone", directory.display())))
}

/// The socket of the server on `device`. Servers in several network namespaces may have
/// devices of one name.
pub fn socket(directory: &Path, device: &str) -> PathBuf {
    directory.join(format!("{device}.{}.sock", std::process::id()))
}

/// The sockets there, with their servers' devices, by name.
pub fn sockets(directory: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let device = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".sock")?;
        Some(name.rsplit_once('.')?.0.to_owned())
    };
    let mut found: Vec<_> = paths.filter_map(|path| Some((device(&path)?, path))).collect();
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
    fn sockets_name_their_devices() {
        let place = tempfile::tempdir().expect("a directory");
        for name in ["ana0.17.sock", "a.b.5.sock", "readme", "x.sock"] {
            fs::write(place.path().join(name), "").expect("written");
        }
        let names: Vec<_> = sockets(place.path()).into_iter().map(|(device, _)| device).collect();
        assert_eq!(names, ["a.b", "ana0"]);
        assert!(sockets(&place.path().join("none")).is_empty());
    }
}
