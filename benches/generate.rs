//! Writes made-up transcripts like Claude Code's: any size, the same bytes for the same seed.
//!
//! Keys stand in the order in which the host writes them, without spaces, in raw UTF-8. Tool
//! traffic is 87 to 91 % of the bytes, words are about 2 %, lines are up to 5 MB. A share of these
//! proportions is a guess: speeds hold for real transcripts only as far as the shares do.
mod text;

use std::io::{self, Write};

use text::Writer;

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX: &[u8] = b"0123456789abcdef";
const FOLDER: &str = "/home/dev/project-alpha";
/// Half of a surrogate pair, as hosts leave it behind when they cut a text.
const HALF_A_PAIR: &str = "\\ud83d";
/// Counted, not drawn: a few images are a quarter of all bytes, and should be the same quarter in
/// a transcript of any size.
const READS_PER_IMAGE: u32 = 170;
/// Tools, and how often in a hundred calls each is called.
const TOOLS: &[(&str, usize)] = &[
    ("Bash", 30),
    ("Read", 28),
    ("Edit", 18),
    ("Write", 4),
    ("Grep", 12),
    ("Task", 2),
    ("mcp__ctx__query", 6),
];

/// Writes a transcript of at least `bytes` bytes; without `images`, no line is over 200 KB.
pub(crate) fn transcript(
    out: &mut impl Write,
    bytes: u64,
    seed: u64,
    images: bool,
) -> io::Result<()> {
    let mut generator = Generator::new(out, seed, images);
    let id = generator.uuid();
    generator.line(&format!(
        r#"{{"type":"file-history-snapshot","messageId":"{id}","snapshot":{{"messageId":"{id}","trackedFileBackups":{{}}}},"isSnapshotUpdate":false}}"#
    ))?;
    while generator.written < bytes {
        generator.turn()?;
    }
    generator.out.flush()
}

struct Generator<'w, W> {
    out: &'w mut W,
    written: u64,
    text: Writer,
    /// Base64 of which images are made; empty where there are to be none.
    image: String,
    reads: u32,
    session: String,
    previous: Option<String>,
    /// Milliseconds since the epoch.
    clock: i64,
}

impl<'w, W: Write> Generator<'w, W> {
    fn new(out: &'w mut W, seed: u64, images: bool) -> Self {
        let mut text = Writer::new(seed);
        let image = text.random.letters(if images { 4_000_000 } else { 0 }, BASE64);
        let clock = 1_764_000_000_000;
        let session = String::new();
        let mut generator =
            Self { out, written: 0, text, image, reads: 0, session, previous: None, clock };
        generator.session = generator.uuid();
        generator
    }

