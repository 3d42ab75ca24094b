//! [`Document`]: a file as HTTP has it, its versions, and parts of it.

use super::Body;
use super::range::{self, Wanted};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// When the year 10000 begins, seconds after 1970.
const YEAR_10000: u64 = 253_402_300_800;

/// What matters of a request, beyond where.
pub(super) struct Asked<'a> {
    pub(super) fields: &'a HeaderMap,
    pub(super) wants_body: bool,
}

impl Asked<'_> {
    fn field(&self, name: header::HeaderName) -> Option<&str> {
        self.fields.get(name)?.to_str().ok()
    }

    fn date(&self, name: header::HeaderName) -> Option<SystemTime> {
        self.field(name).and_then(|date| httpdate::parse_http_date(date).ok())
    }

    /// Is one of the tags in these fields `*`, or such as `is` says? `None`: there is no such field.
    fn names(&self, name: header::HeaderName, is: impl Fn(&str) -> bool) -> Option<bool> {
        let mut lines = self.fields.get_all(name).iter().peekable();
        lines.peek()?;
        let mut tags = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
        Some(tags.any(|tag| tag.trim() == "*" || is(tag.trim())))
    }

    /// Does the client want another version, or none newer (RFC 9110 13.2.2, steps 1 and 2)?
    fn refuses(&self, version: &Version) -> bool {
        if let Some(named) = self.names(header::IF_MATCH, |tag| tag == version.tag) {
            return !named;
        }
        let since = self.date(header::IF_UNMODIFIED_SINCE);
        matches!((since, version.seconds), (Some(since), Some(modified)) if modified > since)
    }

    /// Does the client have this version already (RFC 9110 13.2.2, steps 3 and 4)?
    fn has(&self, version: &Version) -> bool {
        let weak = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag) == version.tag;
        if let Some(named) = self.names(header::IF_NONE_MATCH, weak) {
            return named;
        }
        let since = self.date(header::IF_MODIFIED_SINCE);
        matches!((since, version.seconds), (Some(since), Some(modified)) if modified <= since)
    }

    /// The part that is wanted of a file (RFC 9110 13.1.5, 14.2): of GET only.
    fn part(&self, version: &Version, size: u64) -> Wanted {
        let Some(field) = self.field(header::RANGE).filter(|_| self.wants_body) else {
            return Wanted::Whole;
        };
        let same = self.field(header::IF_RANGE).is_none_or(|condition| {
            condition == version.tag || Some(condition) == version.date.as_deref()
        });
        if same { range::parse(field, size) } else { Wanted::Whole }
    }
}

/// What tells one version of a file from another.
struct Version {
    tag: String,
    /// When it was made, as HTTP has it.
    date: Option<String>,
    /// That date.
    seconds: Option<SystemTime>,
}

impl Version {
    fn of(metadata: &Metadata) -> Version {
        let modified = metadata.modified().ok();
        let since = modified.map(|at| at.duration_since(SystemTime::UNIX_EPOCH));
        let (sign, nanos) = match &since {
            None => ("", 0),
            Some(Ok(since)) => ("", since.as_nanos()),
            Some(Err(until)) => ("-", until.duration().as_nanos()),
        };
        // HTTP has four digits for a year, and a file may be of any.
        let can_be_said = |since: &Duration| since.as_secs() < YEAR_10000;
        let is_date = since.is_some_and(|since| since.is_ok_and(|since| can_be_said(&since)));
        let date = modified.filter(|_| is_date).map(httpdate::fmt_http_date);
        let seconds = date.as_ref().and_then(|date| httpdate::parse_http_date(date).ok());
        Version { tag: format!("\"{sign}{nanos:x}-{:x}\"", metadata.len()), date, seconds }
    }
}

/// A file, as the fields of an answer have it.
pub(super) struct Document {
    version: Version,
    size: u64,
    content_type: HeaderValue,
}

impl Document {
    /// The file that is at `path`, as it is now.
    pub(super) fn of(path: &Path, metadata: &Metadata) -> Document {
        let octets = HeaderValue::from_static("application/octet-stream");
        let content_type = HeaderValue::from_str(&content_type(path)).unwrap_or(octets);
        Document { version: Version::of(metadata), size: metadata.len(), content_type }
    }

    /// The answer to a request for it: all, a part, that the client has it already, or not what it wants.
    /// `body` gives so many bytes from somewhere on.
    ///
    /// # Errors
    /// Those of `body`.
    pub(super) fn answer(
        &self,
        request: &Asked<'_>,
        body: impl FnOnce(u64, u64) -> io::Result<Body>,
    ) -> io::Result<Response<Body>> {
        let Document { version, size, content_type } = self;
        let mut response = Response::new(Body::full(""));
        let fields = response.headers_mut();
        fields.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        put(fields, header::ETAG, &version.tag);
        if let Some(date) = &version.date {
            put(fields, header::LAST_MODIFIED, date);
        }
        if request.refuses(version) {
            *response.status_mut() = StatusCode::PRECONDITION_FAILED;
            return Ok(response);
        }
        if request.has(version) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return Ok(response);
        }
        let (start, len) = match request.part(version, *size) {
            Wanted::Whole => (0, *size),
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
        fields.insert(header::CONTENT_TYPE, content_type.clone());
        fields.insert(header::CONTENT_LENGTH, len.into());
        fields.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if request.wants_body {
            *response.body_mut() = body(start, len)?;
        }
        Ok(response)
    }
}

pub(super) fn put(fields: &mut HeaderMap, name: header::HeaderName, value: &str) {
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
