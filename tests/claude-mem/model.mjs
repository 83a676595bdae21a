// A model for claude-mem's observer, on loopback: it speaks the OpenAI protocol, and has something to say of every
// tool call that it is told of.

/** Starts it; its port. */
export function startModel() {
  let number = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const asked = await request.json().catch(() => ({}));
      number += 1;
      const content = answer(String(asked.messages?.at(-1)?.content ?? ""), number);
      const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content } };
      const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
      return Response.json({ id: `answer-${number}`, model: "stub", choices: [choice], usage });
    },
  });
  return server.port;
}

function answer(message, number) {
  if (message.includes("observed_from_primary_session")) return observation(number);
  if (/summar/i.test(message)) return summary(number);
  return '<skip_summary reason="nothing to say"/>';
}

function observation(number) {
  return `<observation><type>discovery</type><title>Call ${number} was looked at</title>
<subtitle>What came of it is told below.</subtitle><facts><fact>It is number ${number}.</fact></facts>
<narrative>Of call ${number} this can be said. More could be said as well.</narrative>
<concepts><concept>how-it-works</concept></concepts><files_read></files_read><files_modified></files_modified></observation>`;
}

function summary(number) {
  const parts = ["request", "investigated", "learned", "completed", "next_steps", "notes"];
  return `<summary>${parts.map((part) => `<${part}>${part} ${number}</${part}>`).join("")}</summary>`;
}