    fn turn(&mut self) -> io::Result<()> {
        let length = self.text.random.length(5.6, 1.1);
        let prompt = quoted(&self.text.prose(length));
        let head = self.head(false);
        let ids = self.ids();
        self.line(&format!(
            r#"{head},"type":"user","message":{{"role":"user","content":{prompt}}}{ids},"thinkingMetadata":{{"maxThinkingTokens":31999}},"todos":[],"permissionMode":"default"}}"#
        ))?;
        if self.text.random.happens(0.08) {
            self.reminder()?;
        }
        for _ in 0..3 + self.text.random.below(22) {
            self.step()?;
        }
        let length = self.text.random.length(6.6, 0.8);
        self.speech(length)?;
        let (head, duration) = (self.head(false), self.text.random.below(99_999));
        let ids = self.ids();
        self.line(&format!(
            r#"{head},"type":"system","subtype":"turn_duration","durationMs":{duration}{ids},"isMeta":false}}"#
        ))?;
        if self.text.random.happens(0.05) {
            let (summary, leaf) = (quoted(&self.text.prose(60)), self.uuid());
            self.line(&format!(r#"{{"type":"summary","summary":{summary},"leafUuid":"{leaf}"}}"#))?;
        }
        Ok(())
    }

    fn reminder(&mut self) -> io::Result<()> {
        let head = self.head(false);
        let task = format!(r#"{{"content":{},"status":"pending"}}"#, quoted(&self.text.prose(60)));
        let tasks = [task.as_str(); 5].join(",");
        let ids = self.ids();
        self.line(&format!(
            r#"{head},"type":"attachment","attachment":{{"type":"todo_reminder","content":[{tasks}],"itemCount":5}}{ids}}}"#
        ))
    }

    /// Thoughts, words, a tool call, and what it gave.
    fn step(&mut self) -> io::Result<()> {
        if self.text.random.happens(0.35) {
            let length = self.text.random.length(6.0, 0.8);
            let thoughts = quoted(&self.text.prose(length));
            let length = 270 + self.text.random.below(930);
            let signature = self.text.random.letters(length, BASE64);
            self.assistant(
                &format!(
                    r#"{{"type":"thinking","thinking":{thoughts},"signature":"{signature}"}}"#
                ),
                false,
            )?;
        }
        if self.text.random.happens(0.55) {
            let length = self.text.random.length(5.8, 0.9);
            self.speech(length)?;
        }
        let side = self.text.random.happens(0.03);
        let (id, name) = (self.id("toolu_01", 24), self.tool());
        let path = format!("{FOLDER}/src/{}/{}.rs", self.text.word(), self.text.word());
        let input = self.input(name, &path);
        let call = format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#);
        self.assistant(&call, side)?;
        self.progress(&id, name)?;
        self.result(&id, name, &path, side)
    }

    fn tool(&mut self) -> &'static str {
        let mut left = self.text.random.below(100);
        for (name, often) in TOOLS {
            match left.checked_sub(*often) {
                Some(rest) => left = rest,
                None => return name,
            }
        }
        "Bash"
    }

    fn input(&mut self, name: &str, path: &str) -> String {
        let text = &mut self.text;
        match name {
            "Bash" => format!(
                r#"{{"command":"cargo test -p {} -- --nocapture 2>&1 | tail -50 && echo \"done\"","description":{}}}"#,
                text.word(),
                quoted(&text.prose(40))
            ),
            "Read" => format!(r#"{{"file_path":"{path}"}}"#),
            "Edit" => {
                let (old, new) = (text.random.length(5.8, 0.8), text.random.length(6.2, 0.8));
                let (old, new) = (quoted(&text.code(old)), quoted(&text.code(new)));
                format!(
                    r#"{{"replace_all":false,"file_path":"{path}","old_string":{old},"new_string":{new}}}"#
                )
            }
            "Write" => {
                let length = text.random.length(8.0, 0.7);
                format!(r#"{{"file_path":"{path}","content":{}}}"#, quoted(&text.code(length)))
            }
            "Grep" => format!(
                r#"{{"pattern":"fn \\w+\\({}","path":"{FOLDER}","output_mode":"content"}}"#,
                text.word()
            ),
            "Task" => format!(
                r#"{{"description":{},"prompt":{},"subagent_type":"Explore"}}"#,
                quoted(&text.prose(30)),
                quoted(&text.prose(900))
            ),
            _ => format!(r#"{{"query":{}}}"#, quoted(&text.prose(80))),
        }
    }

    fn progress(&mut self, id: &str, name: &str) -> io::Result<()> {
        if self.text.random.happens(0.30) {
            let (head, ids) = (self.head(false), self.other_ids());
            self.line(&format!(
                r#"{head},"type":"progress","data":{{"type":"hook_progress","hookEvent":"PreToolUse","hookName":"PreToolUse:{name}","command":"node \"${{CLAUDE_PLUGIN_ROOT}}/scripts/x.js\""}},"parentToolUseID":"{id}","toolUseID":"{id}"{ids}}}"#
            ))?;
        }
        if name == "Bash" && self.text.random.happens(0.3) {
            let (head, ids) = (self.head(false), self.other_ids());
            let (part, whole) = (quoted(&self.text.log(400)), quoted(&self.text.log(1_500)));
            self.line(&format!(
                r#"{head},"type":"progress","data":{{"type":"bash_progress","output":{part},"fullOutput":{whole},"elapsedTimeSeconds":3,"totalLines":22}},"toolUseID":"bash-progress-0","parentToolUseID":"{id}"{ids}}}"#
            ))?;
        }
        Ok(())
    }

    fn result(&mut self, id: &str, name: &str, path: &str, side: bool) -> io::Result<()> {
        let (content, detail) = match name {
            "Read" if self.is_picture() => self.picture(),
            "Read" => self.file(path),
            "Edit" | "Write" => self.edited(path),
            "Task" => self.report(),
            _ => self.output(),
        };
        let failed = if self.text.random.happens(0.05) { r#","is_error":true"# } else { "" };
        let beside = if self.text.random.happens(0.01) {
            format!(r#",{{"type":"text","text":{}}}"#, quoted(&self.text.prose(120)))
        } else {
            String::new()
        };
        let (head, ids) = (self.head(side), self.ids());
        let own = self.previous.clone().unwrap_or_default();
        self.line(&format!(
            r#"{head},"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":{content}{failed}}}{beside}]}}{ids},"toolUseResult":{detail},"sourceToolAssistantUUID":"{own}"}}"#
        ))
    }

    fn is_picture(&mut self) -> bool {
        self.reads += 1;
        !self.image.is_empty() && self.reads.is_multiple_of(READS_PER_IMAGE)
    }

    fn picture(&mut self) -> (String, String) {
        let size = 1_000_000 + self.text.random.below(3_000_000);
        let (data, small) = (&self.image[..size], &self.image[..size / 4]);
        (
            format!(
                r#"[{{"type":"image","source":{{"type":"base64","data":"{data}","media_type":"image/png"}}}}]"#
            ),
            format!(
                r#"{{"type":"image","file":{{"base64":"{small}","type":"image/png","originalSize":{size}}}}}"#
            ),
        )
    }

    fn file(&mut self, path: &str) -> (String, String) {
        let length = self.text.random.length(8.3, 0.9).min(60_000);
        let raw = self.text.code(length);
        let numbered: Vec<String> =
            raw.split('\n').zip(1..).map(|(line, number)| format!("{number:6}→{line}")).collect();
        let shown = numbered.join("\n")
            + "\n\n<system-reminder>\nWhenever you read a file, you should consider whether it \
               looks malicious.\n</system-reminder>\n";
        let (lines, raw) = (numbered.len(), quoted(&raw));
        let detail = format!(
            r#"{{"type":"text","file":{{"filePath":"{path}","content":{raw},"numLines":{lines},"startLine":1,"totalLines":999}}}}"#
        );
        (quoted(&shown), detail)
    }

    fn edited(&mut self, path: &str) -> (String, String) {
        let shown = format!(
            "The file {path} has been updated. Here's the result of running `cat -n` on a \
             snippet:\n{}",
            self.text.numbered(700)
        );
        let length = self.text.random.length(8.2, 0.8).min(40_000);
        let original = quoted(&self.text.code(length));
        let lines = self.text.code(500);
        let lines: Vec<String> =
            lines.split('\n').map(|line| quoted(&format!(" {line}"))).collect();
        let detail = format!(
            r#"{{"filePath":"{path}","oldString":{},"newString":{},"originalFile":{original},"structuredPatch":[{{"oldStart":10,"oldLines":6,"newStart":10,"newLines":8,"lines":[{}]}}],"userModified":false,"replaceAll":false}}"#,
            quoted(&self.text.code(330)),
            quoted(&self.text.code(490)),
            lines.join(",")
        );
        (quoted(&shown), detail)
    }

    fn report(&mut self) -> (String, String) {
        let length = self.text.random.length(7.5, 0.6);
        let blocks = format!(r#"[{{"type":"text","text":{}}}]"#, quoted(&self.text.prose(length)));
        let prompt = quoted(&self.text.prose(900));
        let detail = format!(
            r#"{{"status":"completed","prompt":{prompt},"agentId":"a1b2c3d","content":{blocks},"totalDurationMs":81234,"totalTokens":41234,"totalToolUseCount":12}}"#
        );
        (blocks, detail)
    }

    fn output(&mut self) -> (String, String) {
        let length = self.text.random.length(7.6, 1.1).min(30_000);
        let mut output = quoted(&self.text.log(length));
        if self.text.random.happens(0.01) {
            output.insert_str(output.len() - 1, HALF_A_PAIR);
        }
        let detail =
            format!(r#"{{"stdout":{output},"stderr":"","interrupted":false,"isImage":false}}"#);
        (output, detail)
    }

    fn speech(&mut self, length: usize) -> io::Result<()> {
        let words = quoted(&self.text.prose(length));
        self.assistant(&format!(r#"{{"type":"text","text":{words}}}"#), false)
    }

    fn assistant(&mut self, block: &str, side: bool) -> io::Result<()> {
        let (head, message, request) =
            (self.head(side), self.id("msg_01", 22), self.id("req_011", 21));
        let [input, created, read, output] =
            [9, 9_000, 150_000, 900].map(|end| self.text.random.below(end));
        let ids = self.ids();
        self.line(&format!(
            r#"{head},"message":{{"model":"claude-opus-4-6","id":"{message}","type":"message","role":"assistant","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":{input},"cache_creation_input_tokens":{created},"cache_read_input_tokens":{read},"cache_creation":{{"ephemeral_5m_input_tokens":{created},"ephemeral_1h_input_tokens":0}},"output_tokens":{output},"service_tier":"standard"}}}},"requestId":"{request}","type":"assistant"{ids}}}"#
        ))
    }

    /// How rows of the conversation begin.
    fn head(&self, side: bool) -> String {
        let parent = self.previous.as_ref().map_or("null".to_owned(), |id| format!("\"{id}\""));
        let session = &self.session;
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":{side},"userType":"external","cwd":"{FOLDER}","sessionId":"{session}","version":"2.1.37","gitBranch":"feature/tail-parser""#
        )
    }

    /// Identity and time of a row that the next one follows.
    fn ids(&mut self) -> String {
        let id = self.uuid();
        let ids = format!(r#","uuid":"{id}","timestamp":"{}""#, self.time());
        self.previous = Some(id);
        ids
    }

    /// Identity and time of a row that nothing follows.
    fn other_ids(&mut self) -> String {
        format!(r#","timestamp":"{}","uuid":"{}""#, self.time(), self.uuid())
    }

    fn time(&mut self) -> String {
        self.clock += self.text.random.below(6_000) as i64;
        let time = jiff::Timestamp::from_millisecond(self.clock).unwrap_or_default();
        format!("{time:.3}")
    }

    fn uuid(&mut self) -> String {
        let [a, b, c, d, e] = [8, 4, 3, 3, 12].map(|n| self.text.random.letters(n, HEX));
        format!("{a}-{b}-4{c}-a{d}-{e}")
    }

    fn id(&mut self, prefix: &str, length: usize) -> String {
        prefix.to_owned() + &self.text.random.letters(length, HEX)
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.out.write_all(line.as_bytes())?;
        self.out.write_all(b"\n")?;
        self.written += line.len() as u64 + 1;
        Ok(())
    }
}

/// The text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
