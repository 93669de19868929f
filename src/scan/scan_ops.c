/* scan_ops.c: classification of the operations of TensorFlow graphs.
 *
 *     danger    writes, creates or deletes files, or reads any file, at paths in the graph
 *     unknown   calls Python functions of the loading program; reads data sets, tables or protocols
 *               from paths; communicates with other processes; runs code in a form that scan does
 *               not inspect; is not an operation of TensorFlow, so it needs another native library
 *     allowed   all others that TensorFlow registers: mathematics, control flow, variables, and
 *               restoring of checkpoints
 *
 * Saving is judged by its position in the graph (scan_graph.c), because every model can be saved
 * again. */
#include "scan/scan_ops.h"

#include <stdlib.h>

static const char *const KNOWN[] = {
#include "scan/scan_ops_known.h"
};

#define CALLS_PYTHON  "calls a Python function of the process that runs the graph"
#define READS_FILE    "reads any file at a path in the graph"
#define WRITES_FILE   "writes a file at a path in the graph"
#define READS_DATA    "reads data files at a path in the graph"
#define READS_TABLE   "reads a text file into a table"
#define TALKS         "communicates with other processes"
#define TRACES        "writes its input to files or to another process"
#define OTHER_PROGRAM "runs a program in a form that is not scanned"

