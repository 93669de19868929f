/* unsupported_signatures.c: recognises files and folders of formats that heft does not read, and
 * tells the user what they are and what to do. All such marks are in this folder. A wrong name
 * would be worse than none, so each mark is a magic number of four bytes or more, or a structure
 * that was checked. */
#include "format/unsupported/unsupported_signatures.h"

#include "base/text.h"

#define LFS      "a Git LFS pointer, not the model: fetch it with git lfs pull"
#define FAILED   "not a model: the download failed"
#define UNPACK   "unpack it first"
#define GRAPHS   "a graph; convert the model it was made from"
#define GGML_WAS "an old GGML file, from before GGUF; heft reads the model it was made from"

/* Magic numbers: n bytes at offset `at`. */
static const struct {
    uint16_t at, n;
    const char *magic;
    enum heft_code code;
    const char *what;
} magics[] = {
    {0, 15, "version https:/", HEFT_MALFORMED, LFS},
    {0, 8, "PYTORCH1", HEFT_UNSUPPORTED, "the PyTorch preview container of 2018"},
    {0, 4, "PK\5\6", HEFT_MALFORMED, "an empty zip archive"},
    {257, 5, "ustar", HEFT_MALFORMED, "a tar archive whose first header is damaged"},
    {0, 3, "\x1f\x8b\x08", HEFT_UNSUPPORTED, "gzip data: " UNPACK},
    {0, 4, "\x28\xb5\x2f\xfd", HEFT_UNSUPPORTED, "zstd data: " UNPACK},
    {0, 6,
     "\xfd"
     "7zXZ\0",
     HEFT_UNSUPPORTED, "xz data: " UNPACK},
    {0, 4, "\x04\x22\x4d\x18", HEFT_UNSUPPORTED, "lz4 data: " UNPACK},
    {4, 6, "1AY&SY", HEFT_UNSUPPORTED, "bzip2 data: " UNPACK},
    {0, 6, "7z\xbc\xaf\x27\x1c", HEFT_UNSUPPORTED, "a 7z archive: " UNPACK},
    {0, 6, "Rar!\x1a\x07", HEFT_UNSUPPORTED, "a RAR archive: " UNPACK},
    {0, 4, "\x83\xaf\x70\xd1", HEFT_UNSUPPORTED,
     "a SavedModel in chunks (saved_model.cpb), a form that TensorFlow's own loader does not read "
     "either"},
    {0, 4, "lmgg", HEFT_UNSUPPORTED, GGML_WAS},
    {0, 4, "fmgg", HEFT_UNSUPPORTED, GGML_WAS},
    {0, 4, "tjgg", HEFT_UNSUPPORTED, GGML_WAS},
    {4, 4, "PTMF", HEFT_UNSUPPORTED, "a PyTorch mobile flatbuffer"},
    {4, 4, "TFL3", HEFT_UNSUPPORTED,
     "a TFLite model, which holds " GRAPHS " (a SavedModel, a .keras or .h5)"},
    {0, 19, "MATLAB 5.0 MAT-file", HEFT_UNSUPPORTED,
     "a MATLAB file of version 5; save it with -v7.3, which is HDF5"},
    {0, 4, "CDF\1", HEFT_UNSUPPORTED, "a NetCDF-3 file; nccopy -k nc4 makes it HDF5"},
    {0, 4, "CDF\2", HEFT_UNSUPPORTED, "a NetCDF-3 file; nccopy -k nc4 makes it HDF5"},
    {0, 4, "CDF\5", HEFT_UNSUPPORTED, "a NetCDF-3 file; nccopy -k nc4 makes it HDF5"},
    {0, 8, "ARROW1\0\0", HEFT_UNSUPPORTED, "an Arrow file: a table of data, not a model"},
    {0, 16, "SQLite format 3", HEFT_UNSUPPORTED, "an SQLite database"},
    {0, 13, "#version: 0.2", HEFT_UNSUPPORTED,
     "the merges of a vocabulary; encode takes its directory"},
    {0, 8, "\x89PNG\r\n\x1a\n", HEFT_MALFORMED, "a PNG picture"},
    {0, 5, "%PDF-", HEFT_MALFORMED, "a PDF document"},
    {0, 4,
     "\x7f"
     "ELF",
     HEFT_MALFORMED, "a program"},
};

