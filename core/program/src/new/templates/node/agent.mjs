// The agent my-agent: its prompt and its tools. `node agent.mjs --help` shows what else it can do.

import { main, tool } from 'agent-loop'

const wordCount = tool({
  name: 'word_count',
  description: 'Counts the words of a text.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: ({ text }) => text.split(/\s+/).filter(Boolean).length,
})

await main({
  name: 'my-agent',
  description: 'Answers questions about texts.',
  systemPrompt: 'You answer questions about texts. Count with your tool.',
  tools: [wordCount],
})
