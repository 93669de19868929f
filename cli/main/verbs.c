/* verbs.c: the table of verbs and their options. */
#include "main/options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FIELD(f) offsetof(struct options, f)
#define FLAG(letter, name, f, help)                                                                \
    {                                                                                              \
        letter, name, OPTION_FLAG, FIELD(f), NULL, help, NULL, HEFT_RULE_GLOB, NULL, NULL          \
    }
#define TEXT(letter, name, f, value, choices, help)                                                \
    {                                                                                              \
        letter, name, OPTION_TEXT, FIELD(f), value, help, choices, HEFT_RULE_GLOB, NULL, NULL      \
    }
#define KIND(letter, name, kind, f, value, help)                                                   \
    {                                                                                              \
        letter, name, kind, FIELD(f), value, help, NULL, HEFT_RULE_GLOB, NULL, NULL                \
    }
#define CHOICE(letter, name, rule, split, value, choices, help)                                    \
    {                                                                                              \
        letter, name, OPTION_RULE, FIELD(rules), value, help, choices, rule, split, NULL           \
    }
#define RULE(letter, name, rule, split, value, help)                                               \
    CHOICE(letter, name, rule, split, value, NULL, help)
#define END                                                                                        \
    {                                                                                              \
        0, NULL, OPTION_FLAG, 0, NULL, NULL, NULL, HEFT_RULE_GLOB, NULL, NULL                      \
    }

static const struct option_spec common[] = {
    FLAG('h', "help", help, "print this help and exit"),
    FLAG('q', "quiet", quiet, "print neither progress nor notes"),
    FLAG(0, "no-progress", no_progress, "do not print progress"),
    TEXT(0, "color", color, "WHEN", "auto|always|never", "colors: auto, always or never"),
    FLAG(0, "no-sandbox", no_sandbox, "do not confine the process to its files"),
    END,
};
static const struct option_spec top[] = {
    FLAG(0, "version", version, "print the version and exit"),
    FLAG(0, "verbose", verbose, "with --version: whether the kernel can confine heft"),
    END,
};
static const struct option_spec reading[] = {
    TEXT(0, "from", from, "FORMAT", "@reads", "read INPUT as FORMAT, whatever its content is"),
    KIND('j', "threads", OPTION_NUMBER, threads, "N", "use at most N threads"),
    KIND('M', "memory", OPTION_SIZE, memory, "SIZE", "at most one thread for each 8 MiB of SIZE"),
    TEXT(0, "io", io, "HOW", "auto|pread|mmap", "how to read files; all values mean pread"),
    END,
};
/* Options for reading; those that formats describe come before them: verb_option_at. */
static const struct option_spec choosing[] = {
    KIND(0, "max-unpacked", OPTION_SIZE, max_unpacked, "SIZE",
         "limit of the decompressed data of a file"),
    END,
};
static const struct option_spec selection[] = {
    RULE('g', "glob", HEFT_RULE_GLOB, NULL, "GLOB",
         "select tensors whose name matches; !GLOB excludes them"),
    RULE('e', "regex", HEFT_RULE_REGEX, NULL, "REGEX",
         "select tensors whose name matches (POSIX extended)"),
    TEXT(0, "root", root, "PATH", NULL, "select the sub-dictionary PATH; names lose this path"),
    END,
};
static const struct option_spec ruling[] = {
    CHOICE(0, "rules", HEFT_RULE_FILE, NULL, "FILE", "@files",
           "apply a rules file, or a preset; list: print the presets"),
    RULE(0, "set", HEFT_RULE_SET, "=", "K=N", "set the variable K of the rules files"),
    FLAG(0, "reverse", reverse, "apply the rules files in reverse"),
    END,
};
static const struct option_spec document[] = {
    FLAG(0, "json", json, "print one JSON document"),
    END,
};

#define SPLIT_PATTERN                                                                              \
    TEXT(0, "pattern", split_pattern, "NAME", NULL,                                                \
         "split pattern, if VOCAB does not state one: gpt4, llama3, …, or a regex"),               \
        TEXT(0, "normalize", normalize, "HOW", "none", "none: do not normalize texts")
#define SPECIAL                                                                                    \
    FLAG(0, "special", special, "special tokens in the text become their ids (default: text)")
static const struct option_spec vocabulary[] = {
    TEXT(0, "vocab", vocab, "PATH", "@files",
         "directory, tokenizer.json, .tiktoken or vocab.bpe (default GPT-2's)"),
    SPLIT_PATTERN,
    END,
};
static const struct option_spec splitting[] = {
    SPECIAL,
    TEXT(0, "unicode", unicode, "VERSION", NULL,
         "version of Unicode for letters and numbers: 9.0 … 17.0"),
    END,
};