/* Formats recognised by their structure. */
static const struct {
    bool (*looks)(const struct heft_probe *probe);
    const char *what;
} structures[] = {
    {heft_looks_parquet, "a Parquet file: a table of data, not a model"},
    {heft_looks_arrow_stream, "an Arrow stream: a table of data, not a model"},
    {heft_looks_sentencepiece,
     "a SentencePiece model: a tokenizer, not weights (heft encode takes its tokenizer.json)"},
    {heft_looks_flax, "Flax msgpack; save the model as safetensors with transformers or "
                      "safetensors.flax"},
    {heft_looks_onnx, "an ONNX model, which holds " GRAPHS},
    {heft_looks_coreml, "a Core ML model, which holds " GRAPHS},
};

/* Texts: a word in a JSON document, or the first tag of a page. */
static const struct {
    const char *word; /* found anywhere in the head */
    enum heft_code code;
    const char *what;
} jsons[] = {
    {"\"weightsManifest\"", HEFT_UNSUPPORTED,
     "the model.json of TensorFlow.js; convert the model it was made from, or make it one again "
     "with tensorflowjs_converter"},
    {"\"added_tokens\"", HEFT_UNSUPPORTED,
     "a tokenizer.json: a vocabulary, not weights; encode takes it as one"},
    {"\"zarr_format\"", HEFT_UNSUPPORTED, "the description of a zarr store"},
    {"\"model_type\"", HEFT_UNSUPPORTED, "the configuration of a model; its weights lie beside it"},
    {"\"architectures\"", HEFT_UNSUPPORTED,
     "the configuration of a model; its weights lie beside it"},
    {"\"_class_name\"", HEFT_UNSUPPORTED,
     "the configuration of a pipeline; its weights are in directories beside it"},
};
static const char *const json_errors[] = {"{\"error\"",  "{\"errors\"", "{\"message\"",
                                          "{\"detail\"", "{\"status\"", "{\"code\""};
static const char *const pages[] = {"<!doctype", "<html", "<head"};

static bool fail_with(struct heft_error *err, enum heft_code code, const char *what)
{
    return heft_fail(err, code, 0, "this is %s", what);
}

/* Skips a byte order mark and white space. */
static struct heft_bytes skip_blanks(struct heft_bytes head)
{
    size_t at = head.n >= 3 && memcmp(head.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < head.n && (head.p[at] == ' ' || (head.p[at] >= '\t' && head.p[at] <= '\r')))
        at++;
    return (struct heft_bytes){head.p + at, head.n - at};
}

static bool begins_page(struct heft_bytes text, const char *tag)
{
    const size_t n = strlen(tag);

    if (text.n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = text.p[i];

        if ((c >= 'A' && c <= 'Z' ? (c | 0x20) : c) != (uint8_t)tag[i])
            return false;
    }
    return true;
}

/* True if the text begins like `begin` ({"error"), with optional white space after the brace. */
static bool begins_object(struct heft_bytes text, const char *begin)
{
    struct heft_bytes rest;
    const size_t n = strlen(begin) - 1;

    if (text.n == 0 || text.p[0] != '{')
        return false;
    rest = skip_blanks((struct heft_bytes){text.p + 1, text.n - 1});
    return rest.n >= n && memcmp(rest.p, begin + 1, n) == 0;
}

/* A brace followed by a quoted key or a closing brace: no other format begins like this. */
static bool is_json(struct heft_bytes text)
{
    return begins_object(text, "{\"") || begins_object(text, "{}");
}

static bool refuse_text(struct heft_bytes text, struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_COUNT(pages); i++)
        if (begins_page(text, pages[i]))
            return fail_with(err, HEFT_MALFORMED, "an HTML page, " FAILED);
    if (begins_page(text, "<?xml") && heft_text_mentions(text, "<Error>"))
        return fail_with(err, HEFT_MALFORMED, "an XML error message, " FAILED);
    for (size_t i = 0; i < HEFT_COUNT(json_errors); i++)
        if (begins_object(text, json_errors[i]))
            return fail_with(err, HEFT_MALFORMED, "a JSON error message, " FAILED);
    for (size_t i = 0; is_json(text) && i < HEFT_COUNT(jsons); i++)
        if (heft_text_mentions(text, jsons[i].word))
            return fail_with(err, jsons[i].code, jsons[i].what);
    return !is_json(text) ||
           fail_with(err, HEFT_MALFORMED, "a JSON text without weight_map: no index of a model");
}

