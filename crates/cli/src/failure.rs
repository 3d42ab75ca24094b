//! [`Failure`]: why the command ends without success, in one line.

use clap::error::ErrorKind;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{Write, stderr};
use std::process::ExitCode;

/// No argument at all: the answer is the help, in full.
pub const HELP_ASKED: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

/// One line that names the cause and what to do, and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// The command cannot do what it was asked for, and has not begun: exit
    /// code 2.
    pub fn refused(message: impl Display) -> Failure {
        Failure { message: one_line(&message.to_string()), code: 2 }
    }

    /// What the command did went wrong: exit code 1.
    pub fn failed(message: impl Display) -> Failure {
        Failure { message: one_line(&message.to_string()), code: 1 }
    }

    /// The arguments `words` make no sense: what `clap` says of it in several lines.
    pub fn arguments(error: &clap::Error, words: impl IntoIterator<Item = OsString>) -> Failure {
        if error.kind() == ErrorKind::UnknownArgument
            && let Some((option, value)) = negative(words)
        {
            return Failure::refused(format!(
                "{option} cannot be negative, and {value} is: give it a number from 0 on"
            ));
        }
        let text = in_words(&error.render().to_string());
        let mut parts: Vec<String> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with("Usage:") {
                break;
            }
            let line = line.strip_prefix("error: ").unwrap_or(line);
            if !line.starts_with("For more information") {
                // A heading (`... not provided:`) and its items are one part.
                match parts.last_mut() {
                    Some(last) if last.ends_with(':') => *last += &format!(" {line}"),
                    Some(last) if line.starts_with("--") => *last += &format!(", {line}"),
                    _ => parts.push(line.into()),
                }
            }
        }
        Failure::refused(format!("{}; `--help` shows what there is", parts.join("; ")))
    }

    /// The arguments `words` end where `command` wants one more, of a few.
    pub fn no_word(command: &clap::Command, words: impl IntoIterator<Item = OsString>) -> Failure {
        let (mut command, mut said) = (command, command.get_name().to_owned());
        for word in words.into_iter().skip(1) {
            let Some(next) = command.find_subcommand(&word) else { break };
            said += &format!(" {}", next.get_name());
            command = next;
        }
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        Failure::refused(format!(
            "`{said}` lacks what to do: choose from {}; `{said} --help` says what each is",
            names.join(", ")
        ))
    }

    /// Prints the line, and says with which code to end.
    pub fn report(&self) -> ExitCode {
        // That nobody reads it changes nothing.
        let _ = writeln!(stderr(), "anabranch: {self}");
        ExitCode::from(self.code)
    }
}

/// The first option with a negative number behind it, which `clap` takes for an option.
fn negative(words: impl IntoIterator<Item = OsString>) -> Option<(String, String)> {
    let words: Vec<String> =
        words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_number = |word: &str| {
        let digits = word.strip_prefix('-').unwrap_or_default();
        digits.strip_prefix('.').unwrap_or(digits).starts_with(|c: char| c.is_ascii_digit())
    };
    let pair = words.windows(2).find(|pair| pair[0].starts_with("--") && is_number(&pair[1]))?;
    Some((pair[0].clone(), pair[1].clone()))
}

/// What std says of a text that it cannot read, as what would be right.
const SAID: [(&str, &str); 5] = [
    ("invalid digit found in string", "write a whole number"),
    ("cannot parse integer from empty string", "write a whole number"),
    ("invalid float literal", "write a number"),
    ("cannot parse float from empty string", "write a number"),
    ("invalid IP address syntax", "write an address like 10.99.0.1 or fd00::1"),
];

fn in_words(text: &str) -> String {
    SAID.iter().fold(text.to_owned(), |text, (said, right)| text.replace(said, right))
}

/// Characters of a word that is told whole.
const LONGEST_WORD: usize = 300;

/// In one line, and of what is as long as nobody reads the beginning.
fn one_line(text: &str) -> String {
    let clipped = |word: &str| match word.char_indices().nth(LONGEST_WORD) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    };
    text.split_whitespace().map(clipped).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Sample {
        #[arg(long)]
        one: u16,
        #[arg(long)]
        two: String,
    }

    fn line(args: &[&str]) -> String {
        let words = || ["x"].iter().chain(args).map(OsString::from);
        let error = Sample::try_parse_from(words()).expect_err("bad");
        Failure::arguments(&error, words()).to_string()
    }

    #[test]
    fn argument_errors_take_one_line() {
        assert_eq!(
            line(&[]),
            "the following required arguments were not provided: --one <ONE>, --two <TWO>; \
             `--help` shows what there is"
        );
        let text = line(&["--one", "70000"]);
        assert!(
            text.starts_with("invalid value '70000' for '--one <ONE>': 70000 is not"),
            "{text}"
        );
        for value in ["-1", "-5/s", "-.5"] {
            let text = line(&["--two", "x", "--one", value]);
            let start = format!("--one cannot be negative, and {value} is");
            assert!(text.starts_with(&start), "{text}");
        }
        for (text, right) in [("x", "'x' for '--one <ONE>': write a whole number;"), ("", "whole")]
        {
            assert!(line(&["--two", "x", "--one", text]).contains(right), "{text}");
        }
        let text = line(&["--two", "x", "--one", &"9".repeat(100_000)]);
        assert!(text.len() < 500 && text.ends_with("`--help` shows what there is"), "{text}");
        assert!(line(&["--twoo", "x"]).contains("tip: a similar argument exists: '--two'"));
    }
}
