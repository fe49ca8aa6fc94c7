#!/usr/bin/env python3
"""Make a model file for llama.cpp that plays one fixed conversation with a calculator tool.

    make_model.py OUT.gguf        (needs requirements.txt)

A llama model with nothing learned in it. Token embeddings are one-hot and all of attention and feed-forward is zero, so the
hidden state is the last token's number and the output matrix is a table "after this token comes that one". A reply is a chain
of tokens; which reply it is, is decided by its first token, and the chat template writes that one as the end of the prompt:
it sees whether tools are offered, how many times the user has spoken, and whether a tool result came last.

So a server does everything it does for a large model (tokenizing, templating, sampling, streaming, reading tool calls out of
the text), in milliseconds, with a file of 2.5 MB and always the same answer.
"""
import sys

import gguf
import numpy as np

# First token -> the reply; `|` marks where one token ends and the next begins. A token has one successor in the whole table,
# so the same words are cut differently in each reply that has them.
#
# Argument order matters: the server lets through only what fits the tool's schema, which has operation, a, b in this order.
REPLIES = {
    "<|hello|>": "Hello|! I am a| very small| model| 🙂",
    "<|call_multiply|>": (
        '<tool_call>\n|{"name": "calculator", |"arguments": {"operation": |"multiply", "a": 15|, "b": 23|}}\n|</tool_call>'
    ),
    "<|tell_multiply|>": "15 multiplied| by 23| equals 345.",
    "<|call_divide|>": (
        '<tool_call>\n{|"name": "calculator"|, "arguments": {|"operation": "divide", "a": 345|, "b": 5|}}|\n</tool_call>'
    ),
    "<|tell_divide|>": "345 divided| by 5 equals| 69.",
}
START, END, PAD = "<|im_start|>", "<|im_end|>", "<|pad|>"

# The server learns from the template how tool calls are written (it renders examples and compares), so calls, results and
# tool lists have to be rendered properly although the model never looks at them.
CHAT_TEMPLATE = """
{%- macro turn(role, text) -%}
<|im_start|>{{ role }}
{{ text }}<|im_end|>
{% endmacro -%}
{%- if tools -%}
<|im_start|>system
You may call these functions:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
Call one by writing its name and arguments as JSON:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif -%}
{%- set seen = namespace(prompts=0, last='') -%}
{%- for message in messages -%}
  {%- set seen.last = message.role -%}
  {%- if message.role == 'user' -%}
    {%- set seen.prompts = seen.prompts + 1 -%}
  {%- endif -%}
  {%- if message.role == 'tool' -%}
{{ turn('user', '<tool_response>\\n' ~ message.content ~ '\\n</tool_response>') }}
  {%- elif message.role == 'assistant' -%}
<|im_start|>assistant
{% if message.content %}{{ message.content }}{% endif %}
    {%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
    {%- endfor -%}
<|im_end|>
{% else -%}
{{ turn(message.role, message.content) }}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% if not tools -%}
<|hello|>
  {%- elif seen.prompts < 2 -%}
{{ '<|tell_multiply|>' if seen.last == 'tool' else '<|call_multiply|>' }}
  {%- else -%}
{{ '<|tell_divide|>' if seen.last == 'tool' else '<|call_divide|>' }}
  {%- endif -%}
{%- endif -%}"""


