/* verbs.c: the table of verbs and of the options each takes. */
#include "main/options.h"
#include "main/suggest.h"

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
#define RULE(letter, name, rule, split, value, help)                                               \
    {                                                                                              \
        letter, name, OPTION_RULE, FIELD(rules), value, help, NULL, rule, split, NULL              \
    }
#define END                                                                                        \
    {                                                                                              \
        0, NULL, OPTION_FLAG, 0, NULL, NULL, NULL, HEFT_RULE_GLOB, NULL, NULL                      \
    }

static const struct option_spec common[] = {
    FLAG('h', "help", help, "show this and stop"),
    FLAG('q', "quiet", quiet, "no progress and no notes"),
    FLAG(0, "no-progress", no_progress, "no progress"),
    TEXT(0, "color", color, "WHEN", "auto|always|never", "colors: auto, always or never"),
    END,
};
static const struct option_spec top[] = {
    FLAG(0, "version", version, "show the version and stop"),
    END,
};
static const struct option_spec reading[] = {
    TEXT(0, "from", from, "FORMAT", "@reads", "read INPUT as FORMAT, whatever its content says"),
    KIND('j', "threads", OPTION_NUMBER, threads, "N", "use at most N threads"),
    KIND('M', "memory", OPTION_SIZE, memory, "SIZE", "at most one thread for each 8 MiB of SIZE"),
    TEXT(0, "io", io, "HOW", "auto|pread|mmap",
         "how to read; all three read by pread, never from a mapping"),
    END,
};
static const struct option_spec choosing[] = {
    TEXT(0, "step", step, "N", NULL, "of a folder of TensorFlow checkpoints: the one of step N"),
    TEXT(0, "names", names, "KIND", "keys|objects",
         "names of a TensorFlow 2 checkpoint, read or written: keys or objects"),
    KIND(0, "max-unpacked", OPTION_SIZE, max_unpacked, "SIZE",
         "packed data may unpack to SIZE in all"),
    FLAG(0, "constants", constants, "constants of a SavedModel's graphs are tensors, too"),
    END,
};
static const struct option_spec selection[] = {
    RULE('g', "glob", HEFT_RULE_GLOB, NULL, "GLOB",
         "take tensors whose name matches; !GLOB leaves them out"),
    RULE('e', "regex", HEFT_RULE_REGEX, NULL, "REGEX",
         "take tensors whose name matches (POSIX extended)"),
    TEXT(0, "root", root, "PATH", NULL, "take the sub-dictionary PATH, its path cut from names"),
    END,
};
static const struct option_spec document[] = {
    FLAG(0, "json", json, "one JSON document"),
    END,
};

#define SPLIT_PATTERN                                                                              \
    TEXT(0, "pattern", split_pattern, "NAME", NULL,                                                \
         "what cuts texts into words, where VOCAB does not say it: gpt2")
static const struct option_spec vocabulary[] = {
    TEXT(0, "vocab", vocab, "PATH", NULL,
         "a folder, tokenizer.json, .tiktoken or vocab.bpe; else GPT-2's own"),
    SPLIT_PATTERN,
    END,
};
static const struct option_spec classes[] = {
    TEXT(0, "unicode", unicode, "VERSION", NULL,
         "letters and numbers as Unicode 9.0 … 17.0 has them"),
    END,
};

