//! [`Directory`]: the files below a directory as a [`Site`]. The kernel resolves
//! paths (openat2(2), `RESOLVE_BENEATH`), so that neither `..` nor a symbolic
//! link leaves the directory.

use super::blocks::Blocks;
use super::cache::Cache;
use super::document::{Asked, Document, put};
use super::listing::Listings;
use super::{Body, Site, text};
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode, Uri};
use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, percent_encode, utf8_percent_encode,
};
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What stands for itself in the segment of a URI's path (RFC 3986 2.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The files below a directory.
pub struct Directory {
    root: OwnedFd,
    /// Where that is, without symbolic links.
    path: PathBuf,
    /// Small files, by the paths of their URIs.
    cache: Cache,
    /// Of the others, what is on its way.
    blocks: Blocks,
    /// And of directories.
    listings: Listings,
}

/// The path of a URI: its segments, decoded, without those that say nothing.
struct Location<'a> {
    segments: Vec<Vec<u8>>,
    /// It ends like that of a directory.
    is_directory: bool,
    query: Option<&'a str>,
}

impl<'a> Location<'a> {
    /// `None` if it cannot be that of a file here.
    fn of(uri: &'a Uri) -> Option<Location<'a>> {
        let bytes: Vec<u8> = percent_decode_str(uri.path()).collect();
        let named = |segment: &&[u8]| !matches!(*segment, b"" | b".");
        let segments: Vec<Vec<u8>> =
            bytes.split(|b| *b == b'/').filter(named).map(<[u8]>::to_vec).collect();
        let bad = |segment: &Vec<u8>| segment == b".." || segment.contains(&0);
        if !bytes.starts_with(b"/") || segments.iter().any(bad) {
            return None;
        }
        let is_directory = bytes.ends_with(b"/") || bytes.ends_with(b"/.");
        Some(Location { segments, is_directory, query: uri.query() })
    }

    /// Relative to the root.
    fn path(&self) -> PathBuf {
        match self.segments.is_empty() {
            true => ".".into(),
            false => self.segments.iter().map(|segment| OsStr::from_bytes(segment)).collect(),
        }
    }

    /// The URI reference of the same place, as that of a directory.
    fn as_directory(&self) -> String {
        let mut text = String::from("/");
        for segment in &self.segments {
            let _ = write!(text, "{}/", percent_encode(segment, SEGMENT));
        }
        if let Some(query) = self.query {
            // What is not ASCII finds no place in a field.
            let _ = write!(text, "?{}", utf8_percent_encode(query, CONTROLS));
        }
        text
    }

    fn title(&self) -> String {
        let mut text = String::from("/");
        for segment in &self.segments {
            let _ = write!(text, "{}/", String::from_utf8_lossy(segment));
        }
        text
    }
}

impl Directory {
    /// The directory at `path`.
    ///
    /// # Errors
    /// Those of open(2); ENOTDIR if it is not a directory.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Directory {
            root,
            path: path.canonicalize()?,
            cache: Cache::default(),
            blocks: Blocks::default(),
            listings: Listings::default(),
        })
    }

    /// Opens what is at `path` below the root.
    fn open_beneath(&self, path: &Path) -> io::Result<File> {
        // Not to wait for the other end of a FIFO.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve) {
            // Before Linux 5.6, or in a sandbox that does not know it.
            Err(Errno::NOSYS | Errno::PERM) => {
                let real = self.path.join(path).canonicalize()?;
                if !real.starts_with(&self.path) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                let file = rustix::fs::open(real, flags | OFlags::NOFOLLOW, Mode::empty())?;
                Ok(file.into())
            }
            opened => Ok(opened?.into()),
        }
    }

    /// The file that is meant by the path of a URI, and that for which it is opened.
    fn locate(&self, at: &Location<'_>) -> io::Result<Located> {
        let path = at.path();
        let file = self.open_beneath(&path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() && !at.is_directory {
            return Ok(Located::File(path, file, metadata));
        }
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotFound.into());
        }
        if !at.is_directory {
            return Ok(Located::Elsewhere);
        }
        let index = path.join("index.html");
        if let Ok(file) = self.open_beneath(&index) {
            let metadata = file.metadata()?;
            if metadata.is_file() {
                return Ok(Located::File(index, file, metadata));
            }
        }
        Ok(Located::Directory(file))
    }

    #[cfg(test)]
    pub(super) fn blocks(&self) -> Blocks {
        self.blocks.clone()
    }

    fn find(
        &self,
        request: &Asked<'_>,
        uri: &str,
        at: &Location<'_>,
    ) -> io::Result<Response<Body>> {
        match self.locate(at)? {
            Located::Directory(file) => {
                let page = self.listings.page(at.path(), &file, || list(at, &file))?;
                Ok(listed(request, page))
            }
            Located::Elsewhere => Ok(redirect(&at.as_directory())),
            Located::File(path, file, metadata) => {
                match self.cache.keep(uri, &path, &file, &metadata) {
                    Some(kept) => kept.answer(request),
                    None => {
                        let document = Document::of(&path, &metadata);
                        document.answer(request, |start, len| {
                            Ok(Body::file(&self.blocks, file, start, len))
                        })
                    }
                }
            }
        }
    }
}