def byte_characters():
    """How a byte-level BPE vocabulary writes each byte: itself if it is visible in Latin-1, else a letter from U+0100 on."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte if byte in visible else next(spare)) for byte in range(256)]


class Vocabulary:
    """Tokens by number, and the token that follows each."""

    def __init__(self):
        self.alphabet = byte_characters()
        self.texts, self.types, self.numbers, self.next = [], [], {}, {}
        for character in self.alphabet:  # every byte, so that any prompt can be tokenized
            self._add(character, gguf.TokenType.NORMAL)

    def _add(self, text, kind):
        if text in self.numbers:
            raise SystemExit(
                f"make_model.py: the token {text!r} would stand twice in REPLIES; cut one of the replies differently",
            )
        self.numbers[text] = len(self.texts)
        self.texts.append(text)
        self.types.append(kind)
        return self.numbers[text]

    def control(self, text):
        return self._add(text, gguf.TokenType.CONTROL)

    def piece(self, text):
        return self._add(self.spell(text), gguf.TokenType.NORMAL)

    def spell(self, text):
        return "".join(self.alphabet[byte] for byte in text.encode())


def build_vocabulary():
    vocabulary = Vocabulary()
    for text in (START, END, PAD):
        vocabulary.control(text)
    for first, reply in REPLIES.items():
        chain = [vocabulary.control(first), *map(vocabulary.piece, reply.split("|")), vocabulary.numbers[END]]
        vocabulary.next.update(zip(chain, chain[1:]))
    return vocabulary


def write(path, vocabulary):
    head = 16  # any even number that divides the width; attention adds nothing
    size = len(vocabulary.texts)
    width = (size + 31) // 32 * 32

    follows = np.zeros((size, width), np.float32)  # row: the token to come, column: the token that stands
    for token in range(size):
        # 50 against 0: certain at any temperature. Whatever is not in a reply ends the message.
        follows[vocabulary.next.get(token, vocabulary.numbers[END]), token] = 50
    # Where a schema forbids the reply, the server asks for the next best token: close what is open, so that a wrong call comes
    # immediately. Without this it would be digits until the context is full.
    closing = ['"', "</tool_call>", vocabulary.spell("\n</tool_call>"), "}", ",", ":"]
    for weight, token in enumerate(reversed(closing), 1):
        row = follows[vocabulary.numbers[token]]
        np.maximum(row, weight, out=row)

    gguf_file = gguf.GGUFWriter(path, "llama")
    gguf_file.add_name("tiny")
    gguf_file.add_file_type(gguf.LlamaFileType.ALL_F32)
    gguf_file.add_context_length(8192)
    gguf_file.add_block_count(1)
    gguf_file.add_embedding_length(width)
    gguf_file.add_feed_forward_length(32)
    gguf_file.add_head_count(width // head)
    gguf_file.add_head_count_kv(width // head)
    gguf_file.add_rope_dimension_count(head)
    gguf_file.add_layer_norm_rms_eps(1e-5)
    gguf_file.add_vocab_size(size)
    gguf_file.add_tokenizer_model("gpt2")
    gguf_file.add_tokenizer_pre("gpt-2")
    gguf_file.add_token_list(vocabulary.texts)
    gguf_file.add_token_types(vocabulary.types)
    gguf_file.add_token_merges([" ".join(vocabulary.alphabet[:2])])  # must exist; makes no token that we have
    gguf_file.add_bos_token_id(vocabulary.numbers[START])
    gguf_file.add_eos_token_id(vocabulary.numbers[END])
    gguf_file.add_pad_token_id(vocabulary.numbers[PAD])
    gguf_file.add_add_bos_token(False)
    gguf_file.add_chat_template(CHAT_TEMPLATE)

    gguf_file.add_tensor("token_embd.weight", np.eye(size, width, dtype=np.float32))
    gguf_file.add_tensor("output_norm.weight", np.ones(width, np.float32))
    gguf_file.add_tensor("output.weight", follows)
    for norm in ("attn_norm", "ffn_norm"):
        gguf_file.add_tensor(f"blk.0.{norm}.weight", np.ones(width, np.float32))
    shapes = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (width, width))
    shapes |= {"ffn_gate": (32, width), "ffn_up": (32, width), "ffn_down": (width, 32)}
    for name, shape in shapes.items():
        gguf_file.add_tensor(f"blk.0.{name}.weight", np.zeros(shape, np.float32))

    gguf_file.write_header_to_file()
    gguf_file.write_kv_data_to_file()
    gguf_file.write_tensors_to_file()
    gguf_file.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: make_model.py OUT.gguf")
    write(sys.argv[1], build_vocabulary())
