/*
 * ast.h - a parsed script: what parse.c makes and everybody else only reads.
 *
 * The tree is immutable and lives in the arena of its script.  Everything that can be
 * decided from the text alone is decided here, once: quoting, brace expansion,
 * arithmetic, patterns of [[ ]], here-documents.  Nothing is parsed again by other rules
 * at run time (invariant 8), except text that only exists then (eval, source, a subscript
 * with an expansion inside).
 */
#ifndef SHELL_AST_H
#define SHELL_AST_H

#include "base/str.h"

struct command;
struct node;
struct word;

struct pos {
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1, in bytes */
};

enum arith_type {
    ARITH_NUMBER,  /* value */
    ARITH_VAR,     /* name, with optional `index` */
    ARITH_WORD,    /* `word`: an expansion used as an operand ($x, ${x}, $(cmd)) */
    ARITH_UNARY,   /* op: '+' '-' '!' '~' */
    ARITH_PRE_INC, /* ++a; a is ARITH_VAR */
    ARITH_PRE_DEC,
    ARITH_POST_INC,
    ARITH_POST_DEC,
    ARITH_BINARY,  /* op below */
    ARITH_ASSIGN,  /* a op= b; op 0: plain */
    ARITH_TERNARY, /* a ? b : c */
    ARITH_COMMA,   /* a, b */
};

/* Binary operators that are one character are that character. */
enum arith_op {
    OP_SHL = 256, /* << */
    OP_SHR,
    OP_LE,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_AND, /* && */
    OP_OR,  /* || */
    OP_POW, /* ** */
};

struct arith {
    enum arith_type type;
    int op;
    int64_t value;
    struct str name;
    struct word
            *word; /* ARITH_WORD; or the subscript of ARITH_VAR as a word (assoc keys) */
    struct arith *index; /* the subscript of ARITH_VAR as arithmetic, or NULL */
    struct arith *a, *b, *c;
};

/*
 * An arithmetic expression as written.  `tree` is NULL when it cannot be parsed before
 * its expansions are known (`$(( 2 $op 3 ))`): then `text` is expanded and parsed at run
 * time. It is also the fallback when an operand expands to something that is no plain
 * number.
 */
struct arith_expr {
    struct word *text;
    struct arith *tree;
    struct pos pos;
};

enum part_type {
    PART_TEXT,    /* text; `quoted` text is literal to globs, patterns and splitting */
    PART_PARAM,   /* $x, ${...} */
    PART_COMMAND, /* $(...), `...`: body (NULL: empty); file: `$(<file)` */
    PART_ARITH,   /* $((...)), $[...] */
    PART_PROCESS, /* <(...), >(...) */
    PART_TILDE,   /* text: the user name after ~, or "" */
    PART_BRACES,  /* {a,b}: items */
    PART_RANGE,   /* {1..5..2}, {a..e} */
};

enum param_op {
    PARAM_VALUE,            /* ${x} */
    PARAM_LENGTH,           /* ${#x} */
    PARAM_DEFAULT,          /* - and :- */
    PARAM_ASSIGN,           /* = */
    PARAM_REQUIRE,          /* ? */
    PARAM_ALTERNATE,        /* + */
    PARAM_TRIM_PREFIX,      /* # */
    PARAM_TRIM_PREFIX_LONG, /* ## */
    PARAM_TRIM_SUFFIX,      /* % */
    PARAM_TRIM_SUFFIX_LONG, /* %% */
    PARAM_REPLACE,          /* / */
    PARAM_REPLACE_ALL,      /* // */
    PARAM_REPLACE_PREFIX,   /* /# */
    PARAM_REPLACE_SUFFIX,   /* /% */
    PARAM_SUBSTRING,        /* :offset:length */
    PARAM_UPPER_FIRST,      /* ^ */
    PARAM_UPPER,            /* ^^ */
    PARAM_LOWER_FIRST,      /* , */
    PARAM_LOWER,            /* ,, */
    PARAM_TOGGLE_FIRST,     /* ~ */
    PARAM_TOGGLE,           /* ~~ */
    PARAM_TRANSFORM,        /* @Q @E @P @A @K @a @k @U @u @L: letter in `transform` */
    PARAM_NAMES,            /* ${!prefix*} and ${!prefix@}: `star` tells */
    PARAM_KEYS,             /* ${!a[@]} and ${!a[*]} */
};