static const struct option_spec info_own[] = {
    FLAG('a', "all", all, "print every value in full"),
    TEXT(0, "html", html, "PAGE", "@files", "write a page for a browser: modules, files, tensors"),
    FLAG('f', "force", overwrite, "with --html: replace an existing file"),
    FLAG(0, "no-sync", no_sync, "with --html: do not wait until the data is on the disk"),
    END,
};
static const struct option_spec ls_own[] = {
    TEXT(0, "sort", sort, "KEY", "name|size|offset|file",
         "sort by name, size (largest first), offset or file"),
    FLAG(0, "jsonl", jsonl, "print one JSON object per line and tensor"),
    FLAG(0, "tsv", tsv, "print tab-separated: name dtype shape bytes file offset"),
    FLAG('a', "all", all, "also list values that are bytes, and blobs"),
    END,
};
static const struct option_spec tree_own[] = {
    KIND(0, "depth", OPTION_COUNT, depth, "N", "print only the first N components of names"),
    END,
};
static const struct option_spec explain_own[] = {
    FLAG(0, "trace", trace, "trace a pickle, opcode by opcode"),
    FLAG(0, "state", state, "with --trace: stack, metastack and memo after each opcode"),
    TEXT(0, "at", at, "N", NULL,
         "with --trace: only the opcode at position N, with the complete state"),
    TEXT(0, "range", range, "A:B", NULL,
         "with --trace: only opcodes from A up to, but not including, B"),
    TEXT(0, "record", record, "NAME", NULL, "with --trace: another pickle of an archive"),
    FLAG(0, "jsonl", jsonl, "with --trace: one JSON object per line"),
    TEXT(0, "tokens", tokens, "TEXT", NULL, "print how TEXT is encoded: words, merges, ids"),
    FLAG(0, "restore", restore, "print how a SavedModel is restored: variable, key, bytes"),
    TEXT(0, "tag-set", tag_set, "TAGS", NULL, "with --restore: the metagraph with these tags"),
    END,
};
static const struct option_spec writing[] = {
    TEXT('o', "output", output, "PATH", "@files", "file or directory to write"),
    FLAG('f', "force", overwrite, "replace existing files"),
    FLAG(0, "no-sync", no_sync, "do not wait until the data is on the disk"),
    FLAG(0, "no-verify", no_verify, "do not check stored checksums"),
    END,
};
static const struct option_spec writing_text[] = {
    TEXT('o', "output", output, "PATH", "@files", "file to write (default standard output)"),
    FLAG('f', "force", overwrite, "replace existing files"),
    FLAG(0, "no-sync", no_sync, "do not wait until the data is on the disk"),
    END,
};
static const struct option_spec get_own[] = {
    TEXT(0, "slice", slice, "RANGES", NULL, "a part of the tensor, in Python's syntax: 0:10,:,3"),
    TEXT(0, "cast", cast, "DTYPE", "@dtypes", "cast to DTYPE: F32, bf16, float16, …"),
    TEXT(0, "root", root, "PATH", NULL, "NAME is below the sub-dictionary PATH"),
    TEXT(0, "tag-set", tag_set, "TAGS", NULL,
         "SavedModel: the meta graph with these tags (serve,gpu)"),
    FLAG(0, "signature", signature, "signature:KEY as the JSON Schema of its predict requests"),
    END,
};
static const struct option_spec digest_own[] = {
    FLAG(0, "files", files, "digests of the files, as sha256sum prints them"),
    FLAG('a', "all", all, "also digests of blobs"),
    END,
};
static const struct option_spec verify_own[] = {
    TEXT(0, "against", against, "LIST", "@files",
         "also compare with digests: of heft digest, SHA256SUMS, or hub"),
    FLAG(0, "strict", strict, "treat notes as findings"),
    END,
};
static const struct option_spec stats_own[] = {
    TEXT(0, "fail-on", fail_on, "LIST", NULL, "exit 1 if a tensor has any of LIST: nan,inf,zero"),
    FLAG(0, "jsonl", jsonl, "print one JSON object per line and tensor"),
    END,
};
static const struct option_spec diff_own[] = {
    FLAG(0, "structure", structure, "compare names, dtypes and shapes; read no data"),
    TEXT(0, "atol", atol, "X", NULL, "equal if |a - b| <= X + Y * |b|, as numpy.allclose"),
    TEXT(0, "rtol", rtol, "Y", NULL, "the same; without both, values are compared bit for bit"),
    FLAG(0, "metadata", metadata, "also compare metadata and values"),
    RULE(0, "rename", HEFT_RULE_RENAME, "=>", "RE=>TO",
         "in names of A, replace matches of RE by TO (\\1 \\2 …)"),
    END,
};
/* Of convert and plan. */
static const struct option_spec converting[] = {
    TEXT(0, "to", to, "FORMAT", "@writes", "format to write (default by the extension of PATH)"),
    KIND(0, "max-shard-size", OPTION_SHARD, max_shard_size, "SIZE", "split into files of SIZE"),
    RULE(0, "partition", HEFT_RULE_PARTITION, "=", "GLOB=HOW",
         "tf, torch-dcp, dcp-hf: write as slices: AXIS:N, keep or whole"),
    TEXT(0, "filename-pattern", pattern, "PATTERN", NULL,
         "names of shards: model{suffix}.safetensors"),
    RULE(0, "rename", HEFT_RULE_RENAME, "=>", "RE=>TO", "replace matches of RE by TO (\\1 \\2 …)"),
    CHOICE(0, "cast", HEFT_RULE_CAST, "=", "GLOB=DTYPE", "@dtypes",
           "cast matching tensors to DTYPE"),
    KIND(0, "dequantize", OPTION_MAYBE, dequantize, "DTYPE",
         "replace quantized weights by their values: BF16, F16 or F32"),
    FLAG(0, "ignore-scales", ignore_scales, "cast 8-bit floats without their scales"),
    TEXT(0, "gptq-zero", gptq_zero, "HOW", NULL,
         "GPTQ: read zero points beyond their bits as 0 (wrap) or 2^bits (carry)"),
    RULE(0, "keep-tied", HEFT_RULE_KEEP_TIED, NULL, "GLOB",
         "safetensors: which of tied names is kept (default the first)"),
    FLAG(0, "allow-empty", allow_empty, "allow a file without tensors"),
    RULE(0, "metadata", HEFT_RULE_METADATA, "=", "K=V", "add to the file's metadata"),
    RULE(0, "drop-metadata", HEFT_RULE_DROP_METADATA, NULL, "GLOB",
         "leave out the metadata of INPUT whose keys match"),
    FLAG(0, "strict", strict, "treat unsupported strings and bytes after an array as errors"),
    END,
};
static const struct option_spec convert_own[] = {
    FLAG('n', "dry-run", dry_run, "print the plan, but write nothing"),
    FLAG(0, "verify", verify, "read the result again and compare it with INPUT"),
    FLAG(0, "salvage", salvage, "recover intact tensors of a damaged INPUT, list lost ones"),
    END,
};
static const struct option_spec plan_own[] = {
    KIND(0, "parts", OPTION_COUNT, parts, "N", "number of parts, at most 4096 (default 1)"),
    END,
};
static const struct option_spec run_own[] = {
    TEXT(0, "part", part, "K/N", NULL, "the part to run, from 1/N to N/N"),
    KIND('j', "threads", OPTION_NUMBER, threads, "N", "use at most N threads"),
    KIND('M', "memory", OPTION_SIZE, memory, "SIZE", "at most one thread for each 8 MiB of SIZE"),
    END,
};
static const struct option_spec commit_own[] = {
    FLAG(0, "verify", verify, "read the result again and compare it with the inputs"),
    KIND('j', "threads", OPTION_NUMBER, threads, "N", "with --verify: use at most N threads"),
    END,
};
/* Placeholder for the options of targets that formats describe: verb_option_at. */
static const struct option_spec of_formats[] = {END};
static const struct option_spec scan_own[] = {
    KIND(0, "allow", OPTION_LIST, allow, "GLOB", "also allow names that match"),
    TEXT(0, "fail-on", fail_on, "CLASS", "unknown|danger",
         "exit 1 on unknown and danger (default), or on danger only"),
    FLAG(0, "quiet-allowed", quiet_allowed, "do not print allowed items (default on a terminal)"),
    FLAG(0, "all", all, "print all items, also on a terminal"),
    FLAG(0, "json", json, "print one JSON document"),
    END,
};

