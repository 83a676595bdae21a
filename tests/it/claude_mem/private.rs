//! Nothing private comes back through claude-mem's database.
use super::{START, session, with};

const ID: &str = "dddddddd-0000-4000-8000-00000000000d";

#[test]
fn row_08_private_text_in_the_database_stays_out_of_everything() {
    let hidden = [
        "<private>SECRET</private> shown",
        "shown <PRIVATE>SECRET</PRIVATE>",
        "shown <private>unclosed SECRET",
        "shown <private>a<private>b</private>SECRET</private>",
        "<system-reminder>SECRET</system-reminder>shown",
    ];
    let mut sql = session(ID, "claude", &[], &[]);
    for (number, text) in (1..).zip(hidden) {
        sql += &format!(
            "INSERT INTO user_prompts (session_db_id, content_session_id, prompt_number, prompt_text, \
             created_at, created_at_epoch) SELECT id, '{ID}', {number}, '{text} p{number}', '', \
             {START} + {number} FROM sdk_sessions WHERE content_session_id = '{ID}';\
             INSERT INTO observations (memory_session_id, project, type, title, subtitle, narrative, \
             facts, created_at, created_at_epoch) VALUES ('mem-claude-{ID}', 'app', 'discovery', \
             '{text} t{number}', '{text}', '{text} n. And.', '[\"{text}\"]', '', {START} + {number});\
             INSERT INTO session_summaries (memory_session_id, project, request, next_steps, created_at, \
             created_at_epoch) VALUES ('mem-claude-{ID}', 'app', '{text}', '{text}', '', {START});"
        );
    }
    let sandbox = with("store-13.25.3", &sql);
    let mut shown = sandbox.run(&["render", "dddd", "--stdout"]).stdout;
    assert!(shown.contains("shown") && shown.matches("> Session summary").count() == 5, "{shown}");
    assert!(shown.contains("0 unreadable lines · 30 texts"), "{shown}");
    for number in 4..9 {
        shown += &sandbox.run(&["expand", "dddd", &format!("#{number}")]).stdout;
        shown += &sandbox.run(&["expand", "dddd", &format!("#{number}"), "--json"]).stdout;
    }
    shown += &sandbox.run(&["list", "--all"]).stdout;
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[test]
fn row_08_a_prompt_kept_private_does_not_come_back_through_the_sessions_row() {
    let sql = session(ID, "claude", &[], &[(1, "an observation")])
        + &format!(
            "UPDATE sdk_sessions SET user_prompt = '<private>my SECRET</private>' WHERE \
             content_session_id = '{ID}';"
        );
    let sandbox = with("store-13.25.3", &sql);
    let bottle = sandbox.run(&["render", "dddd", "--stdout"]).stdout;
    assert!(bottle.contains("- [#4] an observation") && bottle.contains("none yet"), "{bottle}");
    let listed = sandbox.run(&["list", "--all", "--json"]).stdout;
    assert!(!(bottle + &listed).contains("SECRET"));
}

#[test]
fn words_of_the_host_that_were_stored_as_prompts_are_nobodys() {
    let notice = "<task-notification>\n<task-id>x</task-id>\n</task-notification>";
    let sandbox = with("store-13.25.3", &session(ID, "claude", &[(0, notice), (1, "mine")], &[]));
    let bottle = sandbox.run(&["render", "dddd", "--stdout"]).stdout;
    assert!(bottle.contains("covered: 1 user") && !bottle.contains("task-id"), "{bottle}");
}
