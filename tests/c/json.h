/*
 * A small JSON parser and the comparison of values. A value keeps its source text. Memory comes from a pool that is emptied as
 * a whole; any thread may use it.
 */

#ifndef JSON_H
#define JSON_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct block {
    struct block *next;
    max_align_t data[];
} block_t;

static struct {
    pthread_mutex_t mutex;
    block_t *first;
} pool = {PTHREAD_MUTEX_INITIALIZER, NULL};

static inline void *allocate(size_t size)
{
    block_t *block = calloc(1, sizeof(block_t) + size);

    if (!block)
        abort();
    pthread_mutex_lock(&pool.mutex);
    block->next = pool.first;
    pool.first = block;
    pthread_mutex_unlock(&pool.mutex);
    return block->data;
}

static inline void free_all(void)
{
    while (pool.first) {
        block_t *block = pool.first;

        pool.first = block->next;
        free(block);
    }
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* A growing text, terminated by a NUL. */
typedef struct {
    char *data;
    size_t length, room;
} text_t;

static inline void append(text_t *text, const char *data, size_t length)
{
    if (text->length + length + 1 > text->room) {
        char *before = text->data;

        text->room = 2 * (text->length + length) + 64;
        text->data = allocate(text->room);
        if (before)
            memcpy(text->data, before, text->length);
    }
    if (length)
        memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = 0;
}

static inline void print(text_t *text, const char *format, ...)
{
    char buffer[600];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof buffer)
        abort(); /* it is for short texts */
    append(text, buffer, (size_t)length);
}

/* Writes a text as JSON. */
static inline void print_string(text_t *out, const char *data, size_t length)
{
    print(out, "\"");
    for (size_t i = 0; i < length; i++) {
        if (data[i] == '"' || data[i] == '\\')
            print(out, "\\");
        if ((unsigned char)data[i] < ' ')
            print(out, "\\u%04x", (unsigned)data[i]);
        else
            append(out, data + i, 1);
    }
    print(out, "\"");
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef enum { NOTHING, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT } type_t;

typedef struct value {
    type_t type;
    double number;      /* also true and false */
    const char *string; /* of a string; NUL-terminated */
    size_t length;
    const char *text;   /* the source */
    size_t text_length;
    const char *name;   /* of a member */
    struct value *first, *next;
} value_t;

typedef struct {
    const char *at, *end;
    const char *wrong;
} reader_t;

static inline void skip_space(reader_t *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
}

static inline bool accept(reader_t *reader, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static inline unsigned hex(reader_t *reader)
{
    char digits[5] = "";

    if (reader->end - reader->at < 4) {
        reader->wrong = "a \\u without four digits";
        return 0;
    }
    memcpy(digits, reader->at, 4);
    reader->at += 4;
    return (unsigned)strtoul(digits, NULL, 16);
}

static inline void append_utf8(text_t *out, unsigned c)
{
    if (c < 0x80)
        append(out, (char[]){(char)c}, 1);
    else if (c < 0x800)
        append(out, (char[]){(char)(0xc0 | c >> 6), (char)(0x80 | (c & 63))}, 2);
    else if (c < 0x10000)
        append(out, (char[]){(char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))}, 3);
    else
        append(out, (char[]){(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)), (char)(0x80 | (c >> 6 & 63)),
                             (char)(0x80 | (c & 63))}, 4);
}

static inline void read_string(reader_t *reader, value_t *value)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    text_t out = {NULL, 0, 0};

    append(&out, "", 0);
    for (reader->at++; reader->at < reader->end && *reader->at != '"';) {
        const char *letter;

        if (*reader->at != '\\') {
            append(&out, reader->at++, 1);
            continue;
        }
        if (accept(reader, "\\u")) {
            unsigned c = hex(reader);

            if (c >= 0xd800 && c < 0xdc00 && accept(reader, "\\u"))
                c = 0x10000 + ((c - 0xd800) << 10) + (hex(reader) - 0xdc00);
            append_utf8(&out, c);
            continue;
        }
        letter = reader->at + 1 < reader->end && reader->at[1] ? strchr(letters, reader->at[1]) : NULL;
        if (!letter) {
            reader->wrong = "an escape that there is not";
            return;
        }
        append(&out, meanings + (letter - letters), 1);
        reader->at += 2;
    }
    if (!accept(reader, "\""))
        reader->wrong = "a string without an end";
    value->type = STRING;
    value->string = out.data;
    value->length = out.length;
}

