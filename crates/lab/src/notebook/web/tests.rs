use super::super::case::{Case, Load as CaseLoad, cases, check};
use super::super::experiment::{Effort, Experiment};
use super::super::perform::{self, measure};
use super::*;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

const SHORT: Effort = Effort { repeat: 1, seconds: 0.2, warm_up: 0.05, bound: 0.001 };

fn case_of(grid: &str) -> Result<Case, String> {
    let text = format!("name = \"a\"\n[[grid]]\nworkload = \"http\"\n{grid}\n");
    let experiment = Experiment::parse("a.toml", &text)?;
    check("a.toml", &experiment)?;
    let cases = cases(&experiment.grids[0])?;
    Ok(cases.into_iter().next().expect("a case"))
}

/// A server on the kernel's sockets that has the page, and one request for each connection.
struct Plain;

impl WebServers for Plain {
    fn serve(&self, web: &Web, load: &mut dyn FnMut(&Connect<'_>)) -> Result<(), String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
        let address = listener.local_addr().expect("bound");
        let page = vec![b'a'; web.page];
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let header: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                assert!(header.iter().any(|line| line == "Connection: close"), "{header:?}");
                let status = if header[0].starts_with("GET /page ") { 200 } else { 404 };
                let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", page.len());
                let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&page));
                sent.expect("a client that reads");
            }
        });
        load(&|| Ok(Box::new(TcpStream::connect(address)?)));
        Ok(())
    }
}

#[test]
fn a_server_is_loaded_and_its_requests_are_counted() {
    let case = case_of("rate = 200\nfresh = true\nbytes = 5000\nconnections = 4").expect("good");
    let figures = measure(&case, &SHORT, &Plain).expect("a server").figures;
    assert_eq!(figures["offered_requests_per_s"], 200.0);
    let completed = figures["completed_requests_per_s"];
    assert!(completed > 0.0 && figures["completed_share"] <= 1.0, "{figures:?}");
    assert_eq!(figures["gbit_per_s"], completed * 5000.0 * 8.0 / 1e9);
    assert!(figures["latency_p50_us"] <= figures["latency_p99_us"]);
}

#[test]
fn what_is_wanted_of_the_server_comes_from_the_case() {
    let grid = "organization = \"group-locks\"\ngroups = 8\nprocessors = 2\nmtu = 4000\n\
                rate = \"10ms:8000+40ms:0\"";
    let case = case_of(grid).expect("good");
    let CaseLoad::Http(web) = case.load(&SHORT) else { panic!("a web server's case") };
    assert_eq!((web.organization.as_str(), web.processors, web.mtu), ("group-locks", 2, 4000));
    assert_eq!((web.options.groups, web.page, web.load.fresh), (8, 1024, false));
    assert!((web.load.schedule.mean_per_s() - 1600.0).abs() < 1e-6);
}

#[test]
fn without_a_server_a_run_says_why_and_nothing_is_predicted() {
    let case = case_of("rate = 100").expect("good");
    let why = measure(&case, &SHORT, &NoWebServers).expect_err("no server");
    assert!(why.contains("no web server"), "{why}");
    assert_eq!(perform::work(&case), None);
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    for grid in [
        "rate = 0",
        "rate = \"soon\"",
        "connections = 5000",
        "bytes = 16777216\nrate = 1e9",
        "loss = [0.0, 0.01]",
        "short_lived = 5",
    ] {
        let error = case_of(grid).expect_err(grid);
        assert!(error.starts_with("a.toml, line ") && !error.contains('\n'), "{error}");
    }
    for other in ["workload = \"rr\"\nrate = 5", "fresh = true", "workload = \"blocks\"\nbytes = 9"]
    {
        let text = format!("name = \"a\"\n[[grid]]\n{other}\n");
        let experiment = Experiment::parse("a.toml", &text).expect(other);
        let error = check("a.toml", &experiment).expect_err(other);
        assert!(error.contains(" means nothing to "), "{error}");
    }
}
