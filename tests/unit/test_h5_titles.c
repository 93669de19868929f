/* test_h5_titles.c: names of Keras variables: derived from paths, from config.json, or from
 * neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "h5_titled.h"

static struct heft_bytes bytes_of(const char *text)
{
    return (struct heft_bytes){(const uint8_t *)text, strlen(text)};
}

/* Compares the derived names of the entries with `names`; copies are left out. */
static void expect_with(const char *config, const char *lines, const char *names)
{
    struct heft_error err = {0};
    struct h5_titled t;
    char text[1024] = "";
    size_t used = 0;

    if (!h5_titled_open(&t, bytes_of(config), heft_str_of(lines), &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < t.r.n_entries; i++) {
        const struct heft_h5_entry *const e = &t.r.entries[i];
        const struct heft_str name = e->name.p ? e->name : e->path;

        if (!e->is_copy)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used ? " " : "",
                                     (int)name.n, name.p);
    }
    h5_titled_release(&t);
    assert_string_equal(text, names);
}

static void expect(const char *lines, const char *names)
{
    expect_with("", lines, names);
}

#define LAYER(module, name, title, more)                                                           \
    "{\"module\": " module ", \"class_name\": \"" name "\", \"config\": {\"name\": \"" title       \
    "\"" more "}}"
#define KERAS "\"keras.layers\""

static void paths(void **state)
{
    (void)state;
    expect("layers/dense_1/vars=a\nlayers/dense_1/vars/0\nlayers/dense_1/vars/1",
           "a/kernel a/bias");
    expect("layers/dense/vars=a\nlayers/dense/vars/0", "a/kernel");
    expect("layers/dense/vars=a\nlayers/dense/vars/0\nlayers/dense/vars/1\nlayers/dense/vars/2",
           "a/vars/0 a/vars/1 a/vars/2");
    expect("layers/lstm/vars=x\nlayers/lstm/cell/vars=lstm_cell\nlayers/lstm/cell/vars/0",
           "x/lstm_cell/vars/0");
    expect("layers/lstm/vars=x\nlayers/lstm/cell/vars=lstm_cell\nlayers/lstm/cell/vars/0\n"
           "layers/lstm/cell/vars/1",
           "x/lstm_cell/kernel x/lstm_cell/recurrent_kernel");
    expect("layers/m/vars=m\nlayers/m/_key_dense/vars=key\nlayers/m/_key_dense/vars/0",
           "m/key/kernel");
    expect("layers/functional/vars=f\nlayers/functional/layers/dense/vars=a\n"
           "layers/functional/layers/dense/vars/0",
           "a/kernel");
}

/* The name of an attribute says nothing about the class of the layer that it holds. */
static void attributes(void **state)
{
    (void)state;
    expect("dense/vars=norm\ndense/vars/0\ndense/vars/1", "norm/vars/0 norm/vars/1");
    expect("layers/block/vars=b\nlayers/block/dense/vars=norm\nlayers/block/dense/vars/0",
           "b/norm/vars/0");
    expect("layers/block/vars=b\nlayers/block/many/dense/vars=d\nlayers/block/many/dense/vars/0",
           "b/d/kernel");
    expect("layers/rnn/vars=r\nlayers/rnn/cell/vars=mine\nlayers/rnn/cell/vars/0\n"
           "layers/rnn/cell/vars/1",
           "r/mine/vars/0 r/mine/vars/1");
    expect("layers/time_distributed/vars=t\nlayers/time_distributed/layer/vars=dense\n"
           "layers/time_distributed/layer/vars/0",
           "t/dense/kernel");
}

/* The class must fit the shapes; a title may be the one that Keras makes of the class. */
static void shapes(void **state)
{
#define GROUP(title) "block/vars=" title "\nblock/vars/0"
    (void)state;
    expect("layers/dense/vars=a\nlayers/dense/vars/0#23\nlayers/dense/vars/1#3", "a/kernel a/bias");
    expect("layers/dense/vars=a\nlayers/dense/vars/0#23\nlayers/dense/vars/1#2",
           "a/vars/0 a/vars/1");
    expect("layers/dense/vars=a\nlayers/dense/vars/0#3\nlayers/dense/vars/1#3",
           "a/vars/0 a/vars/1");
    expect("layers/dense/vars=a\nlayers/dense/vars/0#23\nlayers/dense/vars/1#",
           "a/vars/0 a/vars/1");
    expect(GROUP("layer_normalization_12") "#3\nblock/vars/1#3",
           "layer_normalization_12/gamma layer_normalization_12/beta");
    expect(GROUP("layer_normalization") "#3\nblock/vars/1#4",
           "layer_normalization/vars/0 layer_normalization/vars/1");
    expect(GROUP("batch_normalization_1") "#3\nblock/vars/1#3",
           "batch_normalization_1/vars/0 batch_normalization_1/vars/1");
    expect(GROUP("dense_") "#23", "dense_/kernel");
    expect(GROUP("12") "#23", "12/vars/0");
    expect(GROUP("_1") "#23", "_1/vars/0");
    expect("layers/dense/vars=a\nlayers/dense/vars/0\nlayers/other/vars/0\nlayers/dense/vars/1",
           "a/vars/0 layers/other/vars/0 a/vars/1");
}

