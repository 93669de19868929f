/* py_module.c: the extension module heft._heft: its functions and types. */
#include "py_handle.h"

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(heft_version());
}

/* parse_bytes(text): a size as "5GB", in bytes. */
static PyObject *parse_bytes(PyObject *module, PyObject *text)
{
    struct heft_error err = {0};
    const char *p;
    uint64_t bytes;

    (void)module;
    p = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!p)
        return NULL;
    return heft_parse_bytes(p, &bytes, &err) ? PyLong_FromUnsignedLongLong(bytes) : py_raise(&err);
}

static bool append_options(PyObject *list, const char *format)
{
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);

    for (size_t i = 0; heft_format_option_at(format, i, &o); i++)
        if (!py_append(list, Py_BuildValue("ssNN", format, o.name,
                                           PyBool_FromLong(o.use == HEFT_OPTION_READS),
                                           PyBool_FromLong(o.kind == HEFT_OPTION_FLAG))))
            return false;
    return true;
}

/* format_options(): the options that formats have. */
static PyObject *format_options(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    struct heft_format_info info = HEFT_INIT(struct heft_format_info);
    bool ok = list;

    (void)module;
    (void)unused;
    for (size_t i = 0; ok && heft_format_at(i, &info); i++)
        ok = append_options(list, info.name);
    if (!ok)
        Py_CLEAR(list);
    return list;
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "Version of libheft."},
    {"command", py_command, METH_O, "Runs the command and ends the process."},
    {"parse_bytes", parse_bytes, METH_O, "Size in bytes of a text such as '5GB'."},
    {"split", PY_FAST(py_split), METH_FASTCALL, "split(sizes, storages, max_shard_size, pattern)"},
    {"scan", py_scan, METH_VARARGS, "scan(path)"},
    {"save", py_save, METH_VARARGS,
     "save(tensors, metadata, path, to, no_sync, options, progress)"},
    {"diff", py_diff, METH_VARARGS, "diff(a, b, …)"},
    {"format_options", format_options, METH_NOARGS, "[(format, name, reads, is flag)]"},
    {"rules_numbered", py_rules_numbered, METH_O, "rules_numbered(rules)"},
    {"rules_presets", py_rules_presets, METH_NOARGS, "[(name, title, text)]"},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "heft._heft",
                                        .m_doc = "libheft for Python.", .m_size = -1,
                                        .m_methods = functions};

static bool add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
    PyObject *const type = PyType_FromSpec(spec);
    const bool ok = type && PyModule_AddObjectRef(module, name, type) == 0;

    Py_XDECREF(type);
    return ok;
}

PyMODINIT_FUNC PyInit__heft(void);
PyMODINIT_FUNC PyInit__heft(void)
{
    PyObject *const module = PyModule_Create(&definition);

    if (module && py_error_ready() && add_type(module, "Encoding", &py_encoding_spec) &&
        add_type(module, "Handle", &py_handle_spec) &&
        add_type(module, "Objects", &py_objects_spec) &&
        add_type(module, "Tensor", &py_tensor_spec) && py_memory_ready())
        return module;
    Py_XDECREF(module);
    return NULL;
}