static bool refuse_unknown(const struct heft_probe *probe, struct heft_error *err)
{
    static const char digits[] = "0123456789abcdef";
    char begin[8 * 3 + 1] = "";

    for (size_t i = 0; i < 8 && i < probe->head.n; i++) {
        begin[3 * i] = ' ';
        begin[3 * i + 1] = digits[probe->head.p[i] >> 4];
        begin[3 * i + 2] = digits[probe->head.p[i] & 15];
    }
    return heft_fail(err, HEFT_MALFORMED, 0,
                     "no format that heft knows begins with%s; known are those of PyTorch, "
                     "safetensors, llama.cpp, TensorFlow, ExecuTorch, NumPy and HDF5",
                     begin);
}

static bool refuse_file(const struct heft_probe *probe, struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_COUNT(magics); i++)
        if (heft_within(magics[i].at, magics[i].n, probe->head.n) &&
            memcmp(probe->head.p + magics[i].at, magics[i].magic, magics[i].n) == 0)
            return fail_with(err, magics[i].code, magics[i].what);
    for (size_t i = 0; i < HEFT_COUNT(structures); i++)
        if (structures[i].looks(probe))
            return fail_with(err, HEFT_UNSUPPORTED, structures[i].what);
    return refuse_text(skip_blanks(probe->head), err) && refuse_unknown(probe, err);
}

/* ---- folders ----------------------------------------------------------------------------- */

#define ORBAX                                                                                      \
    "a checkpoint of Orbax (JAX); restore it there and save it with safetensors.flax.save_file"
#define ZARR "a zarr store; heft reads HDF5 and .npz, which zarr and xarray write, too"

/* Names that occur together only in folders of that format. */
static const struct {
    const char *first, *second; /* second: a glob that another name must match, or NULL */
    const char *what;
} folders[] = {
    {"_CHECKPOINT_METADATA", NULL, ORBAX},
    {"manifest.ocdbt", NULL, ORBAX},
    {"_METADATA", "checkpoint", ORBAX},
    {"zarr.json", NULL, ZARR},
    {".zarray", NULL, ZARR},
    {".zgroup", NULL, ZARR},
    {"Manifest.json", "Data", "a Core ML package (.mlpackage), which holds " GRAPHS},
    {"model.json", "group1-shard*",
     "a model of TensorFlow.js; convert the model it was made from, or make it one again with "
     "tensorflowjs_converter"},
};

static bool has_name(const char *const *names, size_t n, const char *glob)
{
    for (size_t i = 0; i < n; i++)
        if (heft_glob_match(heft_str_of(glob), heft_str_of(names[i])))
            return true;
    return false;
}

static bool refuse_folder(const char *const *names, size_t n, struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_COUNT(folders); i++)
        if (has_name(names, n, folders[i].first) &&
            (!folders[i].second || has_name(names, n, folders[i].second))) {
            heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "the directory is %s",
                      folders[i].what);
            return true;
        }
    return false;
}

/* ---- names of files and of formats that are not written ---------------------------------- */

static const struct heft_file_name names[] = {
    {".msgpack", .rank = HEFT_FILE_FOREIGN},
    {".onnx", .rank = HEFT_FILE_FOREIGN},
    {".tflite", .rank = HEFT_FILE_FOREIGN},
    {".ggml", .rank = HEFT_FILE_FOREIGN},
    {".mlmodel", .rank = HEFT_FILE_FOREIGN},
    {".nemo", .rank = HEFT_FILE_FOREIGN},
    {".nc", .rank = HEFT_FILE_FOREIGN},
    {".mat", .rank = HEFT_FILE_FOREIGN},
    {".parquet", .rank = HEFT_FILE_FOREIGN},
    {".arrow", .rank = HEFT_FILE_FOREIGN},
    {0},
};

static const struct heft_not_written not_written[] = {
    {"onnx", "ONNX holds a graph, which a checkpoint does not have; write the weights as "
             "safetensors"},
    {"tflite", "TFLite holds a graph, which a checkpoint does not have; write the weights as tf"},
    {"msgpack", "Flax msgpack is not written; write safetensors, which Flax reads, too"},
    {"mlmodel", "Core ML holds a graph, which a checkpoint does not have; write the weights as "
                "safetensors"},
    {0},
};

const struct heft_foreign heft_foreign = {
    .names = names,
    .not_written = not_written,
    .takes = heft_looks_coreml, /* checked early: a Core ML file resembles a SavedModel */
    .refuse = refuse_file,
    .refuse_folder = refuse_folder,
};