enum subscript { SUB_NONE, SUB_INDEX, SUB_AT, SUB_STAR };

struct param {
    struct str name; /* a name, digits, or one of @ * # ? - $ ! */
    enum param_op op;
    bool indirect; /* ${!x...} */
    bool colon;    /* the `:` of `:-` and its kind */
    bool star;
    enum subscript subscript;
    struct word *index;             /* SUB_INDEX, as a word */
    struct arith_expr *index_arith; /* the same as arithmetic */
    struct word *arg;               /* default, pattern, message; NULL: none */
    struct word *replacement;       /* PARAM_REPLACE*; NULL: none */
    struct arith_expr *offset, *length;
    char transform;
    struct pos pos;
    struct str source; /* "${x:-y}" as written, for messages */
};

struct part {
    enum part_type type;
    bool quoted; /* inside "..." or '...' or $'...' or after a backslash */
    struct str text;
    union {
        struct param *param;
        struct arith_expr *arith;
        struct {
            struct node *body;
            bool writer; /* PART_PROCESS: >( ) */
        } command;
        struct {
            struct word **items;
            size_t count;
        } braces;
        struct {
            int64_t from, to, step; /* step not 0; letters are their code */
            int width;              /* zero padding; 0: none */
            bool letters;
        } range;
    };
};

struct word {
    struct part *parts;
    size_t count;
    struct pos pos;
    struct str source; /* as written, for messages and printing */
    bool is_literal; /* one unquoted-or-quoted text without glob, tilde, brace: `literal`
                      */
    bool has_braces; /* a PART_BRACES or PART_RANGE is somewhere in it */
    unsigned height; /* levels of tree below it, for the parser's limit */
    struct str literal; /* NUL-terminated; valid when is_literal */
};

enum redirect_type {
    REDIR_READ,        /* < */
    REDIR_WRITE,       /* > */
    REDIR_CLOBBER,     /* >| */
    REDIR_APPEND,      /* >> */
    REDIR_READ_WRITE,  /* <> */
    REDIR_DUP_READ,    /* <& */
    REDIR_DUP_WRITE,   /* >&; a word with expansions may turn out to be a file */
    REDIR_BOTH,        /* &> and the >&word form */
    REDIR_BOTH_APPEND, /* &>> */
    REDIR_HEREDOC,     /* <<, <<-: `target` is the body, expanded unless it was quoted */
    REDIR_HERESTRING,  /* <<< */
};

struct redirect {
    enum redirect_type type;
    int fd;             /* -1: the default of the operator */
    struct str fd_name; /* {name}>...: the variable, or "" */
    struct word *target;
    struct str delimiter; /* REDIR_HEREDOC: the word that ends the body, unquoted */
    bool is_quoted;       /* REDIR_HEREDOC: the delimiter was quoted */
    bool strip_tabs;      /* <<-; the body is stripped already */
    struct pos pos;
};

enum assign_flags {
    ASSIGN_APPEND = 1 << 0, /* += */
    ASSIGN_ARRAY = 1 << 1,  /* name=( ... ) */
};

struct array_item {
    struct word *key; /* [key]=value; NULL: the next index */
    struct arith_expr *key_arith;
    struct word *value;
    struct word *braced; /* [key]=value as one word, if it has braces: of an indexed array
                            it is that word, brace-expanded; else NULL */
    bool append;         /* [key]+=value */
};

struct assign {
    struct str name;
    struct word *index; /* name[index]=...; NULL: none */
    struct arith_expr *index_arith;
    enum assign_flags flags;
    struct word *value; /* NULL for arrays; an empty word for `x=` */
    struct array_item *items;
    size_t item_count;
    struct pos pos;
};

