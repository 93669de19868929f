/* scan_names.c: classification of the names that a pickle imports.
 *
 *     allowed   names that torch.load(weights_only=True) accepts      the table of torch_globals.c
 *               names that only build data                            the table of scan_data.c
 *     danger    names that give access to the system, other code, other files, the network or
 *               another pickle. DENIED: a module with everything below it (name ""), or one name of
 *               a module; also everything reached through one of them or through a
 *               double-underscore attribute
 *     unknown   all others: no deny-list is complete, so scan reports these as well
 *
 * Module and name are joined to one path, which is judged at each of its dots: only the object
 * at the end matters, not how the pickle splits the path into module and name. */
#include "scan/scan_names.h"

#include "format/torch/pickle/torch_globals.h"

#include <stdlib.h>

struct denied {
    const char *module, *name; /* name "": the module and everything below it */
};

/* Sorted by module, then name. */
static const struct denied DENIED[] = {
    {"BaseHTTPServer", ""},
    {"CGIHTTPServer", ""},
    {"Cython", ""},
    {"IPython", ""},
    {"SimpleHTTPServer", ""},
    {"SocketServer", ""},
    {"Tkinter", ""},
    {"_aix_support", ""},
    {"_codecs", "lookup"},
    {"_codecs", "lookup_error"},
    {"_codecs", "register"},
    {"_codecs", "register_error"},
    {"_ctypes", ""},
    {"_frozen_importlib", ""},
    {"_frozen_importlib_external", ""},
    {"_imp", ""},
    {"_interpreters", ""},
    {"_io", "FileIO"},
    {"_io", "OpenWrapper"},
    {"_io", "open"},
    {"_io", "open_code"},
    {"_operator", "attrgetter"},
    {"_operator", "call"},
    {"_operator", "delitem"},
    {"_operator", "itemgetter"},
    {"_operator", "methodcaller"},
    {"_operator", "setitem"},
    {"_osx_support", ""},
    {"_pickle", ""},
    {"_posixshmem", ""},
    {"_posixsubprocess", ""},
    {"_pyrepl", ""},
    {"_signal", ""},
    {"_socket", ""},
    {"_sqlite3", ""},
    {"_ssl", ""},
    {"_thread", ""},
    {"_winapi", ""},
    {"_winreg", ""},
    {"_xxsubinterpreters", ""},
    {"aiohttp", ""},
    {"antigravity", ""},
    {"anydbm", ""},
    {"anyio", ""},
    {"asynchat", ""},
    {"asyncio", ""},
    {"asyncore", ""},
    {"atexit", ""},
    {"bdb", ""},
    {"boto3", ""},
    {"botocore", ""},
    {"builtins", "__build_class__"},
    {"builtins", "__import__"},
    {"builtins", "apply"},
    {"builtins", "breakpoint"},
    {"builtins", "compile"},
    {"builtins", "delattr"},
    {"builtins", "eval"},
    {"builtins", "exec"},
    {"builtins", "execfile"},
    {"builtins", "exit"},
    {"builtins", "file"},
    {"builtins", "getattr"},
    {"builtins", "globals"},
    {"builtins", "help"},
    {"builtins", "input"},
    {"builtins", "locals"},
    {"builtins", "open"},
    {"builtins", "quit"},
    {"builtins", "raw_input"},
    {"builtins", "reduce"},
    {"builtins", "reload"},
    {"builtins", "setattr"},
    {"builtins", "vars"},
    {"bz2", "BZ2File"},
    {"bz2", "open"},
    {"cProfile", ""},
    {"cffi", ""},
    {"cgi", ""},
    {"cgitb", ""},
    {"cloudpickle", ""},
    {"code", ""},
    {"codecs", "lookup"},
    {"codecs", "open"},
    {"codecs", "register"},
    {"codeop", ""},
    {"commands", ""},
    {"compileall", ""},
    {"concurrent", ""},
    {"copyreg", "add_extension"},
    {"copyreg", "clear_extension_cache"},
    {"copyreg", "constructor"},
    {"copyreg", "pickle"},
    {"copyreg", "remove_extension"},
    {"crypt", ""},
    {"ctypes", ""},
    {"curses", ""},
    {"dask.distributed", ""},
    {"dataclasses", "_create_fn"},
    {"dataclasses", "make_dataclass"},
    {"dbm", ""},
    {"dill", ""},
    {"distutils", ""},
    {"docker", ""},
    {"doctest", ""},
    {"dumbdbm", ""},
    {"ensurepip", ""},
    {"fabric", ""},
    {"fabric2", ""},
    {"faulthandler", ""},
    {"fcntl", ""},
    {"filecmp", ""},
    {"fileinput", ""},
    {"ftplib", ""},
    {"functools", "reduce"},
    {"gc", ""},
    {"gdbm", ""},
    {"getpass", ""},
    {"gettext", "c2py"},
    {"git", ""},
    {"glob", ""},
    {"grp", ""},
    {"gzip", "GzipFile"},
    {"gzip", "open"},
    {"http", ""},
    {"httplib", ""},
    {"httpx", ""},
    {"huggingface_hub", ""},
    {"idlelib", ""},
    {"imaplib", ""},
    {"imp", ""},
    {"importlib", ""},
    {"importlib_metadata", ""},
    {"inspect", "currentframe"},
    {"inspect", "getattr_static"},
    {"inspect", "getmodule"},
    {"inspect", "getmodulename"},
    {"inspect", "stack"},
    {"inspect", "trace"},
    {"inspect", "unwrap"},
    {"io", "FileIO"},
    {"io", "OpenWrapper"},
    {"io", "open"},
    {"io", "open_code"},
    {"ipykernel", ""},
    {"joblib", "dump"},
    {"joblib", "load"},
    {"joblib.externals", ""},
    {"joblib.memory", "Memory"},
    {"joblib.numpy_pickle", "dump"},
    {"joblib.numpy_pickle", "load"},
    {"joblib.numpy_pickle", "load_temporary_memmap"},
    {"joblib.numpy_pickle_utils", "_read_fileobject"},
    {"jsonpickle", ""},
    {"jupyter_client", ""},
    {"keras.models", "load_model"},
    {"keras.saving", "load_model"},
    {"keras.utils", "get_file"},
    {"lib2to3", ""},
    {"linecache", ""},
    {"llvmlite", ""},
    {"logging", "FileHandler"},
    {"logging", "basicConfig"},
    {"logging.config", ""},
    {"logging.handlers", ""},
    {"lzma", "LZMAFile"},
    {"lzma", "open"},
    {"mailbox", ""},
    {"mailcap", ""},
    {"marshal", ""},
    {"mimetypes", "init"},
    {"mmap", ""},
    {"modulefinder", ""},
    {"msilib", ""},
    {"multiprocess", ""},
    {"multiprocessing", ""},
    {"netrc", ""},
    {"nltk", "download"},
    {"nltk.data", "load"},
    {"nntplib", ""},
    {"nt", ""},
    {"ntpath", ""},
    {"nturl2path", ""},
    {"numba.core.serialize", ""},
    {"numexpr", ""},
    {"numpy", "DataSource"},
    {"numpy", "fromfile"},
    {"numpy", "fromregex"},
    {"numpy", "genfromtxt"},
    {"numpy", "load"},
    {"numpy", "loadtxt"},
    {"numpy", "memmap"},
    {"numpy", "save"},
    {"numpy", "savetxt"},
    {"numpy", "savez"},
    {"numpy", "savez_compressed"},
    {"numpy.compat", ""},
    {"numpy.core.memmap", "memmap"},
    {"numpy.core.multiarray", "fromfile"},
    {"numpy.core.records", "fromfile"},
    {"numpy.ctypeslib", ""},
    {"numpy.distutils", ""},
    {"numpy.f2py", ""},
    {"numpy.lib._datasource", ""},
    {"numpy.lib._npyio_impl", ""},
    {"numpy.lib._utils_impl", ""},
    {"numpy.lib.format", ""},
    {"numpy.lib.npyio", ""},
    {"numpy.lib.utils", ""},
    {"numpy.testing", ""},
    {"operator", "attrgetter"},
    {"operator", "call"},
    {"operator", "delitem"},
    {"operator", "itemgetter"},
    {"operator", "methodcaller"},
    {"operator", "setitem"},
    {"os", ""},
    {"pandas", "eval"},
    {"pandas", "read_csv"},
    {"pandas", "read_hdf"},
    {"pandas", "read_pickle"},
    {"pandas.core.computation", ""},
    {"pandas.io", ""},
    {"paramiko", ""},
    {"pathos", ""},
    {"pdb", ""},
    {"pexpect", ""},
    {"pickle", ""},
    {"pickletools", ""},
    {"pip", ""},
    {"pipes", ""},
    {"pkg_resources", ""},
    {"pkgutil", ""},
    {"platform", ""},
    {"plistlib", ""},
    {"plumbum", ""},
    {"popen2", ""},
    {"poplib", ""},
    {"posix", ""},
    {"posixpath", ""},
    {"posixsubprocess", ""},
    {"profile", ""},
    {"pstats", ""},
    {"psutil", ""},
    {"pty", ""},
    {"ptyprocess", ""},
    {"pwd", ""},
    {"py_compile", ""},
    {"pyclbr", ""},
    {"pycurl", ""},
    {"pydoc", ""},
    {"pydoc_data", ""},
    {"pyximport", ""},
    {"readline", ""},
    {"requests", ""},
    {"resource", ""},
    {"rlcompleter", ""},
    {"robotparser", ""},
    {"runpy", ""},
    {"sched", ""},
    {"scipy.io", "loadmat"},
    {"select", ""},
    {"selectors", ""},
    {"setuptools", ""},
    {"sh", ""},
    {"shelve", ""},
    {"shlex", ""},
    {"shutil", ""},
    {"signal", ""},
    {"site", ""},
    {"smtpd", ""},
    {"smtplib", ""},
    {"socket", ""},
    {"socketserver", ""},
    {"spwd", ""},
    {"sqlite3", ""},
    {"ssl", ""},
    {"subprocess", ""},
    {"sympy", "lambdify"},
    {"sympy", "sympify"},
    {"sympy.parsing", ""},
    {"symtable", ""},
    {"sys", ""},
    {"sysconfig", ""},
    {"syslog", ""},
    {"tabnanny", ""},
    {"tarfile", ""},
    {"telnetlib", ""},
    {"tempfile", ""},
    {"tensorflow", "io"},
    {"tensorflow", "load_library"},
    {"tensorflow", "load_op_library"},
    {"tensorflow", "py_function"},
    {"tensorflow.keras.models", "load_model"},
    {"termios", ""},
    {"test", ""},
    {"thread", ""},
    {"threading", ""},
    {"timeit", ""},
    {"tkinter", ""},
    {"tokenize", "open"},
    {"torch", "compile"},
    {"torch", "hub"},
    {"torch", "load"},
    {"torch", "save"},
    {"torch._dynamo", ""},
    {"torch._export", ""},
    {"torch._inductor", ""},
    {"torch._ops", "_Ops"},
    {"torch._weights_only_unpickler", ""},
    {"torch.classes", "load_library"},
    {"torch.distributed.elastic", ""},
    {"torch.distributed.launch", ""},
    {"torch.distributed.launcher", ""},
    {"torch.distributed.nn.jit", ""},
    {"torch.distributed.rpc", ""},
    {"torch.distributed.run", ""},
    {"torch.export", "load"},
    {"torch.fx.experimental.symbolic_shapes", "ShapeEnv"},
    {"torch.fx.graph_module", "_deserialize_graph_module"},
    {"torch.fx.graph_module", "_exec_with_source"},
    {"torch.fx.graph_module", "_forward_from_src"},
    {"torch.fx.graph_module", "reduce_deploy_graph_module"},
    {"torch.fx.graph_module", "reduce_graph_module"},
    {"torch.fx.graph_module", "reduce_package_graph_module"},
    {"torch.hub", ""},
    {"torch.jit", "CompilationUnit"},
    {"torch.jit", "load"},
    {"torch.jit._serialization", ""},
    {"torch.jit.unsupported_tensor_ops", ""},
    {"torch.multiprocessing", ""},
    {"torch.ops", "load_library"},
    {"torch.package", ""},
    {"torch.serialization", ""},
    {"torch.testing._internal", ""},
    {"torch.utils._config_module", ""},
    {"torch.utils.benchmark", ""},
    {"torch.utils.bottleneck", ""},
    {"torch.utils.collect_env", ""},
    {"torch.utils.cpp_extension", ""},
    {"torch.utils.data.datapipes.utils", ""},
    {"torch.utils.hipify", ""},
    {"torch.utils.model_dump", ""},
    {"torch.utils.model_zoo", ""},
    {"torch.utils.show_pickle", ""},
    {"trace", ""},
    {"tracemalloc", ""},
    {"transformers.dynamic_module_utils", ""},
    {"trio", ""},
    {"tty", ""},
    {"turtle", ""},
    {"turtledemo", ""},
    {"twisted", ""},
    {"types", "CellType"},
    {"types", "CodeType"},
    {"types", "FunctionType"},
    {"types", "LambdaType"},
    {"types", "MethodType"},
    {"typing", "_eval_type"},
    {"typing", "get_type_hints"},
    {"unittest", ""},
    {"urllib", ""},
    {"urllib2", ""},
    {"urllib3", ""},
    {"uuid", "_arp_getter"},
    {"uuid", "_find_mac_near_keyword"},
    {"uuid", "_find_mac_under_heading"},
    {"uuid", "_get_command_stdout"},
    {"uuid", "_ifconfig_getter"},
    {"uuid", "_ip_getter"},
    {"uuid", "_lanscan_getter"},
    {"uuid", "_netstat_getter"},
    {"uuid", "_popen"},
    {"uuid", "getnode"},
    {"uuid", "uuid1"},
    {"venv", ""},
    {"weakref", "finalize"},
    {"webbrowser", ""},
    {"websockets", ""},
    {"wget", ""},
    {"whichdb", ""},
    {"winreg", ""},
    {"winsound", ""},
    {"wsgiref", ""},
    {"xmlrpc", ""},
    {"xmlrpclib", ""},
    {"yaml", ""},
    {"zipapp", ""},
    {"zipfile", ""},
    {"zipimport", ""},
    {"zmq", ""},
};

