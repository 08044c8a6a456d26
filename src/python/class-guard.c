#include "python/class-guard.h"

#include "python/caller.h"

#include "policy/pyre/pyre.h"

/* A class whose instances' attributes are asked for first. */
struct guarded {
    PyTypeObject *type; /* NULL: the place is free */
    const struct policy_restriction *rule;
    getattrofunc get;
    setattrofunc set;
};

static struct {
    struct guarded *items; /* by address, open addressing */
    size_t count, size;    /* a power of two */
} table;

static struct guarded *place_of(PyTypeObject *type)
{
    size_t at = ((uintptr_t)type >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (;; at++) {
        struct guarded *g = &table.items[at & (table.size - 1)];
        if (!g->type || g->type == type)
            return g;
    }
}

static void grow(void)
{
    struct guarded *old = table.items;
    size_t size = table.size;
    table.size = size ? size * 2 : 64;
    table.items = xcalloc(table.size, sizeof(*table.items));
    for (size_t i = 0; i < size; i++)
        if (old[i].type)
            *place_of(old[i].type) = old[i];
    free(old);
}

/* The entry of a class, or of the nearest that it is made from. */
static const struct guarded *find(PyTypeObject *type)
{
    if (!table.count)
        return NULL;
    const struct guarded *g = place_of(type);
    PyObject *line = type->tp_mro; /* borrowed */
    for (Py_ssize_t i = 1; !g->type && line && i < PyTuple_GET_SIZE(line); i++)
        g = place_of((PyTypeObject *)PyTuple_GET_ITEM(line, i));
    return g->type ? g : NULL;
}

static bool is_dunder(struct str name)
{
    return name.len > 4 && str_starts(name, STR("__")) && str_ends(name, STR("__"));
}

/* Those that show what is inside an object. */
static bool is_inside(struct str name)
{
    static const char *const names[] = { "__dict__", "__getattr__", "__getattribute__",
        "__reduce__", "__reduce_ex__" };
    return str_which(name, names, ARRAY_LEN(names)) < ARRAY_LEN(names);
}

static const struct policy_regex *find_pattern(const struct policy_regexes *regexes,
        enum pyre_how how, bool if_unsure, struct str name)
{
    for (size_t i = 0; i < regexes->count; i++) {
        const struct policy_regex *regex = &regexes->items[i];
        enum pyre_result r = pyre_match(regex->pattern, how, name);
        if (r == PYRE_NO || (r == PYRE_LIMIT && !if_unsure))
            continue;
        if (how == PYRE_MATCH || name.data[0] != '_' || str_starts(regex->text, STR("_")))
            return regex;
    }
    return NULL;
}

static bool permits(const struct policy_restriction *rule, struct str name)
{
    if (is_dunder(name))
        return !is_inside(name) || rule->mode == MODE_ALLOW;
    if (rule->mode == MODE_ALLOW)
        return !find_pattern(&rule->class_deny, PYRE_MATCH, true, name);
    return find_pattern(&rule->class_allow, PYRE_FULLMATCH, false, name);
}

static bool is_for_snippet(void)
{
    return guard.armed && !guard_is_inside() && caller_innermost() == CALLER_AGENT;
}

static struct str text_of(PyObject *name)
{
    Py_ssize_t len = 0;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;
    PyErr_Clear();
    return text ? (struct str){ text, (size_t)len } : STR("?");
}

static void add_message(
        const struct policy_restriction *rule, struct str name, struct buf *out)
{
    auto_buf subject = BUF(4096);
    buf_addf(&subject, "%.*s.%.*s", STR_ARG(rule->name), STR_ARG(name));
    struct str text = guard_message(buf_str(&subject));
    if (text.len)
        buf_addf(out, "%s[%.*s]", out->len ? "\n" : "", STR_ARG(text));
}

static void explain(const struct policy_restriction *rule, PyTypeObject *type,
        struct str name, struct refusal *why)
{
    const struct policy_regex *deny =
            rule->mode == MODE_ALLOW
                    ? find_pattern(&rule->class_deny, PYRE_MATCH, true, name)
                    : NULL;
    refusal_begin(why, "restriction",
            deny                      ? &deny->origin
            : rule->class_allow.count ? &rule->class_allow.items[0].origin
                                      : &rule->origin);
    buf_addf(&why->what, "'%.*s' is not permitted on %s", STR_ARG(name), type->tp_name);
    buf_addf(&why->rule, "[restrictions.%.*s] ", STR_ARG(rule->name));
    if (deny) {
        buf_addf(&why->rule, "class_deny '%.*s'", STR_ARG(deny->text));
    } else {
        buf_add(&why->rule, STR("class_allow"));
        buf_add(&why->hint, STR("Allowed method patterns: "));
        for (size_t i = 0; i < rule->class_allow.count; i++)
            buf_addf(&why->hint, "%s%.*s", i ? ", " : "",
                    STR_ARG(rule->class_allow.items[i].text));
        if (name.len && name.data[0] == '_')
            buf_add(&why->hint, STR(" (a private name needs one that begins with '_')"));
    }
    add_message(rule, name, &why->hint);
}

static PyObject *refuse(
        const struct policy_restriction *rule, PyTypeObject *type, struct str name)
{
    auto_refusal why;
    refusal_init(&why);
    explain(rule, type, name, &why);
    return guard_refuse(PyExc_PermissionError, &why);
}

static PyObject *get_attribute(PyObject *self, PyObject *name)
{
    const struct guarded *g = find(Py_TYPE(self));
    if (UNLIKELY(!PyUnicode_CheckExact(name))) {
        auto_ref *plain = PyUnicode_FromObject(name); /* one that compares as it shows */
        return plain ? get_attribute(self, plain) : NULL;
    }
    if (!g)
        return PyObject_GenericGetAttr(self, name);
    if (is_for_snippet() && !permits(g->rule, text_of(name)))
        return refuse(g->rule, g->type, text_of(name));
    PyTypeObject *type = Py_TYPE(self);
    bool is_ours = type->tp_getattro == get_attribute;
    PyObject *value = g->get(self, name);
    if (is_ours) /* the dispatcher of __getattribute__ puts a simpler one there */
        type->tp_getattro = get_attribute;
    return value;
}

static int set_attribute(PyObject *self, PyObject *name, PyObject *value)
{
    const struct guarded *g = find(Py_TYPE(self));
    if (!g)
        return PyObject_GenericSetAttr(self, name, value);
    if (is_for_snippet() && !permits(g->rule, text_of(name))) {
        refuse(g->rule, g->type, text_of(name));
        return -1;
    }
    return g->set(self, name, value);
}

static bool add_names(
        PyObject *set, PyTypeObject *type, const struct policy_restriction *rule)
{
    auto_ref *names = type->tp_dict ? PyDict_Keys(type->tp_dict) : PyList_New(0);
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names); i++) {
        PyObject *name = PyList_GET_ITEM(names, i);
        if (permits(rule, text_of(name)) && PySet_Add(set, name))
            return false;
    }
    return names;
}

