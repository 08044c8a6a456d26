/*
 * awk.h - the awk language: a parsed program, and running it.
 *
 * lex.c and parse.c turn the text into a tree, once, before a record is read; value.c has
 * strings, numbers and arrays; record.c the input, its records and fields; run.c walks
 * the tree; function.c and format.c are the built-in functions and printf.  The language
 * is POSIX awk with what agents use of gawk (gensub, match with an array, length of an
 * array, asort, strftime, RS as a regular expression, ...).  `cmd | getline`, `print |
 * cmd` and system() run cmd in this shell, never a process.
 */
#ifndef SHELL_BUILTIN_AWK_AWK_H
#define SHELL_BUILTIN_AWK_AWK_H

#include "search/regex.h"
#include "shell/cmd.h"

#define AWK_MAX_PROGRAM ((size_t)1 << 20)
#define AWK_MAX_DEPTH   1000 /* of function calls */

struct awk_string {
    int refs;
    size_t len;
    char data[]; /* NUL-terminated too */
};

enum awk_kind {
    AWK_UNSET,
    AWK_NUMBER,
    AWK_STRING,
    AWK_INPUT, /* text from outside that looks like a number: both */
};

/* A value owns a reference to its string; see awk_value_copy() and awk_value_free(). */
struct awk_value {
    enum awk_kind kind;
    double number;
    struct awk_string *string; /* AWK_STRING, AWK_INPUT */
};

/* $1 and so on: most are never looked at. */
struct awk_field {
    struct str text; /* in the record, until it is made a value */
    bool is_made;
    struct awk_value value;
};

struct awk_array;

enum awk_cell_kind { CELL_UNTYPED, CELL_VALUE, CELL_ARRAY, CELL_REF };

/* What a name stands for.  CELL_REF: a parameter that was given an untyped variable,
 * which becomes an array when the parameter is used as one. */
struct awk_cell {
    enum awk_cell_kind kind;
    bool borrowed; /* CELL_ARRAY: the array belongs to the caller */
    union {
        struct awk_value value;
        struct awk_array *array;
        struct awk_cell *ref;
    };
};

struct awk_string *awk_string_new(struct str s);
struct str awk_string_str(const struct awk_string *s);

struct awk_value awk_value_number(double n);
struct awk_value awk_value_text(struct str s);
struct awk_value awk_value_take(struct awk_string *s); /* takes over the reference */
struct awk_value awk_value_input(struct str s); /* AWK_INPUT if it looks like a number */
struct awk_value awk_value_copy(const struct awk_value *v);
void awk_value_free(struct awk_value *v);
double awk_value_to_number(const struct awk_value *v);
bool awk_value_is_true(const struct awk_value *v);

/* The text of a value; `format` for numbers that are no integers.  One more reference. */
struct awk_string *awk_value_to_string(const struct awk_value *v, const char *format);

/* The number at the start of a text; `*whole`: and nothing but blanks after it. */
double awk_number(struct str s, bool *whole);

/* -1, 0, 1 by awk's rules: as numbers if both are, else as text. */
int awk_value_compare(
        const struct awk_value *a, const struct awk_value *b, const char *format);

struct awk_array *awk_array_create(void);
void awk_array_clear(struct awk_array *a);
struct awk_cell *awk_array_get(struct awk_array *a, struct str key); /* made if missing */
struct awk_cell *awk_array_find(struct awk_array *a, struct str key);
void awk_array_delete(struct awk_array *a, struct str key);
size_t awk_array_count(const struct awk_array *a);
size_t awk_array_bytes(const struct awk_array *a);

/* Keys in the order in which they were made, each with a reference; yours to free. */
struct awk_string **awk_array_keys(const struct awk_array *a);

void awk_cell_clear(struct awk_cell *c);