/* Plain classes in denied modules: values that checkpoints contain. The three of numpy.random call
 * an argument, which is judged itself; those of torch._dynamo are in models that torch.compile
 * wraps. */
static const char *const SPARED[] = {
    "http.HTTPStatus",
    "multiprocessing.context.SpawnContext",
    "numpy.lib.format.descr_to_dtype",
    "numpy.random._pickle.__bit_generator_ctor",
    "numpy.random._pickle.__generator_ctor",
    "numpy.random._pickle.__randomstate_ctor",
    "signal.Signals",
    "torch._dynamo.convert_frame.CatchErrorsWrapper",
    "torch._dynamo.convert_frame.ConvertFrame",
    "torch._dynamo.convert_frame.ConvertFrameAssert",
    "torch._dynamo.convert_frame.ConvertFrameBox",
    "torch._dynamo.decorators._DimRange",
    "torch._dynamo.eval_frame.OptimizeContext",
    "torch._dynamo.eval_frame.OptimizedModule",
    "torch._dynamo.hooks.Hooks",
    "torch._dynamo.repro.after_dynamo.WrapBackendDebug",
    "urllib.parse.DefragResult",
    "urllib.parse.ParseResult",
    "urllib.parse.SplitResult",
};

/* Attributes that are these modules and functions, whatever the object. */
static const char *const REACHED[] = {
    "_os",      "_posixsubprocess", "_sys",   "builtins",   "ctypes", "eval",   "exec",
    "execfile", "importlib",        "nt",     "os",         "pickle", "popen",  "posix",
    "runpy",    "shutil",           "socket", "subprocess", "sys",    "system",
};

