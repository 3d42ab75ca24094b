//! A web server on connections of any kind: pages of a [`Site`], and uploads,
//! which are read, digested and thrown away.

mod blocks;
mod body;
mod cache;
mod directory;
mod document;
mod listing;
mod patient;
mod range;

pub use body::Body;
pub use directory::Directory;
pub use patient::{GiveUp, Patient};

use crate::tally::Tally;
use anabranch::tokio::{TcpListener, TcpStream};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::rt::{Sleep, Timer};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::fmt::Write;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// How long a connection may be silent before or within a request's header, or within what it
/// uploads.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a client may take nothing of an answer. It is longer, for slow ones: room is told of only when
/// much of what was written is acknowledged.
const UNREAD: Duration = Duration::from_secs(300);
/// How long, while others are refused for want of memory.
pub const UNREAD_WHEN_FULL: Duration = PATIENCE;
/// What may be done, with uploads and without.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, PUT, POST, OPTIONS");
const READING: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS");

/// What is served.
pub trait Site: Send + Sync + 'static {
    /// The answer to a GET of `uri`, or a HEAD: `wants_body` says which.
    fn page(&self, uri: &Uri, fields: &HeaderMap, wants_body: bool) -> Response<Body>;

    /// May clients upload anything?
    fn takes_uploads(&self) -> bool {
        true
    }

    /// Are clients refused, since there is no memory for more?
    fn is_full(&self) -> bool {
        false
    }
}

/// Serves requests on one connection until either end closes it.
///
/// # Errors
/// Those of the connection, and requests that make no sense.
pub async fn serve<S>(
    stream: S,
    site: Arc<impl Site>,
    tally: Arc<Tally>,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + GiveUp + Unpin + Send + 'static,
{
    serve_by(TokioTimer::new(), stream, site, tally).await
}

/// As [`serve`], with the time of this `timer`.
///
/// # Errors
/// Those of the connection, and requests that make no sense.
pub async fn serve_by<S>(
    timer: impl Timer + Clone + Send + Sync + Unpin + 'static,
    stream: S,
    site: Arc<impl Site>,
    tally: Arc<Tally>,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + GiveUp + Unpin + Send + 'static,
{
    let clock = timer.clone();
    let (full, times) = (site.clone(), (UNREAD_WHEN_FULL, UNREAD));
    let stream = Patient::new(stream, timer.clone(), times, move || full.is_full());
    let heard = stream.heard();
    let answer = service_fn(|request| {
        let (site, tally, timer) = (site.clone(), tally.clone(), clock.clone());
        async move { Ok::<_, Infallible>(answer(request, &*site, tally, &timer).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(timer)
        .header_read_timeout(PATIENCE)
        .half_close(true)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
    match served {
        // A client that asks nothing more is let go: that is no error.
        Err(error) if error.is_timeout() && !heard.load(Ordering::Relaxed) => Ok(()),
        served => served,
    }
}

/// As [`serve`], over a connection of the stack.
///
/// # Errors
/// Those of the connection, and requests that make no sense.
async fn connection(stream: TcpStream, site: Arc<impl Site>, tally: Arc<Tally>) -> io::Result<()> {
    let _ = stream.set_nodelay(true);
    serve(stream, site, tally).await.map_err(io::Error::other)
}

/// Serves a site to each connection.
///
/// # Errors
/// When the listener is gone.
pub async fn accept(
    listener: TcpListener,
    site: Arc<impl Site>,
    tally: Arc<Tally>,
) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let (site, tally) = (site.clone(), tally.clone());
        tokio::spawn(async move {
            if connection(stream, site, tally.clone()).await.is_err() {
                Tally::add(&tally.errors, 1);
            }
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    site: &impl Site,
    tally: Arc<Tally>,
    timer: &impl Timer,
) -> Response<Body> {
    Tally::add(&tally.served, 1);
    let methods = if site.takes_uploads() { METHODS } else { READING };
    let mut response = match *request.method() {
        _ if !has_host(&request) => {
            text(StatusCode::BAD_REQUEST, "a request of HTTP/1.1 has one Host field\n")
        }
        Method::GET => site.page(request.uri(), request.headers(), true),
        Method::HEAD => site.page(request.uri(), request.headers(), false),
        Method::PUT | Method::POST if site.takes_uploads() => upload(request, &tally, timer).await,
        Method::OPTIONS => {
            let mut response = text(StatusCode::NO_CONTENT, "");
            response.headers_mut().insert(header::ALLOW, methods);
            response
        }
        _ => {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
            response.headers_mut().insert(header::ALLOW, methods);
            response
        }
    };
    response.headers_mut().insert(header::SERVER, HeaderValue::from_static("anabranch"));
    response.body_mut().count(tally);
    response
}

/// Is there one Host field, as HTTP/1.1 wants it (RFC 9112 3.2)?
fn has_host(request: &Request<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let one = hosts.next().is_some() && hosts.next().is_none();
    one || request.version() != Version::HTTP_11
}

/// A short answer in plain text.
pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(text));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// The next frame of `body`; `Err` if `nap` is over before.
async fn next_frame(
    body: &mut Incoming,
    nap: &mut Pin<Box<dyn Sleep>>,
) -> Result<Option<Result<Frame<Bytes>, hyper::Error>>, ()> {
    let mut frame = pin!(body.frame());
    poll_fn(|cx| match frame.as_mut().poll(cx) {
        Poll::Ready(frame) => Poll::Ready(Ok(frame)),
        Poll::Pending => nap.as_mut().poll(cx).map(Err),
    })
    .await
}

/// Reads the body; answers with its length and SHA-256.
async fn upload(request: Request<Incoming>, tally: &Tally, timer: &impl Timer) -> Response<Body> {
    let mut body = request.into_body();
    let mut digest = Sha256::new();
    let mut len = 0;
    let mut nap = timer.sleep(PATIENCE);
    loop {
        let Ok(frame) = next_frame(&mut body, &mut nap).await else {
            let seconds = PATIENCE.as_secs();
            let text = format!("nothing of the body has come for {seconds} s\n");
            return self::text(StatusCode::REQUEST_TIMEOUT, text);
        };
        match frame {
            None => break,
            Some(Ok(frame)) => {
                timer.reset(&mut nap, timer.now() + PATIENCE);
                let Some(data) = frame.data_ref() else { continue };
                Tally::add(&tally.bytes_in, data.len());
                len += data.len() as u64;
                digest.update(data);
            }
            Some(Err(error)) => {
                return text(StatusCode::BAD_REQUEST, format!("the body ended early: {error}\n"));
            }
        }
    }
    text(StatusCode::OK, format!("{len} {}\n", hex(&digest.finalize())))
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;