static const struct option_spec train_own[] = {
    TEXT('o', "output", output, "PATH", "@files", "directory to write, or the file of subword-nmt"),
    KIND(0, "vocab-size", OPTION_COUNT, vocab_size, "N",
         "number of ids, including the 256 bytes and special tokens"),
    KIND(0, "min-frequency", OPTION_COUNT, min_frequency, "N",
         "do not merge pairs that are rarer (default 2)"),
    TEXT(0, "style", style, "STYLE", "bytes|subword-nmt",
         "bytes, as GPT-2, or subword-nmt, the codes of learn_bpe"),
    KIND(0, "symbols", OPTION_COUNT, symbols, "N",
         "with subword-nmt: number of merges (default 10000)"),
    TEXT(0, "pattern", split_pattern, "NAME", NULL,
         "split pattern: the name of a family, or a regular expression (default gpt2)"),
    KIND(0, "special", OPTION_LIST, specials, "TOKEN",
         "add a special token (several times; default <|endoftext|>)"),
    TEXT(0, "jsonl", jsonl_key, "KEY", NULL,
         "each line is a JSON object; its text is the string KEY"),
    TEXT(0, "unicode", unicode, "VERSION", NULL,
         "version of Unicode for letters and numbers: 9.0 to 17.0"),
    FLAG('f', "force", overwrite, "replace existing files"),
    FLAG(0, "no-sync", no_sync, "do not wait until the data is on the disk"),
    KIND('j', "threads", OPTION_NUMBER, threads, "N", "use at most N threads"),
    KIND('M', "memory", OPTION_SIZE, memory, "SIZE",
         "limit of the memory for words and pairs (default 4GiB)"),
    FLAG(0, "json", json, "print a summary as one JSON document"),
    END,
};
static const struct option_spec tokens_own[] = {
    TEXT(0, "vocab", vocab, "PATH", "@files",
         "directory, tokenizer.json, .tiktoken or vocab.bpe (default GPT-2's)"),
    SPLIT_PATTERN,
    TEXT(0, "model_name", model, "MODEL", NULL, "the vocabulary in models/MODEL"),
    SPECIAL,
    TEXT(0, "encoding", encoding, "NAME", NULL,
         "encoding of the text: utf-8 (default), latin-1, utf-16, …"),
    TEXT(0, "errors", errors, "HOW", "strict|replace|skip",
         "undecodable text: an error (default), replace by U+FFFD, or skip the JSON line"),
    TEXT(0, "jsonl", jsonl_key, "KEY", NULL,
         "each line is a JSON object; its text is the string KEY, or a.b in nested objects"),
    TEXT(0, "files-from", files_from, "FILE", "@files",
         "read more INPUTs from FILE (- is standard input), one a line or NUL-terminated"),
    TEXT(0, "unicode", unicode, "V", NULL,
         "version of Unicode for letters and numbers: 9.0 to 17.0 (default that of VOCAB's "
         "library)"),
    FLAG(0, "allow-empty", allow_empty, "accept an INPUT that matches nothing"),
    KIND('j', "threads", OPTION_NUMBER, threads, "N", "use at most N threads"),
    END,
};
static const struct option_spec decode_own[] = {
    TEXT(0, "eot-token", eot_token, "TOKEN", NULL, "the token given to encode, by its id"),
    TEXT(0, "dtype", id_dtype, "DTYPE", "u16|u32",
         "size of an id, 2 or 4 bytes, if a file does not state it"),
    END,
};
static const struct option_spec encode_own[] = {
    TEXT('o', "output", output, "PATH", "@files", "file or directory to write"),
    TEXT(0, "format", format, "FORMAT", "npz|npy|bin|llmc|megatron|ids|ds",
         "format to write (default by the extension of PATH)"),
    KIND(0, "combine", OPTION_COMBINE, combine, "CHARS",
         "end an array when it has CHARS characters (default 50000)"),
    TEXT(0, "eot", eot, "HOW", "text|id|none",
         "separator of documents: <|endoftext|> as text (default), its id, or nothing"),
    TEXT(0, "eot-token", eot_token, "TOKEN", NULL,
         "token of --eot id, by its text or id (default <|endoftext|>)"),
    TEXT(0, "rejects", rejects, "FILE", "@files",
         "with --errors skip: write the skipped lines and the reasons"),
    TEXT(0, "lengths", lengths, "FILE", "@files",
         "write the end of each document, in tokens, beside bin, npy, llmc"),
    TEXT(0, "dtype", id_dtype, "DTYPE", "u16|u32",
         "size of an id, 2 or 4 bytes, but in npz and ids (default 2 if all fit)"),
    FLAG(0, "eot-each", eot_each, "npz with --eot id: also after a document that ends an array"),
    FLAG(0, "eot-before", eot_before, "with --eot id: before each document"),
    FLAG(0, "sort", sort_inputs, "sort files by name (default the order of the system)"),
    TEXT(0, "part", part, "K/N", NULL,
         "encode part K of N of the inputs, by bytes; heft join joins the parts"),
    KIND(0, "shard-tokens", OPTION_COUNT, shard_tokens, "N", "begin a new file after N tokens"),
    KIND(0, "window", OPTION_COUNT, window, "N",
         "bin, npy: windows of N tokens; those after the last window are dropped"),
    KIND(0, "stride", OPTION_COUNT, stride, "M",
         "with --window: begin each window M tokens after the one before (default N)"),
    TEXT(0, "val-fraction", val_fraction, "X", NULL,
         "write this fraction of the documents to a validation file"),
    FLAG(0, "resume", resume, "resume an interrupted run"),
    KIND(0, "checkpoint", OPTION_SIZE, checkpoint, "SIZE",
         "bytes of INPUT between checkpoints (default 256MiB)"),
    FLAG('n', "dry-run", dry_run, "print what would be read and written, but write nothing"),
    FLAG('f', "force", overwrite, "replace existing files"),
    FLAG(0, "no-sync", no_sync, "do not wait until the data is on the disk"),
    END,
};
static const struct option_spec join_own[] = {
    TEXT('o', "output", output, "PATH", "@files", "file to write"),
    TEXT(0, "format", format, "FORMAT", "npy|bin|llmc|megatron|ids|ds",
         "format of the parts (default by PATH and the first PART)"),
    TEXT(0, "dtype", id_dtype, "DTYPE", "u16|u32", "bin: size of an id, 2 or 4 bytes"),
    FLAG('f', "force", overwrite, "replace existing files"),
    FLAG(0, "no-sync", no_sync, "do not wait until the data is on the disk"),
    END,
};
static const struct option_spec count_own[] = {
    FLAG(0, "each", each, "print one line per INPUT"),
    END,
};

