//! A web server and its client, on sockets inside the tunnel.

use anabranch::Stack;
use anabranch::tokio::{TcpListener, TcpStream};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::error::Error;
use std::io;

/// `/BYTES` is a page of so many bytes; any other is a greeting.
async fn page(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path();
    // What CONNECT asks for has no path.
    let body = match path.trim_start_matches('/').parse::<usize>() {
        Ok(bytes) => Bytes::from(vec![b'w'; bytes.min(100 << 20)]),
        Err(_) => format!("Hello from inside the tunnel: {path}\n").into(),
    };
    Ok(Response::new(Full::new(body)))
}

/// Serves until the stack stops.
///
/// # Errors
/// The port is in use; the stack has stopped.
pub async fn serve(stack: &Stack) -> io::Result<()> {
    let listener = TcpListener::bind(stack, "[::]:80").await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        tokio::spawn(async move {
            let http = hyper::server::conn::http1::Builder::new();
            let connection = http.serve_connection(TokioIo::new(stream), service_fn(page));
            if let Err(error) = connection.await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

/// The page at `path` of the server at `host`: its address, with brackets for IPv6.
///
/// # Errors
/// What the stack says of the host, and hyper of what it answers.
pub async fn get(stack: &Stack, host: &str, path: &str) -> Result<Bytes, Box<dyn Error>> {
    let stream = TcpStream::connect(stack, format!("{host}:80").as_str()).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get(path).header("host", host).body(Empty::<Bytes>::new())?;
    Ok(sender.send_request(request).await?.into_body().collect().await?.to_bytes())
}
