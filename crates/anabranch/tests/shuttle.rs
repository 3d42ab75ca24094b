#![cfg(shuttle)]

use anabranch::{Options, Stack, TcpListener, TcpStream};
use device::Device;
use device::memory::{Config, pair};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use sync::system::{self, Instant, thread};

const SERVER: &str = "10.0.0.1";

fn stack(organization: &str, processors: usize, device: Device, address: &str) -> Stack {
    let options = Options { groups: 2, virtual_processors: 2, ..Options::default() };
    let stack = Stack::builder()
        .organization(organization)
        .processors(processors)
        .options(options)
        .device(device)
        .address(format!("{address}/24"))
        .start();
    stack.unwrap()
}

fn serve(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    stream.write_all(&bytes).unwrap();
}

fn exchange(organization: &'static str, processors: usize) {
    let began = std::time::Instant::now();
    let config = Config { queues: processors, ..Config::default() };
    let (a, b) = pair(config);
    let server = stack(organization, processors, a, SERVER);
    let client = stack(organization, processors, b, "10.0.0.2");
    let listener = TcpListener::bind(&server, (SERVER, 80)).unwrap();
    let start = Instant::now();
    let serving = thread::spawn(move || serve(&listener));
    let remote: SocketAddr = format!("{SERVER}:80").parse().unwrap();
    let mut stream = TcpStream::connect(&client, remote).unwrap();
    let sent: Vec<u8> = (0..4000u32).map(|n| n as u8).collect();
    stream.write_all(&sent).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    assert!(sent == received);
    serving.join().unwrap();
    drop(stream);
    let t1 = start.elapsed();
    server.stop();
    client.stop();
    if std::env::var("SHOW").is_ok() {
        println!("{organization} {t1:?} {:?} wall {:?}", start.elapsed(), began.elapsed());
    }
}

macro_rules! organizations {
    ($($name:ident $text:literal $processors:literal,)*) => {$(
        #[test]
        fn $name() {
            let n = std::env::var("SCHEDULES").map_or(10, |n| n.parse().unwrap());
            system::check(n, || exchange($text, $processors));
        }
    )*};
}

organizations! {
    uniprocessor "uniprocessor" 1,
    global_lock "global-lock" 2,
    message_parallel "message-parallel" 2,
    group_locks "group-locks" 2,
    group_threads "group-threads" 2,
    thread_per_connection "thread-per-connection" 2,
    virtual_processors "virtual-processors" 2,
    processor_per_connection "processor-per-connection" 2,
    engines "engines" 2,
    engines_early "engines-early" 2,
    engines_sched "engines-sched" 2,
    layer_parallel "layer-parallel" 2,
}
