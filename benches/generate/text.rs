//! Made-up words, code and logs: numbers from a seed, and text from the numbers.

const WORDS: &str = "the of to and a in is it that for on with as this be are was by from or have \
    an they which one you had not but what all were when we there can said use each she how their \
    will other about out many then them these so some function parser buffer offset newline \
    session transcript render commit branch worker thread latency error fixed test module import \
    return struct match async await socket inode watcher debounce schema migration index";
const FANCY: &[&str] = &["“quoted”", "naïve", "→", "✓", "🚀", "日本語", "Größe", "—", "…", "é"];
const LOG: &[&str] = &[
    "\u{1b}[32m   Compiling\u{1b}[0m ",
    "test result: ok. ",
    "warning: unused ",
    "/home/dev/proj/src/",
    "\tat Object.<anonymous> (/srv/",
];
/// Lines of code that are made once, so that making a transcript is quick.
const POOL: usize = 20_000;

/// A row of random numbers (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From 0 up to but not including 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of this probability happens.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A length whose logarithm is distributed normally: most are small, a few are large.
    pub(super) fn length(&mut self, mean: f64, deviation: f64) -> usize {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.share()).cos();
        (mean + deviation * normal).exp() as usize
    }

    /// Characters of `alphabet`.
    pub(super) fn letters(&mut self, length: usize, alphabet: &[u8]) -> String {
        (0..length).map(|_| char::from(*self.pick(alphabet))).collect()
    }
}

/// Makes texts.
pub(super) struct Writer {
    pub(super) random: Random,
    words: Vec<&'static str>,
    pool: Vec<String>,
}

impl Writer {
    pub(super) fn new(seed: u64) -> Self {
        let words = WORDS.split_whitespace().collect();
        let mut writer = Self { random: Random(seed), words, pool: Vec::new() };
        writer.pool = (0..POOL).map(|_| writer.code_line()).collect();
        writer
    }

    pub(super) fn word(&mut self) -> &'static str {
        self.words[self.random.below(self.words.len())]
    }

    /// What people and agents write: sentences, lists, a little code, few characters beyond ASCII.
    pub(super) fn prose(&mut self, length: usize) -> String {
        let mut text = String::new();
        let mut characters = 0;
        while characters < length {
            let fancy = self.random.happens(0.02);
            let word = if fancy { *self.random.pick(FANCY) } else { self.word() };
            let word = match self.random.share() {
                share if share < 0.03 => format!("\"{word}\""),
                share if share < 0.06 => format!("`{word}`"),
                share if share > 0.985 => format!("{word}.\n\n"),
                share if share > 0.96 => format!("{word}.\n- "),
                _ => word.to_owned(),
            };
            characters += word.chars().count() + 1;
            text += &word;
            text.push(' ');
        }
        text.chars().take(length).collect()
    }

    /// Lines of code.
    pub(super) fn code(&mut self, length: usize) -> String {
        let start = self.random.below(POOL);
        self.lines(length, |writer, number| writer.pool[(start + number) % POOL].clone())
    }

    /// Lines of code with their numbers, as hosts show them.
    pub(super) fn numbered(&mut self, length: usize) -> String {
        let (start, first) = (self.random.below(POOL), self.random.below(900) + 1);
        self.lines(length, |writer, number| {
            format!("{:6}→{}", first + number, writer.pool[(start + number) % POOL])
        })
    }

    /// What programs print.
    pub(super) fn log(&mut self, length: usize) -> String {
        self.lines(length, |writer, _| {
            let number = writer.random.below(1_000_000);
            format!("{}{} {number}", writer.random.pick(LOG), writer.word())
        })
    }

    fn lines(&mut self, length: usize, line: impl Fn(&mut Self, usize) -> String) -> String {
        let mut text = String::new();
        let mut number = 0;
        while text.len() < length {
            text += &line(self, number);
            text.push('\n');
            number += 1;
        }
        let end = (0..=length).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text
    }

    fn code_line(&mut self) -> String {
        let indent = "    ".repeat(self.random.below(5));
        let (a, b, c) = (self.word(), self.word(), self.word());
        let number = self.random.below(999);
        let line = match self.random.below(9) {
            0 => format!("let {a}_{b} = {c}.get(\"{a}\").unwrap_or_default();"),
            1 => format!("if {a} != {b} && {c}[{number}] == \"\\n\" {{"),
            2 => "}".to_owned(),
            3 => format!("// {a} {b} {c} {a}"),
            4 => format!("fn {a}_{b}(&self, {c}: &str) -> Result<{a}> {{"),
            5 => format!("console.log(`{a}: ${{{b}}}`);"),
            6 => format!("{{\"type\":\"text\",\"text\":\"{a}\",\"{b}\":[{number}]}},"),
            7 => String::new(),
            _ => format!("    return self.{a}.{b}(\"{c}\", 0.{number})"),
        };
        indent + &line
    }
}