static int compare_denied(const void *a, const void *b)
{
    const struct heft_str *key = a; /* array of two: module, name */
    const struct denied *denied = b;
    const int order = heft_str_cmp(key[0], heft_str_of(denied->module));

    return order ? order : heft_str_cmp(key[1], heft_str_of(denied->name));
}

static bool is_denied(struct heft_str module, struct heft_str name)
{
    const struct heft_str key[] = {module, name};

    return bsearch(key, DENIED, HEFT_COUNT(DENIED), sizeof DENIED[0], compare_denied);
}

static bool is_one_of(struct heft_str text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (heft_str_is(text, list[i]))
            return true;
    return false;
}

/* Returns the part of a dotted path that begins at `at`. */
static struct heft_str piece_at(struct heft_str path, size_t at)
{
    const char *dot = memchr(path.p + at, '.', path.n - at);

    return (struct heft_str){path.p + at, dot ? (size_t)(dot - path.p) - at : path.n - at};
}

/* True if a prefix of the path is a denied module or name. */
static bool leads_to_denied(struct heft_str path)
{
    for (size_t at = 0; at <= path.n;) {
        const struct heft_str piece = piece_at(path, at);
        const struct heft_str whole = {path.p, at + piece.n};

        if (is_denied(whole, HEFT_STR("")) ||
            (at && is_denied((struct heft_str){path.p, at - 1}, piece)))
            return true;
        at += piece.n + 1;
    }
    return false;
}