static value_t *read_value(reader_t *reader);

static inline void read_members(reader_t *reader, value_t *value)
{
    const char *end = value->type == OBJECT ? "}" : "]";
    value_t **last = &value->first, name = {.type = NOTHING};

    reader->at++;
    for (skip_space(reader); !accept(reader, end); skip_space(reader)) {
        if (value->first && !accept(reader, ","))
            reader->wrong = "no comma";
        skip_space(reader);
        if (value->type == OBJECT) {
            if (reader->at == reader->end || *reader->at != '"')
                reader->wrong = "no name";
            else
                read_string(reader, &name);
            skip_space(reader);
            if (!accept(reader, ":"))
                reader->wrong = "no colon";
        }
        if (reader->wrong)
            return;
        *last = read_value(reader);
        if (!*last)
            return;
        (*last)->name = name.string;
        last = &(*last)->next;
    }
}

static value_t *read_value(reader_t *reader)
{
    value_t *value = allocate(sizeof *value);

    skip_space(reader);
    value->text = reader->at;
    if (reader->at == reader->end) {
        reader->wrong = "nothing";
    } else if (*reader->at == '{' || *reader->at == '[') {
        value->type = *reader->at == '{' ? OBJECT : ARRAY;
        read_members(reader, value);
    } else if (*reader->at == '"') {
        read_string(reader, value);
    } else if (accept(reader, "null")) {
        value->type = NOTHING;
    } else if (accept(reader, "true")) {
        value->type = BOOLEAN;
        value->number = 1;
    } else if (accept(reader, "false")) {
        value->type = BOOLEAN;
    } else {
        char *end;

        value->type = NUMBER;
        value->number = strtod(reader->at, &end); /* all texts are NUL-terminated */
        if (end == reader->at)
            reader->wrong = "no value";
        reader->at = end;
    }
    value->text_length = (size_t)(reader->at - value->text);
    return reader->wrong ? NULL : value;
}

/* Parses a NUL-terminated text, which has to outlive the value. Ends the program when it is not JSON. */
static inline value_t *parse(const char *text, size_t length)
{
    reader_t reader = {text, text + length, NULL};
    value_t *value = read_value(&reader);

    skip_space(&reader);
    if (!value || reader.at != reader.end) {
        printf("not JSON at %ld: %s: %.200s\n", (long)(reader.at - text), reader.wrong ? reader.wrong : "more", text);
        exit(1);
    }
    return value;
}

/* A member of an object; NULL where there is none. */
static inline const value_t *member(const value_t *value, const char *name)
{
    const value_t *found;

    for (found = value && value->type == OBJECT ? value->first : NULL; found; found = found->next)
        if (strcmp(found->name, name) == 0)
            return found;
    return NULL;
}

static inline const char *string_of(const value_t *value) { return value && value->type == STRING ? value->string : NULL; }

static inline bool is_string(const value_t *value, const char *text)
{
    return string_of(value) && strcmp(value->string, text) == 0;
}

static inline size_t count_of(const value_t *value)
{
    size_t count = 0;

    for (const value_t *each = value ? value->first : NULL; each; each = each->next)
        count++;
    return count;
}

