"""tiny_model.py FILE: a language model of two layers with random weights, as GGUF.

It says nothing of sense, but a server runs it as it runs any other. Its vocabulary are all
bytes and a few words.
"""

import sys

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, HIDDEN, CONTEXT = 64, 2, 4, 128, 16384
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # types of tokens
TEMPLATE = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}{{ 'assistant: ' }}"


def vocabulary():
    tokens = [(b"<unk>", UNKNOWN), (b"<s>", CONTROL), (b"</s>", CONTROL)]
    tokens += [(b"<0x%02X>" % byte, BYTE) for byte in range(256)]
    tokens += [(("\u2581" + word).encode(), NORMAL) for word in ("Copy", "Compute", "GEMM", "")]
    return tokens


def describe(writer, tokens):
    writer.add_name("tiny random model")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(0)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)


def fill(writer, size):
    rng = np.random.default_rng(1)

    def random(name, *shape):
        writer.add_tensor(name + ".weight", (0.3 * rng.standard_normal(shape)).astype(np.float32))

    def ones(name):
        writer.add_tensor(name + ".weight", np.ones(WIDTH, np.float32))

    random("token_embd", size, WIDTH)
    ones("output_norm")
    random("output", size, WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        ones(block + "attn_norm")
        ones(block + "ffn_norm")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            random(block + name, WIDTH, WIDTH)
        random(block + "ffn_gate", HIDDEN, WIDTH)
        random(block + "ffn_up", HIDDEN, WIDTH)
        random(block + "ffn_down", WIDTH, HIDDEN)


def main():
    tokens = vocabulary()
    writer = gguf.GGUFWriter(sys.argv[1], "llama")
    describe(writer, tokens)
    fill(writer, len(tokens))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