#define ANY SIZE_MAX

const struct verb verbs[] = {
    {"info",
     "print a summary of a checkpoint",
     "INPUT… [options]",
     "  heft model.pth                     format, tensors, dtypes, metadata, values\n"
     "  heft info --all checkpoint.ckpt    all hyper-parameters in full\n"
     "  heft info --json model.safetensors | jq .parameters\n"
     "  heft info model.pth --html model.html      to look at it in a browser\n",
     NULL,
     {info_own, document, reading, choosing, selection, common},
     1,
     ANY,
     cmd_info},
    {"ls",
     "print one line per tensor: name, dtype, shape, bytes, file and offset",
     "INPUT… [options]",
     "  heft ls model.pth                      every tensor, in file order\n"
     "  heft ls model.pth -g '*.bias' --sort size\n"
     "  heft ls --tsv models/ | cut -f1,3      names and shapes of a sharded model\n"
     "  heft ls --json model.safetensors | jq '.tensors[].name'\n",
     "Remarks at the end of a line: strides [1,4], storage 3 (shared by all tensors with that\n"
     "number), deflate, big-endian, conjugated, negated. For a tensor that is stored in parts\n"
     "the line has their number; --json lists each part.\n",
     {ls_own, ruling, document, selection, reading, choosing, common},
     1,
     ANY,
     cmd_ls},
    {"tree",
     "print the tree of modules, with parameters and bytes",
     "INPUT… [options]",
     "  heft tree model.pth\n"
     "  heft tree model.safetensors --depth 2\n"
     "  heft tree last.ckpt --root state_dict -g 'layers.*'\n"
     "  heft tree --json model.safetensors | jq '.. | select(.count? > 1) | .name'\n",
     "Names are split at dots, those of TensorFlow and HDF5 files at slashes. Numbered siblings\n"
     "with equal names, dtypes and shapes are folded: layers.0 … layers.31  (32 ×); the figures\n"
     "of the line, and of those below it, are those of one of them. Tied tensors are counted at\n"
     "their first name.\n",
     {tree_own, document, selection, reading, choosing, common},
     1,
     ANY,
     cmd_tree},
    {"explain",
     "print the meaning of every range of bytes of a file",
     "INPUT… [options]",
     "  heft explain model.pth\n"
     "  heft explain --json model.safetensors | jq '.segments[] | select(.claimed|not)'\n"
     "  heft explain --trace model.pth | less        its pickle, opcode by opcode\n"
     "  heft explain --trace model.pth --at 136      stack, metastack and memo there\n"
     "  heft explain --restore saved_model/          restore op → bytes of each variable\n"
     "  heft explain --tokens 'hello there'          merges in order, and ids\n",
     "Ranges that heft does not understand are marked ??. --trace prints what unpickling would\n"
     "do, and how each tensor leads to its bytes. --restore prints what loading a SavedModel of\n"
     "TensorFlow does with its checkpoint. Nothing is executed.\n",
     {explain_own, vocabulary, splitting, document, reading, choosing, common},
     0,
     ANY,
     cmd_explain},
    {"get",
     "print or extract one tensor, a slice of it, or a value",
     "INPUT… NAME [-o PATH] [options]",
     "  heft get model.pth embed.weight                      as numpy prints it\n"
     "  heft get model.pth embed.weight -o embed.npy\n"
     "  heft get model.pth embed.weight --slice '0:10,:' -o head.npy\n"
     "  heft get model.pth embed.weight -o - | sha256sum     raw row-major bytes\n"
     "  heft get checkpoint.ckpt hyper_parameters.lr         a value, on standard output\n",
     "Without -o a tensor is printed as numpy prints it: of more than 1000 elements the first and\n"
     "last three of each long dimension, and only these are read. A value is printed as Python\n"
     "prints it, but strings and bytes verbatim if standard output is not a terminal.\n"
     "With -o a tensor is written as .npy if PATH ends in .npy, else as raw bytes, row-major and\n"
     "little-endian; - is standard output. A value is written as JSON, strings and bytes "
     "verbatim.\n",
     {writing, get_own, document, reading, choosing, common},
     2,
     ANY,
     cmd_get},
    {"verify",
     "check structure and checksums, find hidden bytes, compare an index with its shards",
     "INPUT… [options]",
     "  heft verify model.pth\n"
     "  heft verify --strict models/           notes are findings, too\n"
     "  heft verify model/ --against model/SHA256SUMS\n"
     "  heft verify model.pth --against tensors.txt     a list that heft digest printed\n"
     "  heft verify ~/.cache/huggingface/hub/*gpt2 --against hub\n",
     "Exit status 1 if there is a finding, a violation of the format. Something unusual is a\n"
     "note. With --against what differs from LIST, is missing or is not in it is a finding; hub\n"
     "compares the blobs of a Hugging Face cache with their names.\n",
     {verify_own, document, reading, choosing, common},
     1,
     ANY,
     cmd_verify},
    {"stats",
     "print minimum, maximum, mean and other figures of each tensor",
     "INPUT… [options]",
     "  heft stats model.pth                        a line per tensor\n"
     "  heft stats model.pth -g '*.weight' --json\n"
     "  heft stats --fail-on nan,inf checkpoint.pt -q >/dev/null || echo broken\n",
     "The figures are those of the finite elements: minimum, maximum, mean, standard deviation\n"
     "of the population, largest magnitude, and the number of zeros. NaN and infinities are\n"
     "counted. The result does not depend on the number of threads.\n",
     {stats_own, document, selection, reading, choosing, common},
     1,
     ANY,
     cmd_stats},
    {"digest",
     "print the SHA-256 of each tensor, the same in every format, or of each file",
     "INPUT… [options]",
     "  heft digest model.pth > tensors.txt\n"
     "  heft verify model.safetensors --against tensors.txt     the same tensors?\n"
     "  heft digest --files model/ | sha256sum -c\n"
     "  heft digest --json -g '*.weight' model.safetensors\n",
     "A line is HEX  NAME  DTYPE  [SHAPE]: the SHA-256 of the tensor's row-major, little-endian\n"
     "bytes; of strings, of the length of each (8 bytes, little-endian) and its bytes. If a name\n"
     "has a backslash or a control character, the line begins with a backslash and the name has\n"
     "the escapes \\\\, \\n, \\r and \\xHH. With --all a blob has BLOB and its bytes in place of "
     "DTYPE\n"
     "and SHAPE.\n",
     {digest_own, document, selection, reading, choosing, common},
     1,
     ANY,
     cmd_digest},
    {"scan",
     "report what loading a model would import, call and execute",
     "INPUT… [options]",
     "  heft scan download.bin\n"
     "  heft scan hub-model/\n"
     "  heft scan --allow 'mylib.*' --fail-on danger checkpoint.ckpt\n",
     "In a directory every file is scanned. Nothing is executed. Exit status 1 if anything is\n"
     "unknown or a danger. --allow allows unknown names that match, and a danger only if GLOB is\n"
     "its whole name. The last line counts files that were not judged.\n",
     {scan_own, reading, common},
     1,
     ANY,
     cmd_scan},
    {"diff",
     "compare the tensors of two checkpoints, of any formats",
     "A B [options]",
     "  heft diff model.pth model.safetensors\n"
     "  heft diff old/ new/ --structure                  names, dtypes and shapes only\n"
     "  heft diff model.pth half.safetensors --rtol 1e-2 --atol 1e-3\n"
     "  heft diff last.ckpt model.safetensors --root state_dict --rename '^model\\.=>'\n"
     "  heft diff a.pt b.pt --json | jq '.differ[] | {name, max_abs}'\n",
     "- NAME is only in A, + NAME only in B, ~ NAME differs. The last line counts the names.\n"
     "Exit status 0 if the checkpoints are equal, 1 if they differ, 2 on error.\n",
     {diff_own, ruling, selection, document, reading, choosing, common},
     2,
     2,
     cmd_diff},
    {"convert",
     "write the tensors in another format, split, merged, renamed, cast",
     "INPUT… -o PATH [options]",
     "  heft convert model.pth -o model.safetensors\n"
     "  heft convert model.pth -o out/ --max-shard-size 5GB --verify\n"
     "  heft convert shards/ -o one.safetensors                     merge\n"
     "  heft convert model.safetensors -o model.pth                 as torch.save writes it\n"
     "  heft convert last.ckpt --root state_dict -o model.safetensors\n"
     "  heft convert model.pth -o half.safetensors --cast '*=F16' --rename '^model\\.=>'\n"
     "  heft convert model.pth -o out/ --max-shard-size 5GB --dry-run --json\n"
     "  heft convert model.safetensors -o ckpt/model --to tf       as SaveV2 writes it\n"
     "  heft convert new.safetensors --into saved_model -o new_model\n"
     "  heft convert gpt2/ -o gpt2.safetensors --rules my.rules     names and layouts by rules\n"
     "  heft convert --salvage broken.pth -o rest.safetensors       recover a truncated download\n",
     "PATH is a directory if it ends in /, if it is an existing directory, or if\n"
     "--max-shard-size is given and it has no known extension. 5GB is 5·10^9 bytes, 5GiB is\n"
     "5·2^30. With --salvage the exit status is 1 if anything is lost.\n",
     {writing, converting, ruling, convert_own, of_formats, selection, document, reading, choosing,
      common},
     1,
     ANY,
     cmd_convert},
    {"plan",
     "plan a conversion in parts, for several processes or machines",
     "INPUT… -o PATH --parts N [options] > JOB",
     "  heft plan model.pth -o out/ --max-shard-size 5GB --parts 4 > job.plan\n"
     "  seq 4 | xargs -P4 -I% heft run job.plan --part %/4\n"
     "  heft commit job.plan\n",
     "Prints the plan: the options, the inputs, the files to write, and what each part reads.\n"
     "Paths become absolute, so that parts can run in other directories and on other machines.\n"
     "The options are those of heft convert. Nothing is written.\n",
     {writing, plan_own, converting, ruling, of_formats, selection, reading, choosing, common},
     1,
     ANY,
     cmd_plan},
    {"run",
     "write a part of a planned conversion",
     "JOB --part K/N [options]",
     "  heft run job.plan --part 1/4\n"
     "  srun heft run job.plan --part $((SLURM_ARRAY_TASK_ID))/4\n",
     "Writes into temporary files beside the outputs, and leaves a receipt there. Parts may run\n"
     "in any order, at the same time, and again: a part that is done has nothing to do.\n",
     {run_own, common},
     1,
     1,
     cmd_run},
    {"commit",
     "complete a planned conversion once all parts have run",
     "JOB [options]",
     "  heft commit job.plan\n"
     "  heft commit job.plan --verify\n",
     "Checks the receipts of all parts and stored checksums, writes what depends on them, and\n"
     "gives the files their names. If a part has not run, or an input has changed since, nothing\n"
     "is renamed. Prints the files.\n",
     {commit_own, common},
     1,
     1,
     cmd_commit},
    {"abort",
     "delete the temporary files of a planned conversion",
     "JOB",
     "  heft abort job.plan\n",
     "Deletes temporary files and receipts of this plan, and nothing else: their names have its\n"
     "id. Parts that still run fail or leave files: stop them first.\n",
     {common},
     1,
     1,
     cmd_abort},
    {"encode",
     "encode text to files of GPT-2's tokens",
     "INPUT… -o PATH [options]",
     "  heft encode books/ -o books.npz                 as encode.py does\n"
     "  heft encode 'texts/*.txt' -o train.bin --eot id     for nanoGPT\n"
     "  heft encode posts.jsonl.zst --jsonl text -o data/ --format bin --val-fraction 0.01\n"
     "  cat book.txt | heft encode - -o book --format megatron\n",
     "INPUT is a file, a directory, a pattern or -, standard input; .gz and .zst are\n"
     "decompressed, and arrays of an .npz are copied. PATH without an extension gets .npz; - is\n"
     "standard output, for bin and ids. With --shard-tokens or --val-fraction the files are\n"
     "PATH_000000.bin …, PATH_train.bin and PATH_val.bin. If PATH is a directory, DIR/, which is\n"
     "created if necessary, they are tokens.npz, train.bin … in it.\n",
     {encode_own, tokens_own, document, common},
     1,
     ANY,
     cmd_encode},
    {"join",
     "join files of tokens to one",
     "PART… -o PATH [options]",
     "  heft join part-1.bin part-2.bin -o train.bin\n"
     "  heft join parts/*.npy -o all.npy\n"
     "  heft join a.idx b.idx -o corpus --format megatron\n",
     "Parts are of one format and have ids of one size; they are joined in the order given. The\n"
     "files beside Megatron's .bin and datatrove's .ds are joined, too. Parts of heft encode with\n"
     "consecutive inputs, or with --part 1/N to N/N, give the file of one run.\n",
     {join_own, document, common},
     1,
     ANY,
     cmd_join},
    {"decode",
     "decode files of tokens to text",
     "INPUT… [-o PATH] [options]",
     "  heft decode book.npz | head\n"
     "  heft decode train.bin -o train.txt\n"
     "  heft decode --vocab tokenizer.json corpus.idx\n",
     "INPUT is .npz or .npy (integers), llm.c's .bin, Megatron's .idx or .bin, decimal numbers,\n"
     "or a binary stream of ids of 2 bytes (4 if the vocabulary has more than 65536); the format\n"
     "is detected from the content. - is standard input. Arrays are joined. Bytes that are not\n"
     "UTF-8 become U+FFFD.\n",
     {writing_text, decode_own, vocabulary, common},
     1,
     ANY,
     cmd_decode},
    {"count",
     "count the tokens of a text",
     "INPUT… [options]",
     "  heft count book.txt\n"
     "  heft count --each chapters/*.txt\n",
     "Counts the tokens of the text, without separators between documents.\n",
     {count_own, tokens_own, document, common},
     1,
     ANY,
     cmd_count},
    {"train",
     "train a vocabulary on texts",
     "INPUT… -o DIR --vocab-size N [options]",
     "  heft train corpus/ -o vocabulary/ --vocab-size 32000\n"
     "  heft train book.txt -o codes.bpe --style subword-nmt --symbols 8000\n",
     "INPUT is a file, a directory, a pattern or -, standard input; .gz and .zst are\n"
     "decompressed. DIR gets vocab.bpe, encoder.json and tokenizer.json. The result depends\n"
     "neither on the order of the files nor on the number of threads.\n",
     {train_own, common},
     1,
     ANY,
     cmd_train},
    {"help",
     "print help on heft or one verb",
     "[VERB]",
     "  heft help\n"
     "  heft help convert\n",
     NULL,
     {top, common},
     0,
     1,
     cmd_help},
    {"completion",
     "print a completion script for a shell",
     "bash|zsh|fish",
     "  heft completion bash > ~/.local/share/bash-completion/completions/heft\n"
     "  heft completion zsh > ~/.zfunc/_heft\n"
     "  heft completion fish > ~/.config/fish/completions/heft.fish\n",
     NULL,
     {common},
     1,
     1,
     cmd_completion},
    {NULL, NULL, NULL, NULL, NULL, {NULL}, 0, 0, NULL},
};

