use super::*;

fn row(server: &'static str, per_s: f64, to_kernel: Option<f64>) -> Row {
    Row {
        server,
        over: "TAP",
        load: "own",
        connections: 64,
        bytes: 32_768,
        per_s,
        min_per_s: per_s - 1.0,
        max_per_s: per_s + 1.0,
        p50_us: 1234.0,
        p99_us: 2345.6,
        server_us: 9.81,
        to_kernel,
        failed: 0,
    }
}

#[test]
fn rows_stand_side_by_side() {
    let text = table(&[row("own threads", 81_234.0, Some(1.25)), row("kernel", 65_000.0, None)]);
    assert!(text.starts_with("http, 64 connections, 32768 bytes, load by own\n"), "{text}");
    assert!(text.contains("own threads   TAP  ") && text.contains(" 81,234 "), "{text}");
    assert!(text.contains("1.25") && text.contains("9.81"), "{text}");
}