/* The root's name begins the names, unless it is a Functional model. */
static void roots(void **state)
{
    static const char dense[] = "vars=net\nlayers/dense/vars=a\nlayers/dense/vars/0";

    (void)state;
    expect(dense, "net/a/kernel");
    expect("vars=net\nlayers/input_layer/vars=i\nlayers/dense/vars=a\nlayers/dense/vars/0",
           "a/kernel");
    expect_with(LAYER("\"keras\"", "Functional", "net", ""), dense, "a/kernel");
    expect_with(LAYER("null", "Functional", "net", ""), dense, "net/a/kernel");
    expect_with(LAYER("\"keras\"", "Sequential", "net", ""), dense, "net/a/kernel");
    expect("vars=net\nlayers/functional/vars=f\nlayers/functional/layers/dense/vars=a\n"
           "layers/functional/layers/dense/vars/0",
           "a/kernel");
    expect("vars=net\nvars/0", "vars/0");
}

static void configs(void **state)
{
    (void)state;
    expect_with("[" LAYER(KERAS, "Dense", "d", "") "]",
                "layers/td/vars=t\nlayers/td/layer/vars=d\nlayers/td/layer/vars/0", "t/d/vars/0");
    expect_with("[" LAYER(KERAS, "Dense", "d", ", \"use_bias\": false") "]",
                "layers/td/vars=t\nlayers/td/layer/vars=d\nlayers/td/layer/vars/0", "t/d/kernel");
    expect_with("[" LAYER(KERAS, "BatchNormalization", "b", ", \"scale\": false") "]",
                "layers/batch_normalization/vars=b\nlayers/batch_normalization/vars/0#2\n"
                "layers/batch_normalization/vars/1#2\nlayers/batch_normalization/vars/2#2",
                "b/beta b/moving_mean b/moving_variance");
    /* classes of the user with names of Keras classes: with a name in the config, and without one
     */
    expect_with("[" LAYER("null", "Dense", "d", "") "]",
                "layers/dense/vars=d\nlayers/dense/vars/0\nlayers/dense/vars/1",
                "d/vars/0 d/vars/1");
    expect_with("[{\"module\": null, \"class_name\": \"Dense\", \"config\": {}}]",
                "layers/dense/vars=d\nlayers/dense/vars/0\nlayers/dense/vars/1",
                "d/vars/0 d/vars/1");
    /* two layers of the same name: of different classes, then of the same class */
    expect_with("[" LAYER(KERAS, "Dense", "d", "") ", " LAYER(KERAS, "Embedding", "d", "") "]",
                "layers/dense/vars=d\nlayers/dense/vars/0\nlayers/dense/vars/1",
                "d/vars/0 d/vars/1");
    expect_with("[" LAYER(KERAS, "Dense", "d", "") ", " LAYER(KERAS, "Dense", "d", "") "]",
                "layers/dense/vars=d\nlayers/dense/vars/0\nlayers/dense/vars/1", "d/kernel d/bias");
    /* names inside a nested model with an input layer do not contain the names before it */
    expect_with(LAYER("\"keras\"", "Sequential", "s",
                      ", \"layers\": [" LAYER(KERAS, "InputLayer", "i", "") "]"),
                "layers/td/vars=t\nlayers/td/layer/vars=s\nlayers/td/layer/layers/dense/vars=d\n"
                "layers/td/layer/layers/dense/vars/0",
                "s/d/kernel");
    expect_with(LAYER("\"keras\"", "Sequential", "s", ", \"layers\": []"),
                "layers/td/vars=t\nlayers/td/layer/vars=s\nlayers/td/layer/layers/dense/vars=d\n"
                "layers/td/layer/layers/dense/vars/0",
                "t/s/d/kernel");
}

static void copies(void **state)
{
    static const char config[] = "[" LAYER(KERAS, "SpectralNormalization", "sn", "") ", " LAYER(
        KERAS, "Dense", "d", ", \"use_bias\": false") "]";
#define GROUPS "layers/x/vars=sn\nlayers/x/layer/vars=d\n"

    (void)state;
    expect_with(config, GROUPS "layers/x/vars/0@4\nlayers/x/vars/1\nlayers/x/layer/vars/0@4",
                "sn/vector_u sn/d/kernel");
    expect_with(config, GROUPS "layers/x/vars/0@3\nlayers/x/vars/1\nlayers/x/layer/vars/0@4",
                "sn/vars/0 sn/vector_u sn/d/kernel");
    expect_with(config, GROUPS "layers/x/vars/0\nlayers/x/vars/1\nlayers/x/layer/vars/0",
                "sn/vars/0 sn/vector_u sn/d/kernel");
    expect_with("[" LAYER(KERAS, "SpectralNormalization", "sn", "") "]",
                GROUPS "layers/x/vars/0@4\nlayers/x/vars/1\nlayers/x/layer/vars/0@4",
                "sn/vars/0 sn/vector_u sn/d/vars/0");
}

static void refuse(const char *config)
{
    struct heft_error err = {0};
    struct h5_titled t;

    assert_false(h5_titled_open(&t, bytes_of(config), HEFT_STR(""), &err));
    assert_true(err.code == HEFT_MALFORMED && err.text[0]);
    h5_titled_release(&t);
}

static void no_configs(void **state)
{
    (void)state;
    refuse("{");
    refuse("[] x");
    refuse("{\"class_name\": \"Den");
    refuse("\"\xff\"");
    expect_with("7", "layers/dense/vars=d\nlayers/dense/vars/0", "d/kernel");
    expect_with("{\"config\": {\"class_name\": 7}, \"class_name\": [], \"module\": {}}",
                "layers/dense/vars=d\nlayers/dense/vars/0", "d/kernel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),  cmocka_unit_test(attributes), cmocka_unit_test(configs),
        cmocka_unit_test(copies), cmocka_unit_test(no_configs), cmocka_unit_test(shapes),
        cmocka_unit_test(roots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
