use super::*;

#[test]
fn a_file_is_read_and_written() {
    let costs =
        Costs::parse("[layers]\nip_in_ns = 30\n[locks.mcs]\nalone_ns = 20\n").expect("fine");
    assert_eq!(costs.layers.ip_in_ns, 30.0);
    assert_eq!(costs.lock(LockKind::Mcs).alone_ns, 20.0);
    assert_eq!(
        costs.lock(LockKind::Spin),
        LockCosts::default(),
        "neither it nor adaptive is there"
    );
    let again = Costs::parse(&toml::to_string(&costs).expect("it is TOML")).expect("it is read");
    assert_eq!(costs, again);
}

#[test]
fn another_kind_of_lock_costs_what_adaptive_does() {
    let text = "[layers]\nip_in_ns = 30\n[locks.adaptive]\nalone_ns = 15\n";
    let costs = Costs::parse(text).expect("fine");
    assert_eq!(costs.lock(LockKind::Ticket).alone_ns, 15.0);
}

#[test]
fn errors_name_the_figure_in_one_line() {
    for (text, says) in [
        ("", "no layer takes any time"),
        ("[layers]\nip_in_ns = -1", "layers.ip_in_ns is -1"),
        ("[layers]\nip_in_ns = nan", "layers.ip_in_ns is NaN"),
        ("[layers]\nip_in_ns = inf", "layers.ip_in_ns is inf"),
        ("[layers]\nip_in_ns = 1e30", "1e9"),
        ("[layers]\nip_in_ns = 1\nmac_ns = 2", "line 3"),
        ("[layers]\nip_in_ns = 1\n[locks.magic]\nalone_ns = 1", "\"magic\""),
        ("[layers]\nip_in_ns = 1\n[threads]\ntime_slice_ns = 0", "time_slice_ns"),
        ("variation = 2\n[layers]\nip_in_ns = 1", "variation is 2"),
        ("[layers", "line 1"),
    ] {
        let error = Costs::parse(text).expect_err(text).to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn every_figure_is_checked() {
    // Each number of a file, made NaN, is found.
    let costs = Costs::parse(include_str!("../../../tests/data/costs.toml")).expect("fine");
    let value = toml::Value::try_from(&costs).expect("it is TOML");
    let mut paths = Vec::new();
    walk(&value, &mut Vec::new(), &mut paths);
    assert!(paths.len() > 50, "{}", paths.len());
    for path in paths {
        let mut bad = value.clone();
        let leaf = path.iter().try_fold(&mut bad, |at, key| at.get_mut(key));
        *leaf.expect("the path is there") = toml::Value::Float(f64::NAN);
        let bad: Costs = bad.try_into().expect("it is costs");
        let error = bad.check().expect_err("NaN").to_string();
        assert!(error.contains(&path.join(".")), "{path:?}: {error}");
    }
}

#[test]
fn scaling_changes_times_and_nothing_else() {
    let costs = Costs::parse(include_str!("../../../tests/data/costs.toml")).expect("fine");
    let mut scaled = costs.clone();
    scaled.scale(2.0);
    let [before, after] =
        [&costs, &scaled].map(|costs| toml::Value::try_from(costs).expect("it is TOML"));
    let mut paths = Vec::new();
    walk(&before, &mut Vec::new(), &mut paths);
    for path in paths {
        let at = |value: &toml::Value| {
            let leaf = path.iter().try_fold(value, |at, key| at.get(key));
            leaf.and_then(toml::Value::as_float).expect("a number")
        };
        let is_time = path.last().is_some_and(|name| name.ends_with("_ns"));
        let factor = if is_time { 2.0 } else { 1.0 };
        assert_eq!(at(&after), factor * at(&before), "{path:?}");
    }
    scaled.scale(f64::NAN);
    scaled.scale(0.5);
    assert_eq!(scaled, costs);
}

fn walk(value: &toml::Value, at: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let Some(table) = value.as_table() else { return paths.push(at.clone()) };
    for (key, value) in table {
        at.push(key.clone());
        walk(value, at, paths);
        at.pop();
    }
}
