//! The lists of requirements.

/// How much is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// MUST, MUST NOT.
    Must,
    /// SHOULD, SHOULD NOT, and what is recommended.
    Should,
}

/// What a list says beside a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// It is met otherwise, or not, for this reason.
    Deviates(String),
    /// It is nothing for the stack to do.
    None(String),
}

/// A requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key.
    pub key: String,
    /// How much it is required.
    pub level: Level,
    /// What is required.
    pub text: String,
    /// What is said beside it.
    pub note: Option<Note>,
}

/// An RFC's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rfc {
    /// Its number.
    pub number: u16,
    /// Its title, and what the list leaves out.
    pub title: String,
    /// The requirements.
    pub rows: Vec<Row>,
}

impl Rfc {
    /// Reads a list. Its first line, after `#`, is the title.
    ///
    /// # Errors
    /// A line that is none of the form, or a key that comes twice.
    pub fn parse(number: u16, text: &str) -> Result<Rfc, String> {
        let mut lines = text.lines();
        let title = lines.next().and_then(|line| line.strip_prefix("# ")).ok_or("no title")?;
        let mut rows: Vec<Row> = Vec::new();
        for line in lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let wrong = || format!("cannot be read: {line}");
            if line.starts_with(' ') {
                let note = note(line.trim()).ok_or_else(wrong)?;
                rows.last_mut().ok_or_else(wrong)?.note = Some(note);
                continue;
            }
            let row = row(line).ok_or_else(wrong)?;
            if rows.iter().any(|other| other.key == row.key) {
                return Err(format!("{} is there twice", row.key));
            }
            rows.push(row);
        }
        Ok(Rfc { number, title: title.to_owned(), rows })
    }
}

fn note(line: &str) -> Option<Note> {
    let (kind, text) = line.split_once(": ")?;
    let text = text.to_owned();
    match kind {
        "deviates" => Some(Note::Deviates(text)),
        "none" => Some(Note::None(text)),
        _ => None,
    }
}

fn row(line: &str) -> Option<Row> {
    let (key, rest) = line.split_once(' ')?;
    let (level, text) = rest.split_once(' ')?;
    let level = match level {
        "must" => Level::Must,
        "should" => Level::Should,
        _ => return None,
    };
    let row = Row { key: key.to_owned(), level, text: text.to_owned(), note: None };
    is_key(key).then_some(row)
}

/// Has it the form of a key?
pub(crate) fn is_key(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if let Some((kind, n)) = word.split_once('-') {
        return ["MUST", "SHLD", "REC"].contains(&kind) && is_number(n);
    }
    word.split_once('/')
        .is_some_and(|(section, n)| section.split('.').all(is_number) && is_number(n))
}
