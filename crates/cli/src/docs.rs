//! The commands in the documentation are commands: what stands in a block of code is parsed, and
//! of what stands in a sentence, commands and options have to be there.

use super::Arguments;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory, Parser};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Options of other programs that the documentation names: of rustc, of the scripts for
/// packetdrill, and of the benches beside other stacks.
const OTHERS: [&str; 3] = ["cfg", "ipv6", "stack"];

/// What `docs/adding.md` adds is not there.
const TO_BE_ADDED: [&str; 2] = ["--tcp-daytime", "--interface"];

/// The documents that users read, with their names.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "deploy/README.md"];
    let docs = std::fs::read_dir(root.join("docs")).expect("docs").flatten().map(|e| e.path());
    let is_text = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let files = named.iter().map(|name| root.join(name)).chain(docs.filter(is_text));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("text");
        (path.strip_prefix(&root).unwrap_or(&path).display().to_string(), text)
    };
    files.map(read).collect()
}

/// The lines in blocks of code, continued ones in one piece, and the rest of the text.
fn split(text: &str) -> (Vec<String>, String) {
    let (mut lines, mut rest) = (Vec::new(), String::new());
    let (mut in_code, mut is_continued) = (false, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            let part = line.strip_suffix('\\');
            match lines.last_mut() {
                Some(last) if is_continued => *last += part.unwrap_or(line),
                _ => lines.push(part.unwrap_or(line).to_owned()),
            }
            is_continued = part.is_some();
        } else {
            rest += line;
            // A mark without another ends with its paragraph.
            rest.push(if line.trim().is_empty() { '\n' } else { ' ' });
        }
    }
    (lines, rest)
}

/// The words of a line's first command, as a shell has them, without `sudo` and a prompt.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in line.chars().chain([' ']) {
        match (quote, letter) {
            (Some(end), letter) if end == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '|' | '>' | ';' | '&') => break,
            (None, '#') if word.is_empty() => break,
            (None, ' ') if word.is_empty() => {}
            (None, ' ') => words.push(std::mem::take(&mut word)),
            (_, letter) => word.push(letter),
        }
    }
    let begin = words.iter().position(|word| !["$", "sudo"].contains(&word.as_str()));
    words.split_off(begin.unwrap_or(words.len()))
}

/// Our command, if the line is one: by its name, or by `cargo run`, which means it.
fn ours(line: &str) -> Option<Vec<String>> {
    let words = words(line);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    if word(0) == "anabranch" {
        // In a manifest it is a package.
        return (word(1) != "=").then_some(words);
    }
    let end = words.iter().position(|word| word == "--")?;
    let is_other = |word: &String| ["--example", "--bin", "-p"].contains(&word.as_str());
    if (word(0), word(1)) != ("cargo", "run") || words[..end].iter().any(is_other) {
        return None;
    }
    Some([&["anabranch".to_owned()], &words[end + 1..]].concat())
}

#[test]
fn commands_in_blocks_are_parsed() {
    let mut count = 0;
    for (name, text) in documents() {
        for line in split(&text).0 {
            // In another folder `cargo run` means another program.
            let Some(words) = ours(&line).filter(|_| !line.contains("cd ")) else { continue };
            count += 1;
            if let Err(error) = Arguments::try_parse_from(&words) {
                let is_asked =
                    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
                assert!(is_asked, "{name}: {line}\n{error}");
            }
        }
    }
    assert!(count >= 25, "{count} commands were found");
}

/// Are these words the name of a command, and options of it? What else they are is not looked at.
fn is_named(command: &Command, words: &[String]) -> Result<(), String> {
    let mut at = command;
    // One of several commands is meant.
    let is_any = words.iter().any(|word| word == "…");
    for word in words {
        if let Some(option) = word.strip_prefix("--") {
            let option = option.split('=').next().unwrap_or(option);
            let is_there = has(at, option)
                || is_any && at.get_subcommands().any(|command| has(command, option));
            if !(option.is_empty() || is_there || TO_BE_ADDED.contains(&word.as_str())) {
                return Err(format!("`{}` has no --{option}", at.get_name()));
            }
        } else if let Some(next) = at.find_subcommand(word) {
            at = next;
        } else if at.get_name() == "anabranch" && word.bytes().all(|b| b.is_ascii_lowercase()) {
            return Err(format!("there is no command {word}"));
        }
    }
    Ok(())
}

fn has(command: &Command, option: &str) -> bool {
    let mut all = command
        .get_arguments()
        .flat_map(|argument| argument.get_long_and_visible_aliases().unwrap_or_default());
    ["help", "version"].contains(&option) || all.any(|name| name == option)
}

fn all_options(command: &Command, into: &mut BTreeSet<String>) {
    into.extend(command.get_arguments().filter_map(|a| Some(a.get_long()?.to_owned())));
    command.get_subcommands().for_each(|command| all_options(command, into));
}

/// Commands and options in a sentence: `anabranch …`, `serve --…`, `lab http …`, `--…`.
#[test]
fn commands_in_sentences_are_there() {
    let mut command = Arguments::command();
    command.build();
    let mut options = BTreeSet::from(["help", "version"].map(str::to_owned));
    all_options(&command, &mut options);
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, text) in documents() {
        for paragraph in split(&text).1.lines() {
            for span in paragraph.split('`').skip(1).step_by(2) {
                let words = words(span);
                let Some(first) = words.first() else { continue };
                let second = words.get(1).map_or("", String::as_str);
                let begins = |command: &Command| {
                    second.starts_with("--") || command.find_subcommand(second).is_some()
                };
                let said = if first == "anabranch" {
                    is_named(&command, &words[1..])
                } else if command.find_subcommand(first).is_some_and(begins) {
                    is_named(&command, &words)
                } else if let Some(option) = first.strip_prefix("--").filter(|o| !o.is_empty()) {
                    let option = option.split('=').next().unwrap_or(option);
                    match options.contains(option) || OTHERS.contains(&option) {
                        true => Ok(()),
                        false => Err(format!("no command has --{option}")),
                    }
                } else {
                    continue;
                };
                count += 1;
                wrong.extend(said.err().map(|why| format!("{name}: `{span}`: {why}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 100, "{count} were found");
}

#[test]
fn what_is_not_there_is_found() {
    let mut command = Arguments::command();
    command.build();
    let wrong = |line: &str| is_named(&command, &words(line)[1..]).is_err();
    assert!(wrong("anabranch serv") && wrong("sudo anabranch serve --no-such"));
    assert!(wrong("anabranch lab http --no-such") && wrong("anabranch bench rr --http 80"));
    assert!(!wrong("anabranch lab http http://10.99.0.2/ --rate=2000 | tee x"));
    let line = ours("$ cargo run --release -- plan --load \"tcp rr 64B, 20k\"  # a remark");
    assert_eq!(line.expect("ours"), ["anabranch", "plan", "--load", "tcp rr 64B, 20k"]);
    assert_eq!(ours("cargo run --example echo -- memory"), None);
}
