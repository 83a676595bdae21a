//! A model that says what a test tells it to, and remembers what reached it.
//!
//! It listens on loopback. Replies come from a script, in order; summaries and subagents have
//! scripts of their own. What was said, by whomever, is kept: a summary is where the words end
//! that a pointer must lead to.
use std::{
    collections::VecDeque,
    io,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};

use serde_json::{Value, json};

use crate::{
    http::{Asked, Connection},
    pointer::Pointer,
    request::{Kind, Outcome, Request},
    turn::{Turn, events, refuses, says},
};

/// What the client is told where the script has ended.
pub(crate) const UNEXPECTED: &str = "UNEXPECTED: the script has ended";

pub(crate) struct Model {
    shared: Arc<Shared>,
    port: u16,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Default)]
struct State {
    turns: VecDeque<Turn>,
    subagent: VecDeque<Turn>,
    /// Summaries fail.
    failing: bool,
    /// Summaries stop until they are released.
    holding: bool,
    requests: Vec<Request>,
    /// What the person and the agent said, in the main conversation.
    said: Vec<String>,
    /// How much of it had been said when the newest summary was asked for.
    summarized: usize,
    readings: Vec<Reading>,
    held: bool,
    replies: usize,
}

/// What was read by a pointer.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) pointer: Pointer,
    /// Who asked the model, as the client says it: the session's id is in it.
    pub(crate) by: String,
    /// What had been said before the summary.
    pub(crate) said: Vec<String>,
    /// The ids of the calls: one for each range, then one for each other bottle.
    calls: Vec<String>,
    /// What the calls gave, in their order; empty until it came.
    outcomes: Vec<Outcome>,
}

impl Reading {
    /// The ranges of lines that were asked for, and what came; in the order of the file.
    pub(crate) fn pages(&self) -> Vec<((usize, usize), &Outcome)> {
        assert_eq!(self.calls.len(), self.outcomes.len(), "{self:#?}");
        let mut pages: Vec<_> = self.pointer.ranges().into_iter().zip(&self.outcomes).collect();
        pages.sort_by_key(|(range, _)| *range);
        pages
    }

    /// The other bottles that were asked for, and what came.
    pub(crate) fn others(&self) -> Vec<(PathBuf, &Outcome)> {
        let outcomes = &self.outcomes[self.pointer.ranges().len()..];
        self.pointer.others().into_iter().zip(outcomes).collect()
    }

    /// What was read, without the numbers of lines; other bottles first.
    pub(crate) fn text(&self) -> String {
        let others = self.others().into_iter().map(|(_, whole)| whole);
        let pages = self.pages().into_iter().map(|(_, page)| page);
        let lines = others.chain(pages).flat_map(Outcome::numbered);
        lines.map(|(_, line)| format!("{line}\n")).collect()
    }

    /// How many calls of Read it was.
    pub(crate) fn calls(&self) -> usize {
        self.calls.len()
    }
}

