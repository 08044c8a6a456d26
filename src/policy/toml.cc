/*
 * The bridge to toml++: no exceptions, no names that others could see, and no way for a
 * document to make it use more stack than there is.
 */
#include <algorithm>
#include <cassert>
#include <csignal>
#include <cstdlib>
#include <cstring>

#define TOML_HEADER_ONLY       1
#define TOML_EXCEPTIONS        0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 32
/* One of its assertions does not hold for a "[" at the end of a line; the code behind it
 * reports that as the error it is. */
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

extern "C" {
#include "base/utf8.h"
#include "policy/toml.h"
}

static_assert(TOML_MAX_DEPTH == TOML_MAX_NESTED_VALUES, "one limit");

namespace
{

constexpr size_t MAX_DESCRIPTION = 300; /* of an error, in bytes */

/* Skips text that toml++ reads before it makes a table, to find keys of too many parts.
 */
class key_scanner
{
  public:
    explicit key_scanner(struct str text) : text_(text)
    {
    }

    /* The line of such a key, or 0. */
    unsigned run()
    {
        while (at_ < text_.len) {
            char c = text_.data[at_];
            if (c == '"' || c == '\'')
                skip_string(c);
            else if (c == '#')
                skip_to('\n');
            else
                step(c);
            if (dots_ >= TOML_MAX_DEPTH)
                return line_;
        }
        return 0;
    }

  private:
    void step(char c)
    {
        line_ += c == '\n';
        if (c == '.')
            dots_++;
        else if (strchr("\n=[]{},", c))
            dots_ = 0;
        at_++;
    }

    void skip_to(char c)
    {
        while (at_ < text_.len && text_.data[at_] != c)
            at_++;
    }

    bool starts(char quote, size_t count) const
    {
        for (size_t i = 0; i < count; i++)
            if (at_ + i >= text_.len || text_.data[at_ + i] != quote)
                return false;
        return true;
    }

    void skip_string(char quote)
    {
        size_t quotes = starts(quote, 3) ? 3 : 1;
        at_ += quotes;
        while (at_ < text_.len && !starts(quote, quotes)) {
            if (quotes == 1 && text_.data[at_] == '\n')
                return; /* no string: an error that toml++ will find */
            if (text_.data[at_] == '\\' && quote == '"' && at_ + 1 < text_.len &&
                    text_.data[at_ + 1] != '\n')
                at_++;
            line_ += text_.data[at_] == '\n';
            at_++;
        }
        at_ += quotes;
        while (quotes == 3 && starts(quote, 1)) /* up to two more belong to it */
            at_++;
    }

    struct str text_;
    size_t at_ = 0;
    unsigned line_ = 1, dots_ = 0;
};

bool before(const struct toml_item &a, const struct toml_item &b)
{
    return a.origin.line != b.origin.line ? a.origin.line < b.origin.line
                                          : a.column < b.column;
}

/* `node` as a value; `depth` tables and arrays are around it. */
class converter
{
  public:
    converter(const char *file, struct arena *arena, struct error *err)
        : file_(file), arena_(arena), err_(err)
    {
    }

    bool convert(const toml::node &node, unsigned depth, struct toml_value *out)
    {
        *out = toml_value{};
        out->origin = { file_, node.source().begin.line };
        out->column = node.source().begin.column;
        if (depth > TOML_MAX_DEPTH)
            return too_deep(out->origin.line);
        if (node.is_table())
            return convert_table(*node.as_table(), depth, out);
        if (node.is_array())
            return convert_array(*node.as_array(), depth, out);
        convert_plain(node, out);
        return true;
    }

  private:
    bool too_deep(unsigned line)
    {
        error_set(err_, ERR_LIMIT, "more than %d tables and arrays in each other",
                TOML_MAX_DEPTH);
        return error_context(err_, "%s:%u", file_, line);
    }

    struct str copy(std::string_view text)
    {
        return arena_str(arena_, { text.data(), text.size() });
    }

    void make_items(size_t count, struct toml_value *out)
    {
        out->count = count;
        out->items = static_cast<struct toml_item *>(
                arena_zalloc(arena_, (count + 1) * sizeof(struct toml_item)));
    }

    bool convert_table(const toml::table &table, unsigned depth, struct toml_value *out)
    {
        out->type = TOML_TABLE;
        make_items(table.size(), out);
        struct toml_item *item = out->items;
        for (auto &&[key, node] : table) {
            item->key = copy(key.str());
            item->origin = { file_, key.source().begin.line };
            item->column = key.source().begin.column;
            if (!convert(node, depth + 1, &item++->value))
                return false;
        }
        std::sort(out->items, out->items + out->count, before);
        return true;
    }

    bool convert_array(const toml::array &array, unsigned depth, struct toml_value *out)
    {
        out->type = TOML_ARRAY;
        make_items(array.size(), out);
        struct toml_item *item = out->items;
        for (const toml::node &node : array) {
            if (!convert(node, depth + 1, &item->value))
                return false;
            item->origin = item->value.origin;
            item->column = item->value.column;
            item++;
        }
        return true;
    }

    void convert_plain(const toml::node &node, struct toml_value *out)
    {
        out->type = TOML_DATE;
        if (auto text = node.as_string()) {
            out->type = TOML_STRING;
            out->text = copy(text->get());
        } else if (auto integer = node.as_integer()) {
            out->type = TOML_INTEGER;
            out->integer = integer->get();
            out->real = static_cast<double>(out->integer);
        } else if (auto real = node.as_floating_point()) {
            out->type = TOML_REAL;
            out->real = real->get();
        } else if (auto truth = node.as_boolean()) {
            out->type = TOML_BOOL;
            out->truth = truth->get();
        }
    }

    const char *file_;
    struct arena *arena_;
    struct error *err_;
};

/* The line of the first byte that is not UTF-8, or 0. */
unsigned bad_utf8_line(struct str text)
{
    unsigned line = 1;
    uint32_t code;
    for (size_t at = 0, size; at < text.len; at += size) {
        size = utf8_decode(str_from(text, at), &code);
        if (!size)
            return line;
        line += text.data[at] == '\n';
    }
    return 0;
}

bool fail(const char *file, unsigned line, struct error *err)
{
    return error_context(err, "%s:%u", file, line);
}

} // namespace

extern "C" bool toml_parse(struct str text, const char *file, struct arena *arena,
        struct toml_value *out, struct error *err)
{
    unsigned line = bad_utf8_line(text);
    if (line) {
        error_set(err, ERR_INVALID, "the text is not UTF-8");
        return fail(file, line, err);
    }
    line = key_scanner(text).run();
    if (line) {
        error_set(err, ERR_LIMIT, "a key has more than %d parts", TOML_MAX_DEPTH);
        return fail(file, line, err);
    }
    toml::parse_result result = toml::parse(std::string_view{ text.data, text.len });
    if (result)
        return converter(file, arena, err).convert(result.table(), 0, out);
    std::string what(result.error().description().substr(0, MAX_DESCRIPTION));
    std::replace_if(
            what.begin(), what.end(),
            [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
    error_set(err, ERR_INVALID, "not TOML: %s", what.c_str());
    return fail(file, result.error().source().begin.line, err);
}