/* Whether a value contains another: objects may have more members, all else is equal, and null is in everything. */
static inline bool contains(const value_t *value, const value_t *wanted)
{
    const value_t *a, *b;

    if (!wanted || wanted->type == NOTHING)
        return true;
    if (!value || value->type != wanted->type)
        return false;
    switch (wanted->type) {
    case OBJECT:
        for (b = wanted->first; b; b = b->next)
            if (!member(value, b->name) || !contains(member(value, b->name), b))
                return false;
        return true;
    case ARRAY:
        for (a = value->first, b = wanted->first; a && b && contains(a, b) && contains(b, a); a = a->next)
            b = b->next;
        return !a && !b;
    case STRING:
        return value->length == wanted->length && memcmp(value->string, wanted->string, wanted->length) == 0;
    default:
        return value->number == wanted->number;
    }
}

/* Adds the default members that were left out of an expected value (defaults.json). */
static inline void fill_in(value_t *value, const char *name, const value_t *defaults)
{
    for (const value_t *rule = defaults->first; value->type == OBJECT && rule; rule = rule->next) {
        const value_t *field, *place = member(rule, "in");

        if ((place && !is_string(place, name)) || !contains(value, member(rule, "with")))
            continue;
        for (field = member(rule, "fields")->first; field; field = field->next) {
            value_t **last = &value->first;

            if (member(value, field->name))
                continue;
            while (*last)
                last = &(*last)->next;
            *last = parse(field->text, field->text_length);
            (*last)->name = field->name;
        }
    }
    for (value_t *each = value->first; each; each = each->next)
        fill_in(each, value->type == OBJECT ? each->name : name, defaults);
}

/* Writes the first place where two values differ. False when there is none. */
static inline bool difference(text_t *out, const char *path, const value_t *got, const value_t *expected)
{
    char below[1000];
    const value_t *a, *b;
    size_t i = 0;

    if (got && expected && got->type == expected->type && got->type == OBJECT) {
        for (b = expected->first; b; b = b->next) {
            snprintf(below, sizeof below, "%s/%s", path, b->name);
            if (difference(out, below, member(got, b->name), b))
                return true;
        }
        for (a = got->first; a; a = a->next) {
            snprintf(below, sizeof below, "%s/%s", path, a->name);
            if (!member(expected, a->name) && difference(out, below, a, NULL))
                return true;
        }
        return false;
    }
    if (got && expected && got->type == expected->type && got->type == ARRAY) {
        for (a = got->first, b = expected->first; a || b; a = a ? a->next : NULL, b = b ? b->next : NULL) {
            snprintf(below, sizeof below, "%s/%zu", path, i++);
            if (difference(out, below, a, b))
                return true;
        }
        return false;
    }
    if (got && expected && got->type == expected->type && contains(got, expected) && contains(expected, got))
        return false;
    append(out, path, strlen(path));
    print(out, ": got ");
    append(out, got ? got->text : "nothing", got ? got->text_length : 7);
    print(out, ", expected ");
    append(out, expected ? expected->text : "nothing", expected ? expected->text_length : 7);
    return true;
}

/* Parses a file. NULL when there is none. */
static inline value_t *parse_file(const char *path)
{
    char buffer[4096];
    text_t text = {NULL, 0, 0};
    size_t length;
    FILE *file = fopen(path, "rb");

    if (!file)
        return NULL;
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        append(&text, buffer, length);
    fclose(file);
    return parse(text.data, text.length);
}

/* Writes an object without one or two of its members. */
static inline void print_without(text_t *out, const value_t *object, const char *one, const char *other)
{
    size_t written = 0;

    print(out, "{");
    for (const value_t *each = object->first; each; each = each->next) {
        if ((one && strcmp(each->name, one) == 0) || (other && strcmp(each->name, other) == 0))
            continue;
        append(out, ",", written++ ? 1 : 0);
        print_string(out, each->name, strlen(each->name));
        print(out, ":");
        append(out, each->text, each->text_length);
    }
    print(out, "}");
}

/* Writes a value's source, or the default where there is none. */
static inline void print_value(text_t *out, const value_t *value, const char *otherwise)
{
    append(out, value ? value->text : otherwise, value ? value->text_length : strlen(otherwise));
}

#endif /* JSON_H */