static const struct option_spec info_own[] = {
    FLAG('a', "all", all, "show every value in full"),
    END,
};
static const struct option_spec ls_own[] = {
    TEXT(0, "sort", sort, "KEY", "name|size|offset|file",
         "by name, size (largest first), offset or file"),
    FLAG(0, "jsonl", jsonl, "one JSON object a line, a tensor each"),
    FLAG(0, "tsv", tsv, "tab-separated: name dtype shape bytes file offset"),
    FLAG('a', "all", all, "also values that are bytes, and blobs"),
    END,
};
static const struct option_spec explain_own[] = {
    FLAG(0, "trace", trace, "walk through a pickle, opcode by opcode"),
    FLAG(0, "state", state, "with --trace: stack, metastack and memo after each"),
    TEXT(0, "at", at, "N", NULL, "with --trace: the opcode at position N, with the whole state"),
    TEXT(0, "range", range, "A:B", NULL, "with --trace: those from A to below B"),
    TEXT(0, "record", record, "NAME", NULL, "with --trace: another pickle of an archive"),
    FLAG(0, "jsonl", jsonl, "with --trace: one JSON object a line"),
    TEXT(0, "tokens", tokens, "TEXT", NULL, "how TEXT becomes tokens: words, merges, ids"),
    FLAG(0, "restore", restore, "how a SavedModel is restored: variable, key, bytes"),
    TEXT(0, "tag-set", tag_set, "TAGS", NULL, "with --restore: the metagraph of these tags"),
    END,
};
static const struct option_spec writing[] = {
    TEXT('o', "output", output, "PATH", NULL, "where to write"),
    FLAG('f', "force", overwrite, "replace what is there"),
    FLAG(0, "no-sync", no_sync, "do not wait until the disk has it"),
    FLAG(0, "no-verify", no_verify, "do not check stored checksums on the way"),
    END,
};
static const struct option_spec writing_text[] = {
    TEXT('o', "output", output, "PATH", NULL, "where to write, else standard output"),
    FLAG('f', "force", overwrite, "replace what is there"),
    FLAG(0, "no-sync", no_sync, "do not wait until the disk has it"),
    END,
};
static const struct option_spec get_own[] = {
    TEXT(0, "slice", slice, "RANGES", NULL, "a part, as Python writes it: 0:10,:,3"),
    TEXT(0, "cast", cast, "DTYPE", NULL, "as DTYPE: F32, bf16, float16, …"),
    TEXT(0, "root", root, "PATH", NULL, "NAME is below the sub-dictionary PATH"),
    TEXT(0, "tag-set", tag_set, "TAGS", NULL,
         "of a SavedModel: the meta graph of these tags, serve,gpu"),
    FLAG(0, "signature", signature, "signature:KEY as a JSON Schema of its predict requests"),
    END,
};
static const struct option_spec verify_own[] = {
    FLAG(0, "strict", strict, "notes count as findings"),
    END,
};
static const struct option_spec convert_own[] = {
    TEXT(0, "to", to, "FORMAT", "@writes", "the format to write, else by PATH's extension"),
    FLAG('n', "dry-run", dry_run, "print the plan, write nothing"),
    KIND(0, "max-shard-size", OPTION_SHARD, max_shard_size, "SIZE", "split into files of SIZE"),
    RULE(0, "partition", HEFT_RULE_PARTITION, "=", "GLOB=HOW",
         "tf: write as slices: AXIS:N, keep or whole"),
    TEXT(0, "filename-pattern", pattern, "PATTERN", NULL,
         "names of shards: model{suffix}.safetensors"),
    RULE(0, "rename", HEFT_RULE_RENAME, "=>", "RE=>TO", "put TO (\\1 \\2 …) for what RE matches"),
    RULE(0, "cast", HEFT_RULE_CAST, "=", "GLOB=DTYPE", "write tensors that match as DTYPE"),
    RULE(0, "keep-tied", HEFT_RULE_KEEP_TIED, NULL, "GLOB",
         "safetensors: which of tied names stays, else the first"),
    FLAG(0, "allow-empty", allow_empty, "write a file without tensors where there are none"),
    RULE(0, "metadata", HEFT_RULE_METADATA, "=", "K=V", "add to the file's metadata"),
    FLAG(0, "verify", verify, "re-read the result and compare it with INPUT"),
    FLAG(0, "salvage", salvage, "keep what is whole of a damaged INPUT, name what is lost"),
    FLAG(0, "strict", strict, "strings that FORMAT cannot hold, bytes behind an array: an error"),
    END,
};
/* Placeholder for the options that formats describe: verb_option_at. */
static const struct option_spec of_formats[] = {END};
static const struct option_spec scan_own[] = {
    KIND(0, "allow", OPTION_LIST, allow, "GLOB", "names that are allowed, too"),
    TEXT(0, "fail-on", fail_on, "CLASS", "unknown|danger",
         "exit 1 on unknown and danger (default), or on danger only"),
    FLAG(0, "quiet-allowed", quiet_allowed, "no lines of what is allowed (default in a terminal)"),
    FLAG(0, "all", all, "lines of all, also in a terminal"),
    FLAG(0, "json", json, "one JSON document"),
    END,
};

