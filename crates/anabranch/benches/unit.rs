//! Applications on the threads of units beside the same on tokio's workers, over a TAP
//! device with the kernel as the client: echo of 64 bytes on one connection, and a
//! connection for each echo, and hyper with keep-alive. Rounds alternate; medians.
//!
//! ```sh
//! sudo cargo bench -p anabranch --bench unit --features hyper
//! ```

use anabranch::device::tap;
use anabranch::tokio::{TcpListener, TcpStream};
use anabranch::{Stack, unit};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream as Kernel;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ROUNDS: usize = 9;
/// Ports: echo and HTTP, on units and on workers.
const PORTS: [u16; 4] = [7, 80, 1007, 1080];

async fn echo(mut stream: TcpStream) {
    let mut bytes = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut bytes).await {
        if stream.write_all(&bytes[..n]).await.is_err() {
            return;
        }
    }
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(b"hello"))))
}

async fn http(stream: TcpStream) {
    let http = hyper::server::conn::http1::Builder::new();
    // The client closes as it likes.
    let _ = http.serve_connection(TokioIo::new(stream), service_fn(hello)).await;
}

/// Each connection to `port` is a task of tokio's workers.
fn on_workers<F>(stack: &Stack, port: u16, handler: fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let stack = stack.clone();
    tokio::spawn(async move {
        let listener = TcpListener::bind(&stack, ("10.98.0.2", port)).await.expect("a port");
        drop(stack);
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(handler(stream));
        }
    });
}

/// Answers a second to `request`, whose answer has as many bytes as `answer` says.
fn rate(stream: &mut Kernel, request: &[u8], answer: usize, times: usize) -> f64 {
    let mut bytes = vec![0; answer];
    let start = Instant::now();
    for _ in 0..times {
        stream.write_all(request).expect("it is sent");
        stream.read_exact(&mut bytes).expect("an answer");
    }
    times as f64 / start.elapsed().as_secs_f64()
}

fn connect(port: u16) -> Kernel {
    let stream = Kernel::connect(("10.98.0.2", port)).expect("a connection");
    stream.set_nodelay(true).expect("an option");
    stream
}

fn echoes(port: u16) -> f64 {
    rate(&mut connect(port), &[1; 64], 64, 20_000)
}

fn connections(port: u16) -> f64 {
    let start = Instant::now();
    for _ in 0..2000 {
        rate(&mut connect(port), &[1; 64], 64, 1);
    }
    2000.0 / start.elapsed().as_secs_f64()
}

fn requests(port: u16) -> f64 {
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    let mut stream = connect(port);
    stream.write_all(REQUEST).expect("it is sent");
    let mut bytes = [0; 1000];
    // An answer this short comes at once.
    let answer = stream.read(&mut bytes).expect("an answer");
    rate(&mut stream, REQUEST, answer, 10_000)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(what: &str, ports: [u16; 2], measure: fn(u16) -> f64) {
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for at in [round % 2, 1 - round % 2] {
            rates[at].push(measure(ports[at]));
        }
    }
    let [unit, workers] = rates.map(median);
    println!("{what}: units {unit:.0}/s, workers {workers:.0}/s, ratio {:.2}", unit / workers);
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = tap::Config::default().with_kernel_address([10, 98, 0, 1], 24);
    let device = match tap::open(&config) {
        Ok(device) => device,
        Err(error) => {
            println!("skipped: {error}");
            return Ok(());
        }
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let _context = runtime.enter();
    let stack = Stack::builder().device(device).address("10.98.0.2/24");
    let stack = stack.organization("uniprocessor").processors(1).start()?;
    let _echo = unit::serve(&stack, ("10.98.0.2", PORTS[0]), |stream, _| echo(stream))?;
    let _http = unit::serve(&stack, ("10.98.0.2", PORTS[1]), |stream, _| http(stream))?;
    on_workers(&stack, PORTS[2], echo);
    on_workers(&stack, PORTS[3], http);
    std::thread::sleep(std::time::Duration::from_millis(200));
    compare("echo of 64 bytes, one connection", [PORTS[0], PORTS[2]], echoes);
    compare("a connection for each echo", [PORTS[0], PORTS[2]], connections);
    compare("hyper, keep-alive, one connection", [PORTS[1], PORTS[3]], requests);
    stack.stop();
    runtime.shutdown_background();
    Ok(())
}