/* ---- options of a verb --------------------------------------------------------------------- */

bool format_option_find(const char *name, size_t n, enum heft_option_use use,
                        struct heft_format_option *out)
{
    struct heft_format_info format = HEFT_INIT(struct heft_format_info);

    for (size_t f = 0; heft_format_at(f, &format); f++)
        for (size_t i = 0; heft_format_option_at(format.name, i, out); i++)
            if (out->use == use && strlen(out->name) == n && memcmp(out->name, name, n) == 0)
                return true;
    return false;
}

/* Whether one of the first n formats has the option for this use. */
static bool is_used_by(const char *name, enum heft_option_use use, size_t n)
{
    struct heft_format_info format = HEFT_INIT(struct heft_format_info);
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);

    for (size_t f = 0; f < n && heft_format_at(f, &format); f++)
        for (size_t i = 0; heft_format_option_at(format.name, i, &o); i++)
            if (o.use == use && !strcmp(o.name, name))
                return true;
    return false;
}

/* Whether an option of format f is listed: not if an earlier format has it for the same use, and an
 * option of targets not if any format has it for reading, as --names. */
static bool is_listed(const struct heft_format_option *o, size_t f)
{
    return !is_used_by(o->name, o->use, f) &&
           (o->use == HEFT_OPTION_READS || !is_used_by(o->name, HEFT_OPTION_READS, SIZE_MAX));
}

