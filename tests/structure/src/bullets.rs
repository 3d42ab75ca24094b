//! Items of lists in the documentation: short enough to be read as one.

/// The most words of an item.
const WORDS: usize = 80;

/// Items of lists in the Markdown file `name` that have too many words. An item ends at
/// the next one, at an empty line, or with the list; what is in a block of code counts
/// for nothing.
pub fn bullets(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut item, mut in_code) = (None::<String>, false);
    let mut end = |item: &mut Option<String>| {
        let Some(text) = item.take() else { return };
        let words = text.split_whitespace().count();
        if words > WORDS {
            let start = text.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
            found.push(format!("long item: {name} \"{start}\" ({words} words)"));
        }
    };
    for line in text.lines() {
        let content = line.trim_start();
        if content.starts_with("```") {
            in_code = !in_code;
            end(&mut item);
        } else if in_code {
        } else if let Some(first) = begins_item(content) {
            end(&mut item);
            item = Some(first.to_owned());
        } else if content.is_empty() || content.starts_with('#') || content.starts_with('|') {
            end(&mut item);
        } else if let Some(item) = &mut item {
            item.push(' ');
            item.push_str(content);
        }
    }
    end(&mut item);
    found
}

/// What follows the mark of an item, if the line begins one.
fn begins_item(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        return Some(rest);
    }
    let (number, rest) = line.split_once(". ")?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(rest)
}

#[cfg(test)]
mod tests;
