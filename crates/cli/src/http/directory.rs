//! [`Directory`]: the files below a directory as a [`Site`]. The kernel resolves
//! paths (openat2(2), `RESOLVE_BENEATH`), so that neither `..` nor a symbolic
//! link leaves the directory.

use super::range::{self, Wanted};
use super::{Body, Site, text};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files up to this length, bytes, are read at once, by the thread that answers.
const SMALL: u64 = 64 * 1024;
/// What stands for itself in the segment of a URI's path (RFC 3986 2.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The files below a directory.
pub struct Directory {
    root: OwnedFd,
    /// Where that is, without symbolic links.
    path: PathBuf,
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
            let _ = write!(text, "?{query}");
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
        Ok(Directory { root, path: path.canonicalize()? })
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

    fn find(&self, request: &Asked<'_>, at: &Location<'_>) -> io::Result<Response<Body>> {
        let path = at.path();
        let file = self.open_beneath(&path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() && !at.is_directory {
            return send(request, &path, file, &metadata);
        }
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotFound.into());
        }
        if !at.is_directory {
            return Ok(redirect(&at.as_directory()));
        }
        let index = path.join("index.html");
        if let Ok(file) = self.open_beneath(&index) {
            let metadata = file.metadata()?;
            if metadata.is_file() {
                return send(request, &index, file, &metadata);
            }
        }
        list(request, at, &file)
    }
}

impl Site for Directory {
    fn page(&self, uri: &Uri, fields: &HeaderMap, wants_body: bool) -> Response<Body> {
        let Some(at) = Location::of(uri) else {
            return text(StatusCode::NOT_FOUND, "not found\n");
        };
        let request = Asked { fields, wants_body };
        self.find(&request, &at).unwrap_or_else(|error| match error.raw_os_error() {
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

/// What matters of a request, beyond where.
struct Asked<'a> {
    fields: &'a HeaderMap,
    wants_body: bool,
}

impl Asked<'_> {
    fn field(&self, name: header::HeaderName) -> Option<&str> {
        self.fields.get(name)?.to_str().ok()
    }

    /// Does the client have this version already (RFC 9110 13.2.2)?
    fn has(&self, version: &Version) -> bool {
        if let Some(tags) = self.field(header::IF_NONE_MATCH) {
            let weak = |tag: &str| tag.trim().trim_start_matches("W/") == version.tag;
            return tags.trim() == "*" || tags.split(',').any(weak);
        }
        let since = self.field(header::IF_MODIFIED_SINCE);
        let since = since.and_then(|date| httpdate::parse_http_date(date).ok());
        matches!((since, version.seconds()), (Some(since), Some(modified)) if modified <= since)
    }

    /// The part that is wanted of a file (RFC 9110 13.1.5, 14.2).
    fn part(&self, version: &Version, size: u64) -> Wanted {
        let Some(field) = self.field(header::RANGE) else { return Wanted::Whole };
        let same = self.field(header::IF_RANGE).is_none_or(|condition| {
            condition == version.tag || Some(condition) == version.date().as_deref()
        });
        if same { range::parse(field, size) } else { Wanted::Whole }
    }
}

/// What tells one version of a file from another.
struct Version {
    modified: Option<SystemTime>,
    tag: String,
}

impl Version {
    fn of(metadata: &Metadata) -> Version {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let nanos = since.map_or(0, |since| since.as_nanos());
        Version { modified, tag: format!("\"{nanos:x}-{:x}\"", metadata.len()) }
    }

    fn date(&self) -> Option<String> {
        self.modified.map(httpdate::fmt_http_date)
    }

    /// The date of the file.
    fn seconds(&self) -> Option<SystemTime> {
        httpdate::parse_http_date(&self.date()?).ok()
    }
}

fn send(
    request: &Asked<'_>,
    path: &Path,
    mut file: File,
    metadata: &Metadata,
) -> io::Result<Response<Body>> {
    let version = Version::of(metadata);
    let size = metadata.len();
    let mut response = Response::new(Body::full(""));
    let fields = response.headers_mut();
    fields.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    put(fields, header::ETAG, &version.tag);
    if let Some(date) = version.date() {
        put(fields, header::LAST_MODIFIED, &date);
    }
    if request.has(&version) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let (start, len) = match request.part(&version, size) {
        Wanted::Whole => (0, size),
        Wanted::Part { start, len } => {
            let range = format!("bytes {start}-{}/{size}", start + len - 1);
            put(fields, header::CONTENT_RANGE, &range);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            (start, len)
        }
        Wanted::Unsatisfiable => {
            put(fields, header::CONTENT_RANGE, &format!("bytes */{size}"));
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            return Ok(response);
        }
    };
    let fields = response.headers_mut();
    put(fields, header::CONTENT_TYPE, &content_type(path));
    put(fields, header::CONTENT_LENGTH, &len.to_string());
    fields.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if request.wants_body {
        if start > 0 {
            file.seek(SeekFrom::Start(start))?;
        }
        *response.body_mut() = content(file, len)?;
    }
    Ok(response)
}

fn content(file: File, len: u64) -> io::Result<Body> {
    if len > SMALL {
        return Ok(Body::file(file, len));
    }
    let mut bytes = Vec::with_capacity(len as usize);
    file.take(len).read_to_end(&mut bytes)?;
    // Cut off since its length was asked for.
    bytes.resize(len as usize, 0);
    Ok(Body::full(bytes))
}

fn put(fields: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        fields.insert(name, value);
    }
}

fn content_type(path: &Path) -> String {
    let guess = mime_guess::from_path(path).first_or_octet_stream();
    match guess.type_() {
        mime_guess::mime::TEXT => format!("{}; charset=utf-8", guess.essence_str()),
        _ => guess.to_string(),
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
fn list(request: &Asked<'_>, at: &Location<'_>, directory: &File) -> io::Result<Response<Body>> {
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
    let len = page.len();
    let mut response = text(StatusCode::OK, if request.wants_body { page } else { String::new() });
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    put(fields, header::CONTENT_LENGTH, &len.to_string());
    Ok(response)
}