/* True if a step from an object to an attribute reaches a module or builtin that the object's
 * own module happens to import, or internals of Python. alone: the name has only this step; it
 * is then more often a class with the name of a module. */
static bool is_bad_step(struct heft_str piece, bool alone)
{
    if (alone && heft_str_starts(piece, HEFT_STR("__pyx_unpickle_")))
        return false; /* generated by Cython: creates an object and sets its attributes */
    if (heft_str_starts(piece, HEFT_STR("__")) || is_one_of(piece, REACHED, HEFT_COUNT(REACHED)))
        return true;
    return !alone && (is_denied(piece, HEFT_STR("")) || is_denied(HEFT_STR("builtins"), piece));
}

static bool steps_into_danger(struct heft_str name)
{
    for (size_t at = 0; at <= name.n;) {
        const struct heft_str piece = piece_at(name, at);

        if (is_bad_step(piece, piece.n == name.n))
            return true;
        at += piece.n + 1;
    }
    return false;
}

/* True for `torch` + `_utils._rebuild_tensor_v2`: an unusual spelling of a known name, made to
 * evade a filter. */
static bool aliases_known(struct heft_str path)
{
    struct heft_str module, name;

    for (size_t left = path.n; left > 0; left--) {
        const size_t at = left - 1;

        if (path.p[at] != '.')
            continue;
        module = (struct heft_str){path.p, at};
        name = (struct heft_str){path.p + at + 1, path.n - at - 1};
        return heft_torch_lookup(module, name) != NULL;
    }
    return false;
}