static const struct option_spec train_own[] = {
    TEXT('o', "output", output, "PATH", NULL, "the folder to write, or subword-nmt's file"),
    KIND(0, "vocab-size", OPTION_COUNT, vocab_size, "N",
         "ids, with the 256 bytes and <|endoftext|>"),
    KIND(0, "min-frequency", OPTION_COUNT, min_frequency, "N",
         "pairs that are rarer do not merge (2)"),
    TEXT(0, "style", style, "STYLE", "bytes|subword-nmt",
         "bytes, as GPT-2's, or subword-nmt: the codes of learn_bpe"),
    KIND(0, "symbols", OPTION_COUNT, symbols, "N", "with subword-nmt: how many merges (10000)"),
    TEXT(0, "unicode", unicode, "VERSION", NULL, "whose letters and numbers: 9.0 to 17.0"),
    FLAG('f', "force", overwrite, "replace what is there"),
    FLAG(0, "no-sync", no_sync, "do not wait until the disk has it"),
    KIND('j', "threads", OPTION_NUMBER, threads, "N", "use at most N threads"),
    KIND('M', "memory", OPTION_SIZE, memory, "SIZE", "words and pairs may take SIZE, about (4GiB)"),
    FLAG(0, "json", json, "what was done, as one JSON document"),
    END,
};
static const struct option_spec tokens_own[] = {
    TEXT(0, "vocab", vocab, "PATH", NULL,
         "a folder, tokenizer.json, .tiktoken or vocab.bpe; else GPT-2's own"),
    SPLIT_PATTERN,
    TEXT(0, "model_name", model, "MODEL", NULL, "the vocabulary in models/MODEL"),
    TEXT(0, "encoding", encoding, "NAME", NULL, "of the text: utf-8 (default), latin-1, utf-16, …"),
    TEXT(0, "errors", errors, "HOW", "strict|replace|skip",
         "what cannot be decoded: refuse it (default), put U+FFFD, or skip the line of JSON"),
    TEXT(0, "jsonl", jsonl_key, "KEY", NULL, "a line is a JSON object, its text the string KEY"),
    TEXT(0, "unicode", unicode, "V", NULL,
         "letters and numbers of Unicode V: 9.0 to 17.0; else as VOCAB's library has them"),
    FLAG(0, "allow-empty", allow_empty, "an INPUT that matches nothing is no error"),
    KIND('j', "threads", OPTION_NUMBER, threads, "N", "use at most N threads"),
    END,
};
static const struct option_spec decode_own[] = {
    TEXT(0, "eot-token", eot_token, "TOKEN", NULL, "as encode had it, by its id"),
    TEXT(0, "dtype", id_dtype, "DTYPE", "u16|u32",
         "ids of 2 or 4 bytes, where a file does not say it"),
    END,
};
static const struct option_spec encode_own[] = {
    TEXT('o', "output", output, "PATH", NULL, "where to write"),
    TEXT(0, "format", format, "FORMAT", "npz|npy|bin|llmc|megatron|ids",
         "what to write, else by PATH's extension"),
    KIND(0, "combine", OPTION_COMBINE, combine, "CHARS",
         "one array for documents of up to CHARS (50000)"),
    TEXT(0, "eot", eot, "HOW", "text|id|none",
         "between documents: <|endoftext|> as text (default), its id, or nothing"),
    TEXT(0, "eot-token", eot_token, "TOKEN", NULL,
         "the token of --eot id, by its text or id; else <|endoftext|>"),
    TEXT(0, "rejects", rejects, "FILE", NULL,
         "with --errors skip: the lines that were skipped, and why"),
    TEXT(0, "dtype", id_dtype, "DTYPE", "u16|u32",
         "ids of 2 or 4 bytes (bin, npy, llmc, megatron); else 2 if all fit"),
    FLAG(0, "eot-each", eot_each, "npz with --eot id: also behind what fills an array"),
    FLAG(0, "eot-before", eot_before, "with --eot id: in front of each document"),
    FLAG(0, "sort", sort_inputs, "files by name, not as the system lists them"),
    KIND(0, "shard-tokens", OPTION_COUNT, shard_tokens, "N", "a new file after N tokens"),
    TEXT(0, "val-fraction", val_fraction, "X", NULL,
         "that share of the documents into a file apart"),
    FLAG(0, "resume", resume, "go on where a run that was interrupted stood"),
    KIND(0, "checkpoint", OPTION_SIZE, checkpoint, "SIZE",
         "bytes of INPUT between places to go on from (256MiB)"),
    FLAG('n', "dry-run", dry_run, "print what would be read and written"),
    FLAG('f', "force", overwrite, "replace what is there"),
    FLAG(0, "no-sync", no_sync, "do not wait until the disk has it"),
    END,
};
static const struct option_spec count_own[] = {
    FLAG(0, "each", each, "a line an INPUT"),
    END,
};

#define ANY SIZE_MAX

