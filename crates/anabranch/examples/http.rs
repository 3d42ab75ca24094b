//! A web server and its client, both hyper's, on stacks: hyper runs unchanged on
//! the sockets for tasks.
//!
//! ```sh
//! sudo cargo run --release --example http            # on a TAP device; then: curl http://10.99.0.2/
//! cargo run --release --example http memory          # with a client in memory, no root needed
//! ```

use anabranch::Stack;
use anabranch::device::{memory, tap};
use anabranch::tokio::{TcpListener, TcpStream};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::error::Error;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("memory") {
        return in_memory().await;
    }
    let config = tap::Config::default().with_queues(2).with_kernel_address([10, 99, 0, 1], 24);
    let stack = Stack::builder()
        .device(tap::open(&config)?)
        .address("10.99.0.2/24")
        .organization("processor-per-connection")
        .processors(2)
        .start()?;
    Ok(serve(TcpListener::bind(&stack, "10.99.0.2:80").await?).await?)
}

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(format!("Hello from user space: {}\n", request.uri().path()).into()))
}

/// Serves until the stack stops.
async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (stream, peer) = listener.accept().await?;
        tokio::spawn(async move {
            let http = hyper::server::conn::http1::Builder::new();
            let connection = http.serve_connection(TokioIo::new(stream), service_fn(hello));
            if let Err(error) = connection.await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

/// The same with a client of our own.
pub async fn in_memory() -> Result<(), Box<dyn Error>> {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("10.99.0.2/24").start()?;
    let client = Stack::builder().device(right).address("10.99.0.1/24").start()?;
    let listener = TcpListener::bind(&server, "10.99.0.2:80").await?;
    tokio::spawn(serve(listener));

    let stream = TcpStream::connect(&client, "10.99.0.2:80").await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get("/index").header("host", "10.99.0.2").body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let (status, body) = (response.status(), response.into_body().collect().await?.to_bytes());
    print!("{status}: {}", String::from_utf8_lossy(&body));
    assert_eq!(&body[..], b"Hello from user space: /index\n");
    server.stop();
    Ok(())
}