/* True if torch allows the name. heft's table also has old and device-specific spellings that
 * torch does not allow. */
static bool is_allowed(struct heft_str module, struct heft_str name)
{
    const struct heft_torch_global *known = heft_torch_lookup(module, name);

    if (!known || !known->allowed || heft_str_is(module, "torch.tensor"))
        return false;
    return !heft_str_is(module, "torch.cuda") || name.p[0] != 'Q';
}

/* True for the functions that the lowest protocols call by REDUCE instead of the opcodes NEWOBJ
 * and NEWOBJ_EX. */
static bool is_newobj(struct heft_str module, struct heft_str name)
{
    return heft_str_is(module, "copyreg") &&
           (heft_str_is(name, "__newobj__") || heft_str_is(name, "__newobj_ex__"));
}

enum heft_danger heft_scan_danger(struct heft_str module, struct heft_str name)
{
    const bool dotted = name.n && memchr(name.p, '.', name.n);
    char joined[2 * 1024 + 2];
    struct heft_str path = {joined, 0};

    if (is_allowed(module, name) || heft_scan_builds_data(module, name))
        return HEFT_ALLOWED;
    heft_torch_rename(&module, &name);
    if (module.n + 1 + name.n > sizeof joined)
        return HEFT_DANGER; /* longer than any name that a pickle machine accepts */
    path.n = module.n + 1 + name.n;
    memcpy(joined, module.p, module.n);
    joined[module.n] = '.';
    memcpy(joined + module.n + 1, name.p, name.n);
    if (is_one_of(path, SPARED, HEFT_COUNT(SPARED)) || is_newobj(module, name))
        return HEFT_UNKNOWN;
    if (leads_to_denied(path) || steps_into_danger(name) || (dotted && aliases_known(path)))
        return HEFT_DANGER;
    return HEFT_UNKNOWN;
}

#define LONGEST_PATH 2048 /* bytes of a path; no program needs a longer one */

/* True for the modules among REACHED: a step through them leaves the package at the start of the
 * path. The other names of REACHED are also common names of submodules. */
static bool is_module_step(struct heft_str piece)
{
    static const char *const modules[] = {"_os",    "_sys",       "builtins", "ctypes", "importlib",
                                          "nt",     "os",         "posix",    "runpy",  "shutil",
                                          "socket", "subprocess", "sys"};

    return heft_str_starts(piece, HEFT_STR("__")) || is_one_of(piece, modules, HEFT_COUNT(modules));
}

enum heft_danger heft_scan_path_danger(struct heft_str path)
{
    size_t dot = path.n;

    if (path.n > LONGEST_PATH)
        return HEFT_DANGER;
    while (dot > 0 && path.p[dot - 1] != '.')
        dot--;
    for (size_t at = 0; at < dot;) {
        const struct heft_str piece = piece_at(path, at);

        if (is_module_step(piece))
            return HEFT_DANGER;
        at += piece.n + 1;
    }
    if (dot == 0)
        return HEFT_UNKNOWN;
    return heft_scan_danger((struct heft_str){path.p, dot - 1},
                            (struct heft_str){path.p + dot, path.n - dot}) == HEFT_DANGER
               ? HEFT_DANGER
               : HEFT_UNKNOWN;
}