/* Sorted by name. */
static const struct heft_scan_op JUDGED[] = {
    {"Abort", HEFT_UNKNOWN, "ends the process"},
    {"CSVDataset", HEFT_UNKNOWN, READS_DATA},
    {"CSVDatasetV2", HEFT_UNKNOWN, READS_DATA},
    {"CacheDataset", HEFT_UNKNOWN, "may write a cache at a path in the graph"},
    {"CacheDatasetV2", HEFT_UNKNOWN, "may write a cache at a path in the graph"},
    {"CalibrationStatisticsSaver", HEFT_DANGER, WRITES_FILE},
    {"CreateSummaryDbWriter", HEFT_DANGER, WRITES_FILE},
    {"CreateSummaryFileWriter", HEFT_DANGER, WRITES_FILE},
    {"DataServiceDataset", HEFT_UNKNOWN, TALKS},
    {"DataServiceDatasetV2", HEFT_UNKNOWN, TALKS},
    {"DataServiceDatasetV3", HEFT_UNKNOWN, TALKS},
    {"DataServiceDatasetV4", HEFT_UNKNOWN, TALKS},
    {"DatasetFromGraph", HEFT_UNKNOWN, OTHER_PROGRAM},
    {"DatasetToTFRecord", HEFT_DANGER, WRITES_FILE},
    {"DebugIdentity", HEFT_UNKNOWN, TRACES},
    {"DebugIdentityV2", HEFT_UNKNOWN, TRACES},
    {"DebugIdentityV3", HEFT_UNKNOWN, TRACES},
    {"DebugNanCount", HEFT_UNKNOWN, TRACES},
    {"DebugNumericSummary", HEFT_UNKNOWN, TRACES},
    {"DecodeProtoV2", HEFT_UNKNOWN, "may read message descriptors at a path in the graph"},
    {"DistributedSave", HEFT_DANGER, WRITES_FILE},
    {"DumpTensor", HEFT_DANGER, WRITES_FILE},
    {"EagerPyFunc", HEFT_UNKNOWN, CALLS_PYTHON},
    {"EncodeProto", HEFT_UNKNOWN, "may read message descriptors at a path in the graph"},
    {"ExperimentalCSVDataset", HEFT_UNKNOWN, READS_DATA},
    {"ExperimentalDatasetToTFRecord", HEFT_DANGER, WRITES_FILE},
    {"ExperimentalLMDBDataset", HEFT_UNKNOWN, READS_DATA},
    {"ExperimentalMatchingFilesDataset", HEFT_UNKNOWN, "lists directories"},
    {"ExperimentalSqlDataset", HEFT_UNKNOWN, "reads a database"},
    {"FileSystemSetConfiguration", HEFT_UNKNOWN, "changes how the process accesses file systems"},
    {"FixedLengthRecordDataset", HEFT_UNKNOWN, READS_DATA},
    {"FixedLengthRecordDatasetV2", HEFT_UNKNOWN, READS_DATA},
    {"FixedLengthRecordReader", HEFT_UNKNOWN, READS_DATA},
    {"FixedLengthRecordReaderV2", HEFT_UNKNOWN, READS_DATA},
    {"GenerateVocabRemapping", HEFT_UNKNOWN, READS_TABLE},
    {"ImmutableConst", HEFT_UNKNOWN, "maps a file at a path in the graph"},
    {"InitializeTableFromTextFile", HEFT_UNKNOWN, READS_TABLE},
    {"InitializeTableFromTextFileV2", HEFT_UNKNOWN, READS_TABLE},
    {"LMDBDataset", HEFT_UNKNOWN, READS_DATA},
    {"LMDBReader", HEFT_UNKNOWN, READS_DATA},
    {"ListSnapshotChunksDataset", HEFT_UNKNOWN, READS_DATA},
    {"LoadDataset", HEFT_UNKNOWN, READS_DATA},
    {"MatchingFiles", HEFT_UNKNOWN, "lists directories"},
    {"MatchingFilesDataset", HEFT_UNKNOWN, "lists directories"},
    {"MergeV2Checkpoints", HEFT_DANGER, "moves checkpoint files, and deletes directories"},
    {"MlirPassthroughOp", HEFT_UNKNOWN, OTHER_PROGRAM},
    {"PyFunc", HEFT_UNKNOWN, CALLS_PYTHON},
    {"PyFuncStateless", HEFT_UNKNOWN, CALLS_PYTHON},
    {"ReadFile", HEFT_DANGER, READS_FILE},
    {"RecordInput", HEFT_UNKNOWN, READS_DATA},
    {"RegisterDataset", HEFT_UNKNOWN, TALKS},
    {"RegisterDatasetV2", HEFT_UNKNOWN, TALKS},
    {"RemoteCall", HEFT_UNKNOWN, TALKS},
    {"Rpc", HEFT_UNKNOWN, TALKS},
    {"RpcCall", HEFT_UNKNOWN, TALKS},
    {"RpcClient", HEFT_UNKNOWN, TALKS},
    {"RpcServer", HEFT_UNKNOWN, TALKS},
    {"RpcServerRegister", HEFT_UNKNOWN, TALKS},
    {"RpcServerStart", HEFT_UNKNOWN, TALKS},
    {"Save", HEFT_DANGER, WRITES_FILE},
    {"SaveDataset", HEFT_DANGER, WRITES_FILE},
    {"SaveDatasetV2", HEFT_DANGER, WRITES_FILE},
    {"SaveSlices", HEFT_DANGER, WRITES_FILE},
    {"SaveV2", HEFT_DANGER, WRITES_FILE},
    {"SnapshotChunkDataset", HEFT_UNKNOWN, READS_DATA},
    {"SnapshotDataset", HEFT_DANGER, WRITES_FILE},
    {"SnapshotDatasetReader", HEFT_UNKNOWN, READS_DATA},
    {"SnapshotDatasetV2", HEFT_DANGER, WRITES_FILE},
    {"SnapshotNestedDatasetReader", HEFT_UNKNOWN, READS_DATA},
    {"SqlDataset", HEFT_UNKNOWN, "reads a database"},
    {"TFRecordDataset", HEFT_UNKNOWN, READS_DATA},
    {"TFRecordDatasetV2", HEFT_UNKNOWN, READS_DATA},
    {"TFRecordReader", HEFT_UNKNOWN, READS_DATA},
    {"TFRecordReaderV2", HEFT_UNKNOWN, READS_DATA},
    {"TextLineDataset", HEFT_UNKNOWN, READS_DATA},
    {"TextLineReader", HEFT_UNKNOWN, READS_DATA},
    {"TextLineReaderV2", HEFT_UNKNOWN, READS_DATA},
    {"TryRpc", HEFT_UNKNOWN, TALKS},
    {"WholeFileReader", HEFT_UNKNOWN, READS_FILE},
    {"WholeFileReaderV2", HEFT_UNKNOWN, READS_FILE},
    {"WriteFile", HEFT_DANGER, WRITES_FILE},
    {"XlaCustomCall", HEFT_UNKNOWN, "calls a native function by name"},
    {"XlaCustomCallV2", HEFT_UNKNOWN, "calls a native function by name"},
};

static int by_name(const void *key, const void *entry)
{
    return heft_str_cmp(*(const struct heft_str *)key, heft_str_of(*(const char *const *)entry));
}

static int by_op(const void *key, const void *entry)
{
    return heft_str_cmp(*(const struct heft_str *)key,
                        heft_str_of(((const struct heft_scan_op *)entry)->name));
}

const struct heft_scan_op *heft_scan_op(struct heft_str name)
{
    static const struct heft_scan_op usual = {"", HEFT_ALLOWED, NULL};
    const struct heft_scan_op *judged =
        bsearch(&name, JUDGED, HEFT_COUNT(JUDGED), sizeof *JUDGED, by_op);

    if (judged)
        return judged;
    return bsearch(&name, KNOWN, HEFT_COUNT(KNOWN), sizeof *KNOWN, by_name) ? &usual : NULL;
}

bool heft_scan_op_saves(struct heft_str name)
{
    return heft_str_is(name, "Save") || heft_str_is(name, "SaveV2") ||
           heft_str_is(name, "SaveSlices") || heft_str_is(name, "MergeV2Checkpoints");
}