/// What a URI means.
enum Located {
    File(PathBuf, File, Metadata),
    Directory(File),
    /// The same, with a slash at the end.
    Elsewhere,
}

impl Site for Directory {
    fn page(&self, uri: &Uri, fields: &HeaderMap, wants_body: bool) -> Response<Body> {
        let request = Asked { fields, wants_body };
        if let Some(kept) = self.cache.fresh(uri.path())
            && let Ok(response) = kept.answer(&request)
        {
            return response;
        }
        let Some(at) = Location::of(uri) else {
            return text(StatusCode::NOT_FOUND, "not found\n");
        };
        self.find(&request, uri.path(), &at).unwrap_or_else(|error| match error.raw_os_error() {
            Some(code) if code == Errno::ACCESS.raw_os_error() => {
                text(StatusCode::FORBIDDEN, "not readable\n")
            }
            Some(code)
                if [Errno::MFILE, Errno::NFILE, Errno::NOMEM]
                    .iter()
                    .any(|errno| errno.raw_os_error() == code) =>
            {
                text(StatusCode::SERVICE_UNAVAILABLE, "too many open files\n")
            }
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        })
    }
}

fn redirect(to: &str) -> Response<Body> {
    let mut response = text(StatusCode::MOVED_PERMANENTLY, "it is a directory\n");
    put(response.headers_mut(), header::LOCATION, to);
    response
}

/// Text that HTML takes as it is.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A page with the names of a directory, directories first.
fn list(at: &Location<'_>, directory: &File) -> io::Result<String> {
    let mut names: Vec<(bool, Vec<u8>)> = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push((entry.file_type() != FileType::Directory, name.to_vec()));
        }
    }
    names.sort();
    let title = escape(&at.title());
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>{title}</title></head>\n<body><h1>{title}</h1>\n<ul>\n"
    );
    if !at.segments.is_empty() {
        page.push_str("<li><a href=\"../\">../</a></li>\n");
    }
    for (is_file, name) in names {
        let slash = if is_file { "" } else { "/" };
        let (href, name) = (percent_encode(&name, SEGMENT), String::from_utf8_lossy(&name));
        let name = escape(&name);
        let _ = writeln!(page, "<li><a href=\"./{href}{slash}\">{name}{slash}</a></li>");
    }
    page.push_str("</ul></body></html>\n");
    Ok(page)
}

/// The answer with this page.
fn listed(request: &Asked<'_>, page: Bytes) -> Response<Body> {
    let len = page.len();
    let mut response = text(StatusCode::OK, if request.wants_body { page } else { Bytes::new() });
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    put(fields, header::CONTENT_LENGTH, &len.to_string());
    response
}
