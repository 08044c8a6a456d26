#include "python/thread-report.h"

#include "python/stand-in.h"

static PyObject *print_exception; /* of traceback */

static bool say_which(PyObject *thread)
{
    PyObject *stream = PySys_GetObject("stderr"); /* borrowed */
    auto_ref *name = PyObject_GetAttrString(thread, "name");
    auto_ref *line =
            name ? PyUnicode_FromFormat("Exception in thread %S:\n", name) : NULL;
    return line && stream && !PyFile_WriteObject(line, stream, Py_PRINT_RAW);
}

/* As threading.excepthook: what is raised is an object with these attributes. */
static PyObject *tell(PyObject *self UNUSED, PyObject *raised)
{
    auto_ref *type = PyObject_GetAttrString(raised, "exc_type");
    auto_ref *value = PyObject_GetAttrString(raised, "exc_value");
    auto_ref *trace = PyObject_GetAttrString(raised, "exc_traceback");
    auto_ref *thread = PyObject_GetAttrString(raised, "thread");
    if (!type || !value || !trace || !thread)
        return NULL;
    if (type == PyExc_SystemExit)
        Py_RETURN_NONE;
    return say_which(thread) ? PyObject_CallFunctionObjArgs(
                                       print_exception, type, value, trace, NULL)
                             : NULL;
}

static PyMethodDef method = { "excepthook", tell, METH_O, NULL };

bool thread_report_init(void)
{
    auto_ref *traceback = stand_in_real("traceback");
    auto_ref *threading = stand_in_real("threading");
    auto_ref *hook = PyCFunction_New(&method, NULL);
    print_exception =
            traceback ? PyObject_GetAttrString(traceback, "print_exception") : NULL;
    return print_exception && threading && hook &&
           !PyObject_SetAttrString(threading, "excepthook", hook);
}
