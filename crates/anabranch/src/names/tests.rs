use super::sealed::Sealed;
use super::*;

#[test]
fn addresses_need_no_lookup() {
    let four: SocketAddr = "10.0.0.1:80".parse().expect("an address");
    let six: SocketAddr = "[::1]:80".parse().expect("an address");
    let known = |target: &dyn Sealed| target.target().expect("good");
    for target in [
        &"10.0.0.1:80" as &dyn Sealed,
        &String::from("10.0.0.1:80"),
        &("10.0.0.1", 80),
        &(String::from("10.0.0.1"), 80),
        &(Ipv4Addr::new(10, 0, 0, 1), 80),
        &four,
    ] {
        assert_eq!(known(target), Target::Known(vec![four]));
    }
    assert_eq!(known(&"[::1]:80"), Target::Known(vec![six]));
    assert_eq!(known(&&[four, six][..]), Target::Known(vec![four, six]));
}

#[test]
fn names_are_told_from_nonsense() {
    let name = Target::Name("example.org".into(), 80);
    assert_eq!("example.org:80".target().expect("a name"), name);
    assert_eq!(("example.org", 80).target().expect("a name"), name);
    for nonsense in ["", "10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", "a:b"] {
        let error = nonsense.target().expect_err(nonsense);
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

/// More lookups than threads, of which many are given up: each that is left is
/// answered, and a resolver that panics answers, too.
#[test]
fn lookups_are_bounded_and_answered() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, highest) = (now.clone(), most.clone());
    let resolver = Resolver::new(move |host, port| {
        highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::yield_now();
        counted.fetch_sub(1, Ordering::SeqCst);
        if port == 13 {
            panic!("unlucky");
        }
        Ok(vec![
            (
                host.strip_prefix("host-").expect("ours").parse::<Ipv4Addr>().expect("an address"),
                port,
            )
                .into(),
        ])
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let lookups: Vec<_> = (0..500u16)
            .map(|i| {
                let resolver = resolver.clone();
                let name = (format!("host-10.0.0.{}", i % 250), i);
                tokio::spawn(async move { resolver.resolve_elsewhere(name).await })
            })
            .collect();
        for (i, lookup) in lookups.into_iter().enumerate() {
            if i % 3 == 0 {
                lookup.abort();
                continue;
            }
            let answer = lookup.await.expect("no panic");
            if i == 13 {
                answer.expect_err("the resolver panicked");
            } else {
                assert_eq!(answer.expect("found")[0].port, i as u16);
            }
        }
    });
    assert!((1..=THREADS).contains(&most.load(Ordering::SeqCst)));
    while resolver.jobs.lock().threads > 0 {
        std::thread::yield_now();
    }
}