enum awk_node_type {
    N_NUMBER,
    N_STRING,
    N_REGEX, /* alone: $0 ~ it */
    N_GLOBAL,
    N_LOCAL,
    N_FIELD,
    N_INDEX,  /* a: the array, list: subscripts */
    N_ASSIGN, /* op: 0 or the operator */
    N_COND,
    N_AND,
    N_OR,
    N_NOT,
    N_MINUS,
    N_PLUS,
    N_BINARY,
    N_CONCAT,
    N_COMPARE,
    N_MATCH, /* op: '~' or '!' */
    N_IN,
    N_PRE, /* op: +1 or -1 */
    N_POST,
    N_CALL,
    N_BUILTIN,
    N_GETLINE, /* op: 0, '<' or '|'; a: what is set or NULL, b: the source */
    N_GROUP,   /* (a, b) before `in`, or print's list */
    /* statements */
    N_EXPRESSION,
    N_PRINT, /* list; op: 0 '>' 'A' (>>) '|'; a: destination */
    N_PRINTF,
    N_IF,
    N_WHILE,
    N_DO,
    N_FOR,
    N_FOR_IN, /* a: variable, b: array, c: body */
    N_BLOCK,
    N_NEXT,
    N_NEXTFILE,
    N_EXIT,
    N_RETURN,
    N_BREAK,
    N_CONTINUE,
    N_DELETE,
    N_SWITCH, /* a: value, list: N_CASE */
    N_CASE,   /* a: value, regex or NULL for default, b: body */
};

enum awk_compare { LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL };

struct awk_node {
    enum awk_node_type type;
    int op;
    uint32_t line;
    size_t slot; /* global, local, function or built-in */
    double number;
    struct awk_value text; /* N_STRING, and the source of N_REGEX */
    struct regex *regex;
    struct awk_node *next_regex; /* of those that are compiled */
    struct awk_node *a, *b, *c, *d;
    struct awk_node **list;
    size_t count;
};

struct awk_function {
    struct str name;
    size_t parameters;
    struct awk_node *body; /* NULL: called, never defined */
};

enum awk_rule_type { RULE_MAIN, RULE_BEGIN, RULE_END, RULE_BEGINFILE, RULE_ENDFILE };

struct awk_rule {
    enum awk_rule_type type;
    struct awk_node *from, *to; /* patterns, or NULL */
    struct awk_node *body;      /* NULL: print $0 */
    bool active;                /* inside a range */
};

/* Variables that awk itself looks at; slots 0... of the globals. */
enum awk_special {
    V_NF,
    V_NR,
    V_FNR,
    V_FS,
    V_OFS,
    V_ORS,
    V_RS,
    V_SUBSEP,
    V_CONVFMT,
    V_OFMT,
    V_RSTART,
    V_RLENGTH,
    V_FILENAME,
    V_ENVIRON,
    V_ARGC,
    V_ARGV,
    V_RT,
    V_IGNORECASE,
    V_PROCINFO,
    V_SPECIAL_COUNT,
};

struct awk_program {
    struct arena *arena;
    struct awk_rule *rules;
    size_t rule_count, rule_cap;
    struct awk_function *functions;
    size_t function_count, function_cap;
    struct str *globals; /* names by slot */
    size_t global_count, global_cap;
    bool is_incomplete; /* it parsed, but calls a function that it does not define */
};

enum awk_builtin {
    F_ATAN2,
    F_COS,
    F_EXP,
    F_INT,
    F_LOG,
    F_RAND,
    F_SIN,
    F_SQRT,
    F_SRAND,
    F_GSUB,
    F_SUB,
    F_GENSUB,
    F_INDEX,
    F_LENGTH,
    F_MATCH,
    F_SPLIT,
    F_SPRINTF,
    F_SUBSTR,
    F_TOLOWER,
    F_TOUPPER,
    F_CLOSE,
    F_FFLUSH,
    F_SYSTEM,
    F_AND,
    F_OR,
    F_XOR,
    F_LSHIFT,
    F_RSHIFT,
    F_COMPL,
    F_STRTONUM,
    F_SYSTIME,
    F_STRFTIME,
    F_MKTIME,
    F_ASORT,
    F_ASORTI,
};

struct awk_builtin_entry {
    const char *name;
    enum awk_builtin id;
    int least, most; /* arguments */
};
const struct awk_builtin_entry *awk_builtin_find(struct str name);

/* Parse `text`, added to what is there.  Errors were reported: false. */
MUST_CHECK bool awk_parse(struct cmd *c, struct awk_program *program, struct str text);
size_t awk_global_slot(struct awk_program *program, struct str name);

/* "\n" and the other escapes of a string literal; appended to `out`. */
void awk_unescape(struct str text, struct buf *out);

struct awk;

enum awk_flow {
    AWK_GO_ON,
    AWK_NEXT,
    AWK_NEXTFILE,
    AWK_EXIT,
    AWK_RETURN,
    AWK_BREAK,
    AWK_CONTINUE,
};

struct awk_output {
    struct awk_output *next;
    struct str name;
    int kind; /* '>' 'A' '|' */
    struct stream *stream;
    struct buf piped; /* '|': what the command will get */
};

