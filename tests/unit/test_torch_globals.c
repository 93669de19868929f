/* test_torch_globals.c: meaning of the globals in pickles, and the danger that scan reports for
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scan/scan_names.h"
#include "format/torch/pickle/torch_globals.h"

static const struct heft_torch_global *look(const char *module, const char *name)
{
    return heft_torch_lookup(heft_str_of(module), heft_str_of(name));
}

static enum heft_danger judge(const char *module, const char *name)
{
    return heft_scan_danger(heft_str_of(module), heft_str_of(name));
}

/* Entries across the table, some of which the binary search would miss if the table were not
 * sorted. */
static void each_kind_of_name_is_found(void **state)
{
    static const struct {
        const char *module, *name;
        uint8_t kind, dtype;
    } cases[] = {
        {"_codecs", "encode", HEFT_TORCH_ENCODE, HEFT_DTYPE_COUNT},
        {"argparse", "Namespace", HEFT_TORCH_NAMESPACE, HEFT_DTYPE_COUNT},
        {"collections", "OrderedDict", HEFT_TORCH_MAPPING, HEFT_DTYPE_COUNT},
        {"torch", "BFloat16Storage", HEFT_TORCH_STORAGE, HEFT_BF16},
        {"torch", "QUInt8Storage", HEFT_TORCH_STORAGE, HEFT_DTYPE_COUNT},
        {"torch", "Size", HEFT_TORCH_TUPLE, HEFT_DTYPE_COUNT},
        {"torch", "float8_e8m0fnu", HEFT_TORCH_DTYPE, HEFT_F8_E8M0},
        {"torch", "uint16", HEFT_TORCH_DTYPE, HEFT_U16},
        {"torch", "uint8", HEFT_TORCH_DTYPE, HEFT_U8},
        {"torch._utils", "_rebuild_tensor_v3", HEFT_TORCH_REBUILD_V3, HEFT_DTYPE_COUNT},
        {"torch.storage", "_load_from_bytes", HEFT_TORCH_LOAD_BYTES, HEFT_DTYPE_COUNT},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        const struct heft_torch_global *known = look(cases[i].module, cases[i].name);

        assert_non_null(known);
        assert_int_equal(known->kind, cases[i].kind);
        assert_int_equal(known->dtype, cases[i].dtype);
    }
}

static void old_names_are_aliases_of_new_ones(void **state)
{
    (void)state;
    assert_ptr_equal(look("__builtin__", "set"), look("builtins", "set"));
    assert_ptr_equal(look("torch.cuda", "FloatStorage"), look("torch", "FloatStorage"));
    assert_ptr_equal(look("torch.tensor", "_rebuild_from_type_v2"),
                     look("torch._tensor", "_rebuild_from_type_v2"));
    assert_ptr_equal(look("numpy._core.multiarray", "scalar"),
                     look("numpy.core.multiarray", "scalar"));
    assert_null(look("torch.cuda", "float32"));
}

static void dotted_names_are_other_names(void **state)
{
    (void)state;
    assert_null(look("torch", "_utils._rebuild_tensor_v2"));
    assert_null(look("torch._utils", "_rebuild_tensor_v2.__globals__"));
    assert_int_equal(judge("torch", "_utils._rebuild_tensor_v2"), HEFT_DANGER);
    assert_int_equal(judge("torch.serialization", "os.system"), HEFT_DANGER);
    assert_int_equal(judge("collections", "OrderedDict.__reduce__"), HEFT_DANGER);
    assert_int_equal(judge("my.module", "Outer.Inner"), HEFT_UNKNOWN);
}

static void names_have_their_danger(void **state)
{
    static const struct {
        const char *module, *name;
        enum heft_danger danger;
    } cases[] = {
        {"torch._utils", "_rebuild_tensor_v2", HEFT_ALLOWED},
        {"collections", "OrderedDict", HEFT_ALLOWED},
        {"__builtin__", "set", HEFT_ALLOWED},
        {"torch", "float32", HEFT_ALLOWED},
        {"argparse", "Namespace", HEFT_UNKNOWN},
        {"numpy.core.multiarray", "_reconstruct", HEFT_UNKNOWN},
        {"torch.storage", "_load_from_bytes", HEFT_UNKNOWN},
        {"my.types", "Config", HEFT_UNKNOWN},
        {"osmnx", "graph", HEFT_UNKNOWN},
        {"os", "system", HEFT_DANGER},
        {"os.path", "join", HEFT_DANGER},
        {"posix", "system", HEFT_DANGER},
        {"subprocess", "Popen", HEFT_DANGER},
        {"__builtin__", "eval", HEFT_DANGER},
        {"builtins", "getattr", HEFT_DANGER},
        {"commands", "getoutput", HEFT_DANGER},
        {"cPickle", "loads", HEFT_DANGER},
        {"pip._internal", "main", HEFT_DANGER},
        {"torch", "load", HEFT_DANGER},
        {"torch.hub", "load", HEFT_DANGER},
        {"numpy.testing._private.utils", "runstring", HEFT_DANGER},
        {"asyncio.unix_events", "_UnixSubprocessTransport._start", HEFT_DANGER},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++)
        if (judge(cases[i].module, cases[i].name) != cases[i].danger)
            fail_msg("%s.%s has danger %d", cases[i].module, cases[i].name,
                     (int)judge(cases[i].module, cases[i].name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_name_is_found),
        cmocka_unit_test(old_names_are_aliases_of_new_ones),
        cmocka_unit_test(dotted_names_are_other_names),
        cmocka_unit_test(names_have_their_danger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
