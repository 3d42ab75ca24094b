use super::*;

#[test]
fn sockets_that_are_gone_are_forgotten() {
    let registry = Registry::default();
    let kept: Vec<Arc<usize>> = (0..100).map(Arc::new).collect();
    kept.iter().for_each(|socket| registry.add(socket, **socket));
    for hint in 0..100_000 {
        registry.add(&Arc::new(hint), hint);
    }
    let entries: usize = registry.shards.iter().map(|shard| shard.lock().sockets.len()).sum();
    assert!(entries <= 3 * kept.len() + SHARDS * SOME, "{entries}");
    let mut all: Vec<usize> = registry.all().iter().map(|socket| **socket).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..100));
}
