//! Finds the word that was probably meant. Pure.

/// The candidate that a misspelt word is nearest to, if one is near: at most a third of its
/// letters differ.
pub(super) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let near = |candidate: &&'a str| (distance(&word, candidate), *candidate);
    let (distance, candidate) = candidates.iter().map(near).min()?;
    (distance <= candidate.len().div_ceil(3)).then_some(candidate)
}

/// How many letters must be put in, taken out or changed to make one word of the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (at, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (from, to, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn only_what_is_near_is_meant() {
        let keys = ["roots", "zone"];
        for (word, expected) in [
            ("root", Some("roots")),
            ("rooots", Some("roots")),
            ("ZONES", Some("zone")),
            ("time", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, &keys), expected, "{word}");
        }
    }
}