const struct verb verbs[] = {
    {"info",
     "what a checkpoint is and holds",
     "INPUT… [options]",
     "  heft model.pth                     format, tensors, dtypes, metadata, values\n"
     "  heft info --all checkpoint.ckpt    every hyper-parameter, however long\n"
     "  heft info --json model.safetensors | jq .parameters\n",
     NULL,
     {info_own, document, reading, choosing, selection, common},
     1,
     ANY,
     cmd_info},
    {"ls",
     "a line a tensor: name, dtype, shape, bytes, file and offset",
     "INPUT… [options]",
     "  heft ls model.pth                      every tensor, in the file's order\n"
     "  heft ls model.pth -g '*.bias' --sort size\n"
     "  heft ls --tsv models/ | cut -f1,3      names and shapes of a sharded model\n"
     "  heft ls --json model.safetensors | jq '.tensors[].name'\n",
     "A row ends in what is not ordinary about it: strides [1,4], storage 3 (shared with other\n"
     "rows of that number), deflate, big-endian, conjugated, negated. A tensor that was saved in\n"
     "shards says in how many parts it lies; --json has each.\n",
     {ls_own, document, selection, reading, choosing, common},
     1,
     ANY,
     cmd_ls},
    {"explain",
     "what every range of bytes of a file is",
     "INPUT… [options]",
     "  heft explain model.pth\n"
     "  heft explain --json model.safetensors | jq '.segments[] | select(.claimed|not)'\n"
     "  heft explain --trace model.pth | less        its pickle, opcode by opcode\n"
     "  heft explain --trace model.pth --at 136      stack, metastack and memo there\n"
     "  heft explain --restore saved_model/          from its restore op to each variable's bytes\n"
     "  heft explain --tokens 'hello there'          merges in order, and ids\n",
     "Ranges that heft does not understand are marked ??. --trace executes nothing: it shows what\n"
     "unpickling would do, and how each tensor leads to its bytes. --restore runs nothing: it "
     "shows\n"
     "what loading a SavedModel of TensorFlow would do with its checkpoint.\n",
     {explain_own, vocabulary, classes, document, reading, choosing, common},
     0,
     ANY,
     cmd_explain},
    {"get",
     "one tensor, or a slice of it, or a value",
     "INPUT… NAME [-o PATH] [options]",
     "  heft get model.pth embed.weight -o embed.npy\n"
     "  heft get model.pth embed.weight --slice '0:10,:' -o head.npy\n"
     "  heft get model.pth embed.weight -o - | sha256sum     raw row-major bytes\n"
     "  heft get checkpoint.ckpt hyper_parameters.lr         a value, on standard output\n",
     "A tensor is written as .npy where PATH ends so, else as its raw row-major little-endian\n"
     "bytes; - is standard output. A value is printed as JSON, a string and bytes as they are\n"
     "(with --json, or on a terminal, as JSON, too).\n",
     {writing, get_own, document, reading, choosing, common},
     2,
     ANY,
     cmd_get},
    {"verify",
     "check structure, checksums, hidden bytes, index against shards",
     "INPUT… [options]",
     "  heft verify model.pth\n"
     "  heft verify --strict models/           unusual things are findings, too\n",
     "Exit status 1 if there is a finding: what the format forbids. What is only unusual is a\n"
     "note.\n",
     {verify_own, document, reading, choosing, common},
     1,
     ANY,
     cmd_verify},
    {"scan",
     "what loading a model would import, call and run",
     "INPUT… [options]",
     "  heft scan download.bin\n"
     "  heft scan hub-model/\n"
     "  heft scan --allow 'mylib.*' --fail-on danger checkpoint.ckpt\n",
     "A directory stands for every file below it. Nothing is executed. Exit status 1 if anything\n"
     "is unknown or a danger. --allow turns unknown names into allowed ones; a danger only where\n"
     "GLOB is its whole name. What was not judged is counted in the last line.\n",
     {scan_own, reading, common},
     1,
     ANY,
     cmd_scan},
    {"convert",
     "write the tensors in another format, split, merged, renamed, cast",
     "INPUT… -o PATH [options]",
     "  heft convert model.pth -o model.safetensors\n"
     "  heft convert model.pth -o out/ --max-shard-size 5GB --verify\n"
     "  heft convert shards/ -o one.safetensors                     merge\n"
     "  heft convert model.safetensors -o model.pth                 as torch.save would\n"
     "  heft convert last.ckpt --root state_dict -o model.safetensors\n"
     "  heft convert model.pth -o half.safetensors --cast '*=F16' --rename '^model\\.=>'\n"
     "  heft convert model.pth -o out/ --max-shard-size 5GB --dry-run --json\n"
     "  heft convert model.safetensors -o ckpt/model --to tf       as TensorFlow's SaveV2 would\n"
     "  heft convert new.safetensors --into saved_model -o new_model\n"
     "  heft convert --salvage broken.pth -o rest.safetensors       what a cut download still "
     "has\n",
     "PATH is a folder where it ends in /, exists as one, or where --max-shard-size is given and\n"
     "it has no known extension. 5GB is 5·10^9 bytes, 5GiB is 5·2^30.\n"
     "With --salvage the exit status is 1 if anything is lost.\n",
     {writing, convert_own, of_formats, selection, document, reading, choosing, common},
     1,
     ANY,
     cmd_convert},
    {"encode",
     "text into files of GPT-2's tokens",
     "INPUT… -o PATH [options]",
     "  heft encode books/ -o books.npz                 as encode.py does\n"
     "  heft encode 'texts/*.txt' -o train.bin --eot id     for nanoGPT\n"
     "  heft encode posts.jsonl.zst --jsonl text -o data/ --format bin --val-fraction 0.01\n"
     "  cat book.txt | heft encode - -o book --format megatron\n",
     "INPUT is a file, a folder, a pattern or -, standard input; .gz and .zst are unpacked, the\n"
     "arrays of an .npz passed on. PATH without an extension gets .npz; - is standard output, for\n"
     "bin and ids. With --shard-tokens or --val-fraction files are PATH_000000.bin …,\n"
     "PATH_train.bin and PATH_val.bin; where PATH is a folder, DIR/, made if need be, they are\n"
     "tokens.npz, train.bin … in it.\n",
     {encode_own, tokens_own, document, common},
     1,
     ANY,
     cmd_encode},
    {"decode",
     "files of tokens as text",
     "INPUT… [-o PATH] [options]",
     "  heft decode book.npz | head\n"
     "  heft decode train.bin -o train.txt\n"
     "  heft decode --vocab tokenizer.json corpus.idx\n",
     "INPUT is .npz or .npy (whole numbers), llm.c's .bin, Megatron's .idx or .bin, decimals, or\n"
     "a stream of ids of 2 bytes (4 where the vocabulary has more than 65536); its content tells.\n"
     "- is standard input. Arrays are joined. Bytes that are no UTF-8 come out as U+FFFD.\n",
     {writing_text, decode_own, vocabulary, common},
     1,
     ANY,
     cmd_decode},
    {"count",
     "how many tokens a text has",
     "INPUT… [options]",
     "  heft count book.txt\n"
     "  heft count --each chapters/*.txt\n",
     "The text's own tokens: no separators between documents.\n",
     {count_own, tokens_own, document, common},
     1,
     ANY,
     cmd_count},
    {"train",
     "learn a vocabulary from texts",
     "INPUT… -o DIR --vocab-size N [options]",
     "  heft train corpus/ -o vocabulary/ --vocab-size 32000\n"
     "  heft train book.txt -o codes.bpe --style subword-nmt --symbols 8000\n",
     "INPUT is a file, a folder, a pattern or -, standard input; .gz and .zst are unpacked. DIR "
     "gets\n"
     "vocab.bpe, encoder.json and tokenizer.json. The result depends neither on the order of "
     "files\n"
     "nor on threads.\n",
     {train_own, common},
     1,
     ANY,
     cmd_train},
    {"help",
     "how to use heft, or one verb",
     "[VERB]",
     "  heft help\n  heft help convert\n",
     NULL,
     {top, common},
     0,
     1,
     cmd_help},
    {"completion",
     "completions for a shell",
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

static bool has_own(const struct verb *verb, const char *name)
{
    for (size_t g = 0; g < MAX_GROUPS && verb->groups[g]; g++)
        for (const struct option_spec *o = verb->groups[g]; o->name; o++)
            if (!strcmp(o->name, name))
                return true;
    return false;
}

/* Option number *left of those that formats describe, without names that the verb has itself (--names,
 * which also says how INPUT is read). If there are fewer, subtracts their number from *left. */
static bool format_option(const struct verb *verb, size_t *left, struct option_spec *out)
{
    struct heft_format_info format;
    struct heft_format_option o;

    for (size_t f = 0; heft_format_at(f, &format); f++)
        for (size_t i = 0; heft_format_option_at(format.name, i, &o); i++) {
            if (has_own(verb, o.name) || (*left)-- > 0)
                continue;
            *out = (struct option_spec){.name = o.name,
                                        .kind = OPTION_FORMAT,
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
        if (verb->groups[g] == of_formats && format_option(verb, &index, out))
            return true;
        for (const struct option_spec *o = verb->groups[g]; o->name; o++)
            if (index-- == 0) {
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
    unsigned least = 3; /* two letters amiss at most */
    for (const struct verb *v = verbs; v->name; v++) {
        const unsigned far = edit_distance(v->name, strlen(v->name), name, strlen(name), 2);
        if (far && far < least) {
            best = v;
            least = far;
        }
    }
    return best;
}
