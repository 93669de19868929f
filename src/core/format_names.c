/* format_names.c: finds formats by the names that users give them and by the extension of the
 * output. Names of formats that cannot be written are refused with an alternative. All names are
 * data of the formats. */
#include "base/text.h"
#include "core/registry.h"

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 0x20) != (*b | 0x20))
            return false;
    return *a == *b;
}

static bool is_synonym(const struct heft_format *format, const char *word)
{
    for (const char *const *s = format->synonyms; s && *s; s++)
        if (same_word(*s, word))
            return true;
    return false;
}

const struct heft_format *heft_registry_named(const struct heft_formats *formats, const char *name)
{
    const struct heft_format *format = heft_registry_find(formats, name);

    for (size_t i = 0; !format && i < formats->n; i++)
        if (is_synonym(formats->list[i], name))
            format = formats->list[i];
    return format;
}

/* Alternative to writing the format `word`, for an error message; NULL if none is known. */
static const char *instead_of(const struct heft_formats *formats, const char *word)
{
    for (size_t i = 0; i <= formats->n; i++) {
        const struct heft_not_written *row = i < formats->n     ? formats->list[i]->not_written
                                             : formats->foreign ? formats->foreign->not_written
                                                                : NULL;

        for (; row && row->word; row++)
            if (same_word(row->word, word))
                return row->instead;
    }
    return NULL;
}

/* Text of the formats that can be read or written: "torch, safetensors, …". */
static void list_formats(const struct heft_formats *formats, char *text, size_t room, bool writes)
{
    const struct heft_format *format;
    size_t used = 0;

    for (size_t i = 0; (format = heft_registry_at(formats, i)); i++) {
        const size_t n = strlen(format->name);

        if (!(writes ? heft_format_writes(format) : format->open != NULL) || used + n + 3 > room)
            continue;
        if (used) {
            memcpy(text + used, ", ", 2);
            used += 2;
        }
        memcpy(text + used, format->name, n);
        used += n;
    }
    text[used] = '\0';
}

bool heft_registry_refuse_reader(const struct heft_formats *formats, const char *name,
                                 struct heft_error *err)
{
    char names[400];

    list_formats(formats, names, sizeof names, false);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no format \"%s\" can be read; expected one of %s", name, names);
}

bool heft_registry_refuse_writer(const struct heft_formats *formats, const char *name,
                                 struct heft_error *err)
{
    const char *const instead = instead_of(formats, name);
    char names[400];

    if (instead)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%s cannot be written: %s", name,
                         instead);
    list_formats(formats, names, sizeof names, true);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no format \"%s\" can be written; expected one of %s", name, names);
}

bool heft_registry_refuse_extension(const struct heft_formats *formats, const char *path,
                                    struct heft_error *err)
{
    const char *const dot = strrchr(path + heft_path_folder(path), '.');
    const char *const instead = dot ? instead_of(formats, dot + 1) : NULL;
    char names[400];

    if (instead)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%s: .%s cannot be written: %s",
                         path, dot + 1, instead);
    list_formats(formats, names, sizeof names, true);
    if (!dot)
        return heft_fail(
            err, HEFT_USAGE, HEFT_NO_OFFSET,
            "%s: it has no extension that names a format; end it with a slash if it is a "
            "directory, or name the format with option to: %s",
            path, names);
    return heft_fail(
        err, HEFT_USAGE, HEFT_NO_OFFSET,
        "%s: its extension names no format that can be written; name one with option to: %s", path,
        names);
}