impl Model {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let serving = shared.clone();
        // Ends with the process, like the connections: they wait for clients that have ended.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                thread::spawn(move || shared.serve(stream).ok());
            }
        });
        Self { shared, port }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Adds to what is said in the main conversation.
    pub(crate) fn then(&self, turns: impl IntoIterator<Item = Turn>) {
        self.shared.lock().turns.extend(turns);
    }

    /// Adds to what subagents say.
    pub(crate) fn subagent(&self, turns: impl IntoIterator<Item = Turn>) {
        self.shared.lock().subagent.extend(turns);
    }

    /// Whether to refuse to write summaries: the client asks more than once.
    pub(crate) fn fails_to_summarize(&self, failing: bool) {
        self.shared.lock().failing = failing;
    }

    /// Holds summaries when they are half told, until it is released.
    pub(crate) fn holds_summaries(&self) {
        self.shared.lock().holding = true;
    }

    /// Lets go on what is held.
    pub(crate) fn release(&self) {
        let mut state = self.shared.lock();
        (state.held, state.holding) = (false, false);
        drop(state);
        self.shared.released.notify_all();
    }

    /// The person has said this.
    pub(crate) fn hears(&self, words: &str) {
        self.shared.lock().said.push(words.to_owned());
    }

    /// Nothing that was said so far counts any more; what was said.
    pub(crate) fn forget(&self) -> Vec<String> {
        let mut state = self.shared.lock();
        state.summarized = 0;
        std::mem::take(&mut state.said)
    }

    /// All that reached it, of this kind, in order.
    pub(crate) fn requests(&self, kind: Kind) -> Vec<Request> {
        let state = self.shared.lock();
        state.requests.iter().filter(|request| request.kind == kind).cloned().collect()
    }

    /// All that reached it, in order.
    pub(crate) fn everything(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    pub(crate) fn readings(&self) -> Vec<Reading> {
        self.shared.lock().readings.clone()
    }

    /// All that was said so far.
    pub(crate) fn said(&self) -> Vec<String> {
        self.shared.lock().said.clone()
    }

    /// How many turns of the script were not asked for.
    pub(crate) fn left(&self) -> usize {
        let state = self.shared.lock();
        state.turns.len() + state.subagent.len()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.release();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut connection = Connection::new(stream)?;
        while let Some(asked) = connection.next()? {
            self.answer(&mut connection, asked)?;
        }
        Ok(())
    }

    fn answer(&self, connection: &mut Connection, asked: Asked) -> io::Result<()> {
        if asked.method == "HEAD" {
            connection.nothing()
        } else if asked.path.ends_with("/v1/messages/count_tokens") {
            connection.reply(200, &json!({"input_tokens": asked.length / 4}))
        } else if asked.path.ends_with("/v1/messages") {
            self.message(connection, asked.body)
        } else {
            connection.refuse(404, "not_found_error", "there is no such thing")
        }
    }

    fn message(&self, connection: &mut Connection, body: Value) -> io::Result<()> {
        let request = Request::new(body);
        let streams = request.body["stream"] == true;
        let model = request.body["model"].clone();
        let (number, turn, content) = self.lock().take(request);
        if let Some(message) = turn.refusal {
            return connection.refuse(400, "invalid_request_error", message);
        }
        let whole = turn.message(number, &model, &content);
        if !streams {
            return connection.reply(200, &whole);
        }
        self.stream(connection, &turn, whole)
    }

    fn stream(&self, connection: &mut Connection, turn: &Turn, mut whole: Value) -> io::Result<()> {
        let content = whole["content"].take();
        let usage = whole["usage"].clone();
        let stop = json!({"stop_reason": whole["stop_reason"].take(), "stop_sequence": null});
        whole["content"] = json!([]);
        connection.stream()?;
        connection.event(&json!({"type": "message_start", "message": whole}))?;
        for (index, block) in content.as_array().into_iter().flatten().enumerate() {
            for event in events(index, block) {
                connection.event(&event)?;
            }
            if index == 0 && turn.held {
                self.wait();
            }
        }
        connection.event(&json!({"type": "message_delta", "delta": stop, "usage": usage}))?;
        connection.event(&json!({"type": "message_stop"}))?;
        connection.end()
    }

    /// Waits until the test releases it.
    fn wait(&self) {
        let mut state = self.lock();
        while state.held {
            state = self.released.wait(state).unwrap();
        }
    }
}

impl State {
    /// Remembers a request: the number of the reply, and the reply.
    fn take(&mut self, request: Request) -> (usize, Turn, Vec<Value>) {
        self.replies += 1;
        let number = self.replies;
        let turn = self.turn(request.kind);
        let pointer = request.pointers().pop();
        let content = turn.content(number, pointer.as_ref());
        if request.kind == Kind::Summary {
            self.summarized = self.said.len();
        }
        if request.kind == Kind::Main {
            self.receive(&request);
            self.say(&turn, &content, pointer, request.by());
        }
        self.held |= turn.held;
        self.requests.push(request);
        (number, turn, content)
    }

    fn turn(&mut self, kind: Kind) -> Turn {
        let turn = match kind {
            Kind::Main => self.turns.pop_front(),
            Kind::Subagent => self.subagent.pop_front(),
            Kind::Summary if self.failing => Some(refuses("it can't be summarized")),
            Kind::Summary => Some(Turn { held: self.holding, ..summary() }),
            Kind::Other => Some(says("fine")),
        };
        turn.unwrap_or_else(|| says(UNEXPECTED))
    }

    /// Takes the pages that were read from the request that brings them.
    fn receive(&mut self, request: &Request) {
        let outcomes = request.outcomes();
        let open = self.readings.iter_mut().filter(|reading| reading.outcomes.is_empty());
        for reading in open {
            // They come in the order in which they ended.
            let of = |id: &String| outcomes.iter().find(|outcome| outcome.id == *id).cloned();
            reading.outcomes = reading.calls.iter().filter_map(of).collect();
        }
    }

    /// Keeps what the agent says, and what it reads.
    fn say(&mut self, turn: &Turn, content: &[Value], pointer: Option<Pointer>, by: &str) {
        let words = content.iter().filter_map(|block| block["text"].as_str());
        // Behind the first block a held turn may be interrupted.
        let heard = if turn.held { 1 } else { content.len() };
        self.said.extend(words.take(heard).map(str::to_owned));
        if let (true, Some(pointer)) = (turn.reads(), pointer) {
            let calls = content.iter().filter(|block| block["name"] == "Read");
            self.readings.push(Reading {
                pointer,
                by: by.to_owned(),
                said: self.said[..self.summarized].to_vec(),
                calls: calls.filter_map(|call| call["id"].as_str()).map(str::to_owned).collect(),
                outcomes: Vec::new(),
            });
        }
    }
}

fn summary() -> Turn {
    says("<analysis>\nlooked at it\n</analysis>\n\n<summary>\nThe gist of it.\n</summary>")
}