PyObject *class_guard_list(PyObject *object)
{
    const struct guarded *g = PyType_Check(object) ? NULL : find(Py_TYPE(object));
    if (!g || !is_for_snippet())
        return NULL;
    auto_ref *set = PySet_New(NULL);
    PyObject *line = Py_TYPE(object)->tp_mro; /* borrowed */
    for (Py_ssize_t i = 0; set && i < PyTuple_GET_SIZE(line); i++)
        if (!add_names(set, (PyTypeObject *)PyTuple_GET_ITEM(line, i), g->rule))
            return NULL;
    PyObject *list = set ? PySequence_List(set) : NULL;
    if (list && PyList_Sort(list))
        Py_CLEAR(list);
    return list;
}

bool class_guard_permits(PyObject *object, PyObject *name)
{
    const struct guarded *g = find(Py_TYPE(object));
    return !g || !is_for_snippet() || !PyUnicode_Check(name) ||
           permits(g->rule, text_of(name));
}

/* What stands in a class in place of an attribute that is not for snippets. */
struct hidden {
    PyObject_HEAD PyObject *real;
    PyTypeObject *type; /* borrowed: it holds this */
    PyObject *name;
    const struct policy_restriction *rule;
};

struct refuser {
    PyObject_HEAD vectorcallfunc call;
    PyObject *text;
    char *rule;
};

static PyObject *call_refuser(PyObject *self, PyObject *const *args UNUSED,
        size_t count UNUSED, PyObject *keywords UNUSED)
{
    const struct refuser *r = (struct refuser *)self;
    guard_note_text(str_of(r->rule));
    PyErr_SetObject(PyExc_PermissionError, r->text);
    return NULL;
}

static void refuser_dealloc(PyObject *self)
{
    struct refuser *r = (struct refuser *)self;
    Py_XDECREF(r->text);
    free(r->rule);
    PyObject_Free(self);
}

static PyTypeObject refuser_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "paddock.refused",
    .tp_basicsize = sizeof(struct refuser),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .tp_vectorcall_offset = offsetof(struct refuser, call),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = refuser_dealloc,
};

