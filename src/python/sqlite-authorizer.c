#include "python/import-rules.h"
#include "python/sqlite-parts.h"

/* What SQLite asks for, and its answers (sqlite3.h). */
enum action {
    ACTION_PRAGMA = 19,
    ACTION_READ = 20,
    ACTION_SELECT = 21,
    ACTION_TRANSACTION = 22,
    ACTION_FUNCTION = 31,
    ACTION_RECURSIVE = 33,
};
enum answer { ANSWER_OK = 0, ANSWER_DENY = 1 };

#define LIMIT_ATTACHED 7

static const char *const action_names[] = { "", "CREATE INDEX", "CREATE TABLE",
    "CREATE TEMP INDEX", "CREATE TEMP TABLE", "CREATE TEMP TRIGGER", "CREATE TEMP VIEW",
    "CREATE TRIGGER", "CREATE VIEW", "DELETE", "DROP INDEX", "DROP TABLE",
    "DROP TEMP INDEX", "DROP TEMP TABLE", "DROP TEMP TRIGGER", "DROP TEMP VIEW",
    "DROP TRIGGER", "DROP VIEW", "INSERT", "PRAGMA", "READ", "SELECT", "TRANSACTION",
    "UPDATE", "ATTACH", "DETACH", "ALTER TABLE", "REINDEX", "ANALYZE",
    "CREATE VIRTUAL TABLE", "DROP VIRTUAL TABLE", "FUNCTION", "SAVEPOINT", "RECURSIVE" };

/* Of the connection that is at work in this thread; the first since it was cleared. */
static _Thread_local char refused[128];

static bool is_among(const char *word, const char *const *words, size_t count)
{
    return word && str_which(str_of(word), words, count) < count;
}

/* They tell about the schema, whatever they are given. */
static const char *const telling[] = { "collation_list", "compile_options",
    "database_list", "foreign_key_check", "foreign_key_list", "function_list",
    "index_info", "index_list", "index_xinfo", "integrity_check", "module_list",
    "pragma_list", "quick_check", "table_info", "table_list", "table_xinfo" };

/* They tell a value, and would set it if they were given one. */
static const char *const settings[] = { "application_id", "auto_vacuum", "busy_timeout",
    "cache_size", "data_version", "encoding", "foreign_keys", "freelist_count",
    "journal_mode", "locking_mode", "page_count", "page_size", "query_only",
    "schema_version", "synchronous", "user_version" };

static const char *const harmful[] = { "edit", "fts3_tokenizer", "load_extension",
    "readfile", "writefile" };

static bool permits(int action, const char *first, const char *second)
{
    switch (action) {
    case ACTION_READ:
    case ACTION_SELECT:
    case ACTION_RECURSIVE:
    case ACTION_TRANSACTION: /* it changes nothing by itself */
        return true;
    case ACTION_FUNCTION:
        return second && !is_among(second, harmful, ARRAY_LEN(harmful));
    case ACTION_PRAGMA:
        return is_among(first, telling, ARRAY_LEN(telling)) ||
               (!second && is_among(first, settings, ARRAY_LEN(settings)));
    default:
        return false;
    }
}

static void note(int action, const char *first)
{
    bool known = action > 0 && action < (int)ARRAY_LEN(action_names);
    auto_buf text = BUF(sizeof(refused) - 1);
    if (refused[0])
        return;
    buf_addf(&text, "%s", known ? action_names[action] : "this statement");
    if (action == ACTION_PRAGMA && first)
        buf_addf(&text, " %.60s", first);
    memcpy(refused, text.data, text.len + 1);
}

static PyObject *authorize(PyObject *self UNUSED, PyObject *args)
{
    int action;
    const char *first, *second, *database, *trigger;
    if (!PyArg_ParseTuple(args, "izzzz", &action, &first, &second, &database, &trigger)) {
        PyErr_Clear();
        return PyLong_FromLong(ANSWER_DENY);
    }
    if (permits(action, first, second))
        return PyLong_FromLong(ANSWER_OK);
    note(action, first);
    return PyLong_FromLong(ANSWER_DENY);
}

static PyMethodDef method = { "authorize", authorize, METH_VARARGS, NULL };

bool sqlite_restrain(PyObject *connection)
{
    auto_ref *only =
            PyObject_CallMethod(connection, "execute", "s", "PRAGMA query_only = 1");
    auto_ref *schema = only ? PyObject_CallMethod(connection, "execute", "s",
                                      "PRAGMA trusted_schema = 0")
                            : NULL;
    auto_ref *limit =
            schema ? PyObject_CallMethod(connection, "setlimit", "ii", LIMIT_ATTACHED, 0)
                   : NULL;
    auto_ref *function = limit ? PyCFunction_New(&method, NULL) : NULL;
    auto_ref *done =
            function ? PyObject_CallMethod(connection, "set_authorizer", "O", function)
                     : NULL;
    refused[0] = 0;
    return done;
}

static void add_rule(struct refusal *why)
{
    const struct policy_text *rule = imports_override(STR("sqlite3"));
    if (rule) {
        why->origin = rule->origin;
        buf_add(&why->rule, STR("[import_overrides] sqlite3 = true"));
    }
    buf_add(&why->hint,
            STR("A snippet reads databases: SELECT, and PRAGMA table_info and its like. "
                "Keep what you work out in Python, and write results with csv or json."));
}

PyObject *sqlite_explain(void)
{
    if (!refused[0])
        return NULL;
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "sqlite", NULL);
    buf_addf(&why.what, "not authorized: %s is not permitted", refused);
    add_rule(&why);
    refused[0] = 0;
    return guard_refuse(type, &why);
}
