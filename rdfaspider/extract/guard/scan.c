/* What `risks.py` looks for in a page, in one pass and without a copy in lower case.

count(body) -> (tags, roots, options, bare, rich), as the fields of Risks
has_prefixes(body) -> bool
*/

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define ALIKE 3 /* formatting elements of one name that may be left open without attributes */

typedef const unsigned char *Place;

static const char *const FORMATTING[] = {
    "b", "big", "i", "u", "s", "small", "strike", "strong", "em", "tt", "font", "code", "nobr",
};
enum { KINDS = sizeof FORMATTING / sizeof *FORMATTING, LONGEST = 6 };

static int is_space(unsigned char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r' || byte == '\f';
}

static unsigned char lower(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

static int is_letter(unsigned char byte)
{
    byte = lower(byte);
    return byte >= 'a' && byte <= 'z';
}

static Place past_space(Place at, Place end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

/* Pass over an attribute with a plain name and a quoted value or none; return NULL if none is there. */
static Place past_attribute(Place at, Place end)
{
    Place name = at = past_space(at, end);
    while (at < end && (is_letter(*at) || *at == '-'))
        at++;
    if (at == name)
        return NULL;
    if (end - at > 1 && *at == '=' && (at[1] == '"' || at[1] == '\'')) {
        Place value = at + 2;
        while (value < end && *value != at[1] && *value != '<' && *value != '>')
            value++;
        if (value == end || *value != at[1])
            return NULL;
        at = value + 1;
    }
    return at < end && (is_space(*at) || *at == '>') ? at : NULL;
}

/* Tell whether an element with attributes is closed at once, with nothing but text inside. */
static int is_closed(Place at, Place end, const char *name, Py_ssize_t length)
{
    for (Place next = at; next; next = past_attribute(at, end))
        at = next;
    at = past_space(at, end);
    if (at == end || *at != '>')
        return 0;
    at = memchr(at, '<', end - at);
    if (!at || end - at < length + 3 || at[1] != '/' || at[length + 2] != '>')
        return 0;
    for (Py_ssize_t number = 0; number < length; number++)
        if (lower(at[number + 2]) != (unsigned char)name[number])
            return 0;
    return 1;
}

static int is_given(PyObject *body, Place *begin, Place *end)
{
    if (!PyBytes_Check(body)) {
        PyErr_SetString(PyExc_TypeError, "a page is bytes");
        return 0;
    }
    *begin = (Place)PyBytes_AS_STRING(body);
    *end = *begin + PyBytes_GET_SIZE(body);
    return 1;
}

static PyObject *has_prefixes(PyObject *module, PyObject *body)
{
    static const char name[] = "xmlns";
    enum { LENGTH = sizeof name - 1 };
    Place begin, end;
    if (!is_given(body, &begin, &end))
        return NULL;
    for (Place at = begin; (at = memchr(at, ':', end - at)); at++) {
        int number = 0;
        while (number < LENGTH && at - begin >= LENGTH && lower(at[number - LENGTH]) == (unsigned char)name[number])
            number++;
        if (number == LENGTH)
            Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
}

static PyObject *count(PyObject *module, PyObject *body)
{
    Place begin, end;
    Py_ssize_t tags = 0, roots = 0, options = 0, rich = 0, bare = 0, found[KINDS] = {0};
    if (!is_given(body, &begin, &end))
        return NULL;
    for (Place at = begin; (at = memchr(at, '<', end - at));) {
        char name[LONGEST + 1] = {0};
        int length = 0, kind = 0;
        tags++;
        at++;
        while (length < LONGEST && at + length < end && is_letter(at[length])) {
            name[length] = (char)lower(at[length]);
            length++;
        }
        if (length == 0 || at + length == end)
            continue;
        unsigned char after = at[length];
        if (after != '>' && after != '/' && !is_space(after))
            continue;
        while (kind < KINDS && (*name != *FORMATTING[kind] || strcmp(name, FORMATTING[kind])))
            kind++;
        if (!strcmp(name, "html") || !strcmp(name, "body"))
            roots++;
        else if (!strcmp(name, "option"))
            options++;
        else if (kind < KINDS && after == '>')
            bare += found[kind]++ < ALIKE;
        else if (kind < KINDS)
            rich += after == '/' || !is_closed(at + length + 1, end, name, length);
    }
    return Py_BuildValue("nnnnn", tags, roots, options, bare, rich);
}

static PyMethodDef functions[] = {
    {"count", count, METH_O, NULL},
    {"has_prefixes", has_prefixes, METH_O, NULL},
    {NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rdfaspider.extract.guard.scan",
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit_scan(void)
{
    return PyModuleDef_Init(&definition);
}