enum node_type {
    NODE_SIMPLE,
    NODE_PIPELINE,
    NODE_AND,        /* a && b */
    NODE_OR,         /* a || b */
    NODE_SEQUENCE,   /* items, one after the other */
    NODE_BACKGROUND, /* a & */
    NODE_SUBSHELL,   /* ( a ) */
    NODE_GROUP,      /* { a; } */
    NODE_IF,
    NODE_FOR,
    NODE_FOR_ARITH,
    NODE_SELECT,
    NODE_WHILE,
    NODE_UNTIL,
    NODE_CASE,
    NODE_COND,  /* [[ ]] */
    NODE_ARITH, /* (( )) */
    NODE_FUNCTION,
    NODE_COPROC,
};

/*
 * A word of a simple command that looks like an assignment keeps both readings: which one
 * counts depends on the command before it (`export x=(1 2)`, `declare -A m[k]=v`).  Both
 * share their parts.  Braces expand in the word only, and bash lets them decide even
 * before `export`: with `word->has_braces` the word counts.
 */
struct arg {
    struct word *word;
    struct assign *assign; /* NULL: no assignment */
};

enum case_end { CASE_BREAK, CASE_FALL, CASE_TEST }; /* ;;  ;&  ;;& */

struct case_item {
    struct word **patterns;
    size_t count;
    struct node *body; /* NULL: empty */
    enum case_end end;
};

enum cond_type {
    COND_WORD,   /* [[ x ]] */
    COND_UNARY,  /* op: the letter of -f */
    COND_BINARY, /* op: enum cond_op */
    COND_NOT,
    COND_AND,
    COND_OR,
};

enum cond_op {
    COND_EQ, /* == and =: right side is a pattern */
    COND_NE,
    COND_MATCH, /* =~ */
    COND_LESS,  /* < by text */
    COND_GREATER,
    COND_NUM_EQ,
    COND_NUM_NE,
    COND_NUM_LT,
    COND_NUM_LE,
    COND_NUM_GT,
    COND_NUM_GE,
    COND_NEWER, /* -nt */
    COND_OLDER, /* -ot */
    COND_SAME,  /* -ef */
};

struct cond {
    enum cond_type type;
    int op;
    struct word *left, *right;
    struct arith_expr *left_arith, *right_arith; /* COND_NUM_* */
    struct cond *a, *b;
};

struct node {
    enum node_type type;
    struct pos pos;
    struct redirect *redirects; /* of simple and compound commands */
    size_t redirect_count;
    struct str source; /* as written: for `type f`, `set -x` and messages */
    union {
        struct {
            struct assign *assigns;
            size_t assign_count;
            struct arg *args;
            size_t arg_count;
            /* What the first word names if it is literal, unless a function does; or NULL
             */
            const struct command *builtin;
        } simple;
        struct {
            struct node **stages;
            bool *stderr_too; /* |& after stage i */
            size_t count;
            bool negated;
            bool timed, timed_posix; /* time, time -p */
        } pipeline;
        struct {
            struct node *a, *b;
        } pair; /* AND, OR; BACKGROUND, SUBSHELL, GROUP use `a` */
        struct {
            struct node **items;
            size_t count;
        } sequence;
        struct {
            struct node *cond, *then, *otherwise; /* elif is a NODE_IF in `otherwise` */
        } branch;
        struct {
            struct str name;
            struct word **words;
            size_t count;
            bool has_in; /* false: "$@" */
            struct node *body;
        } loop; /* FOR, SELECT */
        struct {
            struct arith_expr *init, *test, *step; /* NULL: left out */
            struct node *body;
        } arith_loop;
        struct {
            struct node *cond, *body;
        } until; /* WHILE, UNTIL */
        struct {
            struct word *subject;
            struct case_item *items;
            size_t count;
        } choice;
        struct cond *cond;
        struct arith_expr *arith;
        struct {
            struct str name;
            struct node *body; /* its redirects are those of the definition */
        } function;
        struct {
            struct str name; /* "COPROC" by default */
            struct node *body;
        } coproc;
    };
};

/* A parsed script.  Reference counted: functions keep the script they were defined in. */
struct script {
    struct arena *arena;
    struct node *root;  /* NULL: nothing in it but blanks and comments */
    struct str text;    /* a copy, which the tree looks into */
    struct str name;    /* for messages: "paddock", a file, "eval" */
    struct str warning; /* a here-document that the end of the text ended, or "" */
    int refs;
};

struct script *script_ref(struct script *s);
void script_unref(struct script *s); /* NULL is fine */

#endif