const char *option_formats(const struct option_spec *o, char *out, size_t room)
{
    struct heft_format_info format;
    struct heft_format_option option;
    size_t n = 0;

    out[0] = '\0';
    for (size_t f = 0; heft_format_at(f, &format); f++)
        for (size_t i = 0; heft_format_option_at(format.name, i, &option); i++)
            if (option.use == HEFT_OPTION_WRITES && !strcmp(option.name, o->name) && n < room)
                n += (size_t)snprintf(out + n, room - n, "%s%s", n ? ", " : "", format.name);
    return out;
}

/* Finds the option with index *left among the options of formats. If there are fewer, false, and their
 * number is subtracted from *left. */
static bool find_format_option(enum heft_option_use use, size_t *left, struct option_spec *out)
{
    const enum option_kind kind = use == HEFT_OPTION_READS ? OPTION_READS : OPTION_WRITES;
    struct heft_format_info format = HEFT_INIT(struct heft_format_info);
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);

    for (size_t f = 0; heft_format_at(f, &format); f++)
        for (size_t i = 0; heft_format_option_at(format.name, i, &o); i++) {
            if (o.use != use || !is_listed(&o, f))
                continue;
            if (*left > 0) {
                --*left;
                continue;
            }
            *out = (struct option_spec){.name = o.name,
                                        .kind = kind,
                                        .value = o.value,
                                        .help = o.help,
                                        .choices = o.choices,
                                        .format = format.name};
            return true;
        }
    return false;
}

bool verb_option_at(const struct verb *verb, size_t index, struct option_spec *out)
{
    for (size_t g = 0; g < MAX_GROUPS && verb->groups[g]; g++) {
        if (verb->groups[g] == of_formats && find_format_option(HEFT_OPTION_WRITES, &index, out))
            return true;
        if (verb->groups[g] == choosing && find_format_option(HEFT_OPTION_READS, &index, out))
            return true;
        for (const struct option_spec *o = verb->groups[g]; o->name; o++, index--)
            if (index == 0) {
                *out = *o;
                return true;
            }
    }
    return false;
}

const struct verb *verb_find(const char *name)
{
    for (const struct verb *v = verbs; v->name; v++)
        if (!strcmp(v->name, name))
            return v;
    return NULL;
}

const struct verb *verb_nearest(const char *name)
{
    const struct verb *best = NULL;
    unsigned least = 3; /* at most two edits */
    for (const struct verb *v = verbs; v->name; v++) {
        const unsigned far = heft_edit_distance(v->name, strlen(v->name), name, strlen(name), 2);
        if (far && far < least) {
            best = v;
            least = far;
        }
    }
    return best;
}
