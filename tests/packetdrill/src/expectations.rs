//! What is expected of each script: a file of lines
//!
//! ```text
//! passes          close/local.pkt
//! fails           cubic/idle.pkt: the reason
//! not-applicable  fastopen/cookie.pkt: the reason
//! ```
//!
//! Empty lines and those that begin with `#` say nothing. A script that fails under
//! some organizations only is given with them, without spaces:
//! `fails[group-locks,message-parallel]`.

use std::collections::BTreeMap;

/// What is expected of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// It passes.
    Passes,
    /// It fails for this reason, under the organizations that are named, or under all
    /// if none is.
    Fails(Vec<String>, String),
    /// It tests what the stack does not have and says so. It is not run.
    NotApplicable(String),
}

/// What is expected, by script.
pub type Expectations = BTreeMap<String, Expectation>;

/// Reads a file of expectations.
///
/// # Errors
/// The first line that makes no sense, by its number.
pub fn parse(text: &str) -> Result<Expectations, String> {
    let mut expectations = Expectations::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (script, expectation) =
            parse_line(line).map_err(|why| format!("line {number}: {why}: {line}"))?;
        if expectations.insert(script.clone(), expectation).is_some() {
            return Err(format!("line {number}: {script} has been there before"));
        }
    }
    Ok(expectations)
}

fn parse_line(line: &str) -> Result<(String, Expectation), String> {
    let (word, rest) = line.split_once(char::is_whitespace).ok_or("a script is missing")?;
    let rest = rest.trim();
    if word == "passes" {
        return Ok((rest.into(), Expectation::Passes));
    }
    let (script, reason) = rest.split_once(':').ok_or("a reason is missing")?;
    let (script, reason) = (script.trim().to_owned(), reason.trim().to_owned());
    if reason.is_empty() {
        return Err("a reason is missing".into());
    }
    let expectation = match word.split_once('[') {
        None if word == "fails" => Expectation::Fails(Vec::new(), reason),
        None if word == "not-applicable" => Expectation::NotApplicable(reason),
        Some(("fails", names)) if names.ends_with(']') => {
            let names = names.trim_end_matches(']').split(',').map(|name| name.trim().to_owned());
            Expectation::Fails(names.collect(), reason)
        }
        _ => return Err(format!("there is no {word}")),
    };
    Ok((script, expectation))
}

impl Expectation {
    /// Is it to pass under `organization`?
    pub fn passes(&self, organization: &str) -> bool {
        match self {
            Expectation::Passes => true,
            Expectation::Fails(names, _) => {
                !names.is_empty() && !names.iter().any(|name| name == organization)
            }
            Expectation::NotApplicable(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_is_expected() {
        let text = "# of ours\npasses a/b.pkt\n\nfails c.pkt: why: so\n\
            fails[group-locks,message-parallel] d.pkt: order\nnot-applicable e.pkt: MD5";
        let expectations = parse(text).expect("it makes sense");
        assert_eq!(expectations["a/b.pkt"], Expectation::Passes);
        assert_eq!(expectations["c.pkt"], Expectation::Fails(vec![], "why: so".into()));
        let some = &expectations["d.pkt"];
        assert!(some.passes("uniprocessor") && !some.passes("message-parallel"));
        assert!(!expectations["e.pkt"].passes("uniprocessor"));
    }

    #[test]
    fn nonsense_is_named_by_its_line() {
        for text in ["\npass a.pkt", "\nfails a.pkt", "\nfails a.pkt: ", "\npasses"] {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with("line 2:"), "{error}");
        }
        let error = parse("passes a.pkt\nfails a.pkt: x").expect_err("twice");
        assert!(error.contains("before"), "{error}");
    }
}