struct awk_source { /* of getline < file and cmd | getline */
    struct awk_source *next;
    struct str name;
    int kind; /* '<' '|' */
    struct stream *stream;
};

#define AWK_REGEX_CACHE 32

struct awk {
    struct cmd *cmd;
    struct awk_program *program;
    struct awk_cell *globals;
    struct awk_cell *frame; /* parameters of the running function */
    unsigned depth;
    enum awk_flow flow;
    int status;
    bool failed;              /* a fatal error was reported, or the output refused */
    struct awk_node *regexes; /* that were compiled, to be freed */
    struct awk_value result;  /* of `return` */
    uint32_t line;            /* being run, for messages */

    /* The record (record.c). */
    struct buf record, coming; /* $0, and where the next one is read into */
    bool record_valid;         /* false: $0 must be rebuilt from the fields */
    bool split_done;
    struct awk_field *fields; /* $1.. */
    size_t field_count, field_cap;
    struct stream *input;
    int next_arg;
    bool no_more_files;
    bool used_stdin;
    bool skip_file; /* nextfile */

    struct {
        struct awk_string *source;
        struct regex *regex;
        bool fold;
    } cache[AWK_REGEX_CACHE];
    struct awk_output *outputs;
    struct awk_source *sources;
    double seed;
    uint64_t random;
};

/* Report "awk: line N: ..." and end the program: status 2.  Returns false. */
bool awk_fatal(struct awk *a, const char *fmt, ...) PRINTF(2, 3);

int awk_run(struct cmd *c, struct awk_program *program, int argc, char **argv,
        char *const *assignments, size_t assignment_count, const char *fs);

/* Evaluate; the caller frees the value. */
struct awk_value awk_eval(struct awk *a, struct awk_node *n);
struct awk_array *awk_array_of(struct awk *a, struct awk_node *n);
void awk_assign(
        struct awk *a, struct awk_node *target, struct awk_value value); /* takes it */
struct awk_string *awk_text(struct awk *a, struct awk_node *n); /* evaluated, as text */
double awk_num(struct awk *a, struct awk_node *n);
struct awk_string *awk_string_of(struct awk *a, const struct awk_value *v);

struct awk_value awk_call_builtin(struct awk *a, struct awk_node *n);

/* Run a statement; the flow is in a->flow too. */
enum awk_flow awk_exec(struct awk *a, struct awk_node *n);

bool awk_is_true(struct awk *a, struct awk_node *n);
bool awk_stopped(const struct awk *a);
const char *awk_number_format(struct awk *a, enum awk_special which); /* CONVFMT, OFMT */
void awk_string_free(struct awk_string *s); /* give a reference back */

/* "a", SUBSEP, "b": the key of a[...], one more reference. */
struct awk_string *awk_subscript(struct awk *a, struct awk_node **list, size_t count);

/* The regular expression that a node means, from a literal or a string. */
struct regex *awk_regex(struct awk *a, struct awk_node *n);
struct regex *awk_regex_text(struct awk *a, struct str source);
bool awk_search(struct awk *a, struct regex *re, struct str text, size_t from,
        struct regex_match *m);

/* printf: the formatted text, appended. */
bool awk_format(struct awk *a, struct str format, struct awk_value *args, size_t count,
        struct buf *out);

/* record.c */
bool awk_next_record(struct awk *a); /* the main input */
bool awk_read_record(struct awk *a, struct stream *in, struct buf *out);
void awk_set_record(struct awk *a, struct str text);
struct str awk_get_record(struct awk *a);
struct awk_value awk_get_field(struct awk *a, size_t i);
void awk_set_field(struct awk *a, size_t i, struct awk_value value); /* takes it */
void awk_set_nf(struct awk *a, size_t count);
void awk_need_fields(struct awk *a);
void awk_split_text(struct awk *a, struct str text, struct str fs, struct regex *re,
        void (*add)(void *user, struct str field, struct str separator), void *user);
void awk_record_finish(struct awk *a);
struct str awk_special_text(struct awk *a, enum awk_special v); /* valid until assigned */
void awk_command_line_assign(struct awk *a, const char *text);

/* output.c: where print writes, what getline reads besides the main input */
bool awk_write(struct awk *a, int kind, struct str name, struct str text);
struct awk_source *awk_source_open(struct awk *a, int kind, struct str name);
int awk_close(struct awk *a, struct str name);
void awk_close_all(struct awk *a);
bool awk_flush(struct awk *a);
int awk_system(struct awk *a, struct str command, struct stream *in, struct stream *out);

#endif