PyObject *class_guard_refuser(const struct refusal *why)
{
    auto_buf text = BUF((size_t)1 << 16), rule = BUF((size_t)1 << 16);
    refusal_write(why, &text);
    refusal_write_rule(why, &rule);
    if (PyType_Ready(&refuser_type))
        return NULL;
    struct refuser *r = PyObject_New(struct refuser, &refuser_type);
    if (!r)
        return NULL;
    r->call = call_refuser;
    r->rule = str_copy(buf_str(&rule));
    r->text = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "replace");
    if (!r->text)
        Py_CLEAR(r);
    return (PyObject *)r;
}

static PyObject *hidden_get(PyObject *self, PyObject *object, PyObject *type)
{
    const struct hidden *h = (struct hidden *)self;
    descrgetfunc get = Py_TYPE(h->real)->tp_descr_get;
    if (!is_for_snippet())
        return get ? get(h->real, object, type) : Py_NewRef(h->real);
    bool is_method =
            !Py_TYPE(h->real)->tp_descr_set && (get || PyCallable_Check(h->real));
    if (h->rule->mode == MODE_DENY || !is_method)
        return refuse(h->rule, h->type, text_of(h->name));
    auto_refusal why;
    refusal_init(&why);
    explain(h->rule, h->type, text_of(h->name), &why);
    return class_guard_refuser(&why);
}

static int hidden_set(PyObject *self, PyObject *object, PyObject *value)
{
    const struct hidden *h = (struct hidden *)self;
    if (!is_for_snippet())
        return Py_TYPE(h->real)->tp_descr_set(h->real, object, value);
    refuse(h->rule, h->type, text_of(h->name));
    return -1;
}

static void hidden_dealloc(PyObject *self)
{
    Py_XDECREF(((struct hidden *)self)->real);
    Py_XDECREF(((struct hidden *)self)->name);
    PyObject_Free(self);
}

/* As a method is: an instance's own attribute comes first. */
static PyTypeObject hidden_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "paddock.hidden",
    .tp_basicsize = sizeof(struct hidden),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_descr_get = hidden_get,
    .tp_dealloc = hidden_dealloc,
};

/* As a property is: it comes first. */
static PyTypeObject hidden_data_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "paddock.hidden",
    .tp_basicsize = sizeof(struct hidden),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_descr_get = hidden_get,
    .tp_descr_set = hidden_set,
    .tp_dealloc = hidden_dealloc,
};

static PyObject *hide(PyTypeObject *type, PyObject *name, PyObject *real,
        const struct policy_restriction *rule)
{
    bool is_data = Py_TYPE(real)->tp_descr_set;
    struct hidden *h =
            PyObject_New(struct hidden, is_data ? &hidden_data_type : &hidden_type);
    if (!h)
        return NULL;
    h->real = Py_NewRef(real);
    h->type = type;
    h->name = Py_NewRef(name);
    h->rule = rule;
    return (PyObject *)h;
}

static bool hide_names(PyTypeObject *type, const struct policy_restriction *rule)
{
    auto_ref *names = PyDict_Keys(type->tp_dict);
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names); i++) {
        PyObject *name = PyList_GET_ITEM(names, i);
        struct str text = text_of(name);
        PyObject *real = PyDict_GetItemWithError(type->tp_dict, name); /* borrowed */
        if (!real || is_dunder(text) || permits(rule, text))
            continue;
        auto_ref *hidden = hide(type, name, real, rule);
        if (!hidden || PyDict_SetItem(type->tp_dict, name, hidden))
            return false;
    }
    PyType_Modified(type);
    return names;
}

bool class_guard(PyTypeObject *type, const struct policy_restriction *rule)
{
    if (PyType_Ready(&hidden_type) || PyType_Ready(&hidden_data_type))
        return false;
    if (table.count * 2 >= table.size)
        grow();
    struct guarded *g = place_of(type);
    if (g->type)
        return true;
    *g = (struct guarded){
        .type = type, .rule = rule, .get = type->tp_getattro, .set = type->tp_setattro
    };
    if (g->get == get_attribute) { /* inherited from a class that is guarded already */
        const struct guarded *base = find(type->tp_base);
        g->get = base ? base->get : PyObject_GenericGetAttr;
        g->set = base ? base->set : PyObject_GenericSetAttr;
    }
    table.count++;
    Py_INCREF(type);
    /* Where __getattr__ makes up names, what the class has is not all. */
    if (rule->mode == MODE_DENY || g->get != PyObject_GenericGetAttr) {
        type->tp_getattro = get_attribute;
        type->tp_setattro = set_attribute;
    }
    return hide_names(type, rule);
}
