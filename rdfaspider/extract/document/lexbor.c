/* The listed elements of a page, read from lexbor's tree without an object for each node.

selectolax makes an object of every node that one looks at, and a dict of all its attributes; most elements
have none that a reader asks for. Here the tree is walked by lexbor's own functions, which selectolax's
library exports for callers that do not know its structures (`_noi`); no layout of them is known here. If one
of the functions is missing, importing fails, and nodes.py does the same in Python.

A node is known outside by its number among the listed ones, so that no caller can reach beyond the tree. The
tree lives as long as the parser that it was taken from, which is kept. Who removes nodes from it calls
`forget`, since the numbers would lead to what is gone.
*/

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <stdint.h>

#define ELEMENT 1     /* types of nodes, as the DOM numbers them */
#define DOCUMENT 9
#define ROOT (-1)     /* places, as in tree.py */
#define UNPLACED (-2)
#define SHORT 32      /* bytes of a value that may be one of many like it */
#define RECENT 256    /* such values that are kept for the next element, a power of two */

typedef const unsigned char *Text;
typedef void *Node;

static struct {
    Node (*first_child)(Node);
    Node (*next)(Node);
    Node (*parent)(Node);
    int (*type)(Node);
    Node (*first_attribute)(Node);
    Node (*next_attribute)(Node);
    Text (*attribute_name)(Node, size_t *);
    Text (*attribute_value)(Node, size_t *);
    Text (*element_name)(Node, size_t *);
    unsigned char *(*text)(Node, size_t *);
    void *(*destroy_text)(Node, unsigned char *);
} lexbor;

static PyObject *empty;        /* "" */
static PyTypeObject *parsers;  /* LexborHTMLParser */
static PyObject *kept;         /* the names of attributes that some reader asks for, READ in tree.py */

/* A name that stands at one address of the tree: what it is in Python, and what it means. */
typedef struct {
    Text address;
    PyObject *text;
    unsigned char is_listed, is_linking, is_kept;
} Name;

/* Names by address: an open hash table, which is never more than half full. */
typedef struct {
    Name *slots;
    size_t mask, count;
} Names;

typedef struct {
    Node node;
    PyObject *tag, *attributes; /* until they are in the list that is given out */
    Py_ssize_t parent;          /* the nearest listed ancestor */
    Py_ssize_t depth;
    char is_placed;
} Listed;

typedef struct {
    PyObject_HEAD
    PyObject *parser;
    Node root;
    PyObject *elements; /* the list that was given out */
    Listed *listed;
    Py_ssize_t count, room;
} Nodes;

typedef struct {
    PyObject *listing; /* the names of attributes that list an element */
    Names attributes, tags;
    PyObject *recent[RECENT];
} Reading;

static PyObject *decoded(Text text, size_t length)
{
    return PyUnicode_DecodeUTF8((const char *)text, (Py_ssize_t)length, "replace");
}

/* Return the slot of a name, which is empty if there is none yet; NULL without memory. */
static Name *slot_of(Names *names, Text address)
{
    if (2 * (names->count + 1) > names->mask) {
        size_t size = names->slots ? 2 * (names->mask + 1) : 256;
        Names larger = {PyMem_Calloc(size, sizeof(Name)), size - 1, names->count};
        if (!larger.slots)
            return PyErr_NoMemory(), NULL;
        for (size_t at = 0; names->slots && at <= names->mask; at++)
            if (names->slots[at].text)
                *slot_of(&larger, names->slots[at].address) = names->slots[at];
        PyMem_Free(names->slots);
        *names = larger;
    }
    size_t at = ((uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    for (at &= names->mask; names->slots[at].text && names->slots[at].address != address;)
        at = (at + 1) & names->mask;
    return &names->slots[at];
}

static void forget(Names *names)
{
    for (size_t at = 0; names->slots && at <= names->mask; at++)
        Py_XDECREF(names->slots[at].text);
    PyMem_Free(names->slots);
}

static Name *name_at(Names *names, Text address, size_t length)
{
    Name *name = slot_of(names, address);
    if (!name || name->text)
        return name;
    PyObject *text = decoded(address, length);
    if (!text)
        return NULL;
    *name = (Name){.address = address, .text = text};
    names->count++;
    return name;
}

static Name *attribute_name(Reading *reading, Node attribute)
{
    size_t length = 0;
    Text address = lexbor.attribute_name(attribute, &length);
    Name *name = slot_of(&reading->attributes, address);
    if (!name || name->text)
        return name;
    name = name_at(&reading->attributes, address, length);
    if (!name)
        return NULL;
    int is_listed = PySet_Contains(reading->listing, name->text);
    int is_read = PySet_Contains(kept, name->text);
    if (is_listed < 0 || is_read < 0)
        return NULL;
    name->is_listed = is_listed;
    name->is_linking = (length == 4 && !memcmp(address, "href", 4)) || (length == 3 && !memcmp(address, "src", 3));
    name->is_kept = is_listed || is_read || (length > 6 && !memcmp(address, "xmlns:", 6));
    if (is_read) /* readers look for it by the same object; others, which the page chooses, might stay for ever */
        PyUnicode_InternInPlace(&name->text);
    return name;
}

/* Return a value; many elements have the same short ones. */
static PyObject *value_of(Reading *reading, Text text, size_t length)
{
    if (length == 0 || text == NULL)
        return Py_NewRef(empty);
    if (length > SHORT)
        return decoded(text, length);
    uint32_t hash = (uint32_t)length;
    for (size_t at = 0; at < length; at++)
        hash = (hash ^ text[at]) * UINT32_C(16777619);
    PyObject **recent = &reading->recent[(hash ^ hash >> 16) & (RECENT - 1)];
    if (*recent && PyUnicode_IS_ASCII(*recent) && (size_t)PyUnicode_GET_LENGTH(*recent) == length
        && !memcmp(PyUnicode_DATA(*recent), text, length))
        return Py_NewRef(*recent);
    PyObject *value = decoded(text, length);
    if (value)
        Py_XSETREF(*recent, Py_NewRef(value));
    return value;
}

/* Return the attributes of an element that are read, if one of them lists it or it is the root; NULL with or
   without an exception otherwise. */
static PyObject *attributes_of(Reading *reading, Node element, int is_root, int *is_plain)
{
    int is_listed = is_root;
    Node first = lexbor.first_attribute(element);
    *is_plain = 1;
    for (Node attribute = first; attribute; attribute = lexbor.next_attribute(attribute)) {
        Name *name = attribute_name(reading, attribute);
        if (!name)
            return NULL;
        if (name->is_listed) {
            is_listed = 1;
            *is_plain &= name->is_linking;
        }
    }
    PyObject *attributes = is_listed ? PyDict_New() : NULL;
    for (Node attribute = first; attribute && attributes; attribute = lexbor.next_attribute(attribute)) {
        Name *name = attribute_name(reading, attribute);
        if (name && !name->is_kept)
            continue;
        size_t length = 0;
        Text text = lexbor.attribute_value(attribute, &length);
        PyObject *value = name ? value_of(reading, text, length) : NULL;
        if (!value || PyDict_SetItem(attributes, name->text, value) < 0)
            Py_CLEAR(attributes);
        Py_XDECREF(value);
    }
    return attributes;
}

static int add(Nodes *nodes, Reading *reading, Listed element, int is_plain)
{
    if (nodes->count == nodes->room) {
        Py_ssize_t room = nodes->room ? 2 * nodes->room : 512;
        Listed *larger = PyMem_Realloc(nodes->listed, room * sizeof(Listed));
        if (!larger) {
            Py_DECREF(element.attributes);
            PyErr_NoMemory();
            return -1;
        }
        nodes->listed = larger;
        nodes->room = room;
    }
    size_t length = 0;
    Text address = lexbor.element_name(element.node, &length);
    Name *tag = name_at(&reading->tags, address, length);
    element.tag = tag ? Py_NewRef(tag->text) : NULL;
    element.is_placed = !is_plain;
    nodes->listed[nodes->count++] = element;
    if (!is_plain)
        for (Py_ssize_t at = element.parent; at > 0 && !nodes->listed[at].is_placed; at = nodes->listed[at].parent)
            nodes->listed[at].is_placed = 1;
    return tag ? 0 : -1;
}

/* Walk the whole tree; return whether it was cut, -1 with an exception. */
static int walk(Nodes *nodes, Reading *reading, Py_ssize_t limit)
{
    Py_ssize_t depth = 0, above = ROOT; /* the innermost listed element that is open */
    Node node = nodes->root, next;
    for (;;) {
        if (lexbor.type(node) == ELEMENT) {
            int is_root = node == nodes->root, is_plain;
            PyObject *attributes = attributes_of(reading, node, is_root, &is_plain);
            if (attributes) {
                if (nodes->count >= limit && !is_root) {
                    Py_DECREF(attributes);
                    return 1;
                }
                Listed element = {node, NULL, attributes, above, depth, 0};
                if (add(nodes, reading, element, is_plain && !is_root) < 0)
                    return -1;
                above = nodes->count - 1;
            }
            else if (PyErr_Occurred())
                return -1;
        }
        if ((next = lexbor.first_child(node))) {
            node = next;
            depth++;
            continue;
        }
        for (;;) {
            if (node == nodes->root)
                return 0;
            while (above > 0 && nodes->listed[above].depth >= depth)
                above = nodes->listed[above].parent;
            if ((next = lexbor.next(node)))
                break;
            node = lexbor.parent(node);
            depth--;
        }
        node = next;
    }
}

static PyObject *element_of(Py_ssize_t parent, PyObject *tag, PyObject *attributes, Py_ssize_t number)
{
    PyObject *above = PyLong_FromSsize_t(parent), *node = PyLong_FromSsize_t(number);
    PyObject *element = above && node ? PyTuple_New(4) : NULL;
    if (!element) {
        Py_XDECREF(above);
        Py_XDECREF(node);
        return NULL;
    }
    PyTuple_SET_ITEM(element, 0, above);
    PyTuple_SET_ITEM(element, 1, Py_NewRef(tag));
    PyTuple_SET_ITEM(element, 2, Py_NewRef(attributes));
    PyTuple_SET_ITEM(element, 3, node);
    return element;
}

static PyObject *elements_of(Nodes *nodes)
{
    PyObject *elements = PyList_New(nodes->count);
    for (Py_ssize_t at = 0; elements && at < nodes->count; at++) {
        Listed *listed = &nodes->listed[at];
        Py_ssize_t parent = listed->is_placed ? listed->parent : UNPLACED;
        PyObject *element = element_of(parent, listed->tag, listed->attributes, at);
        if (element)
            PyList_SET_ITEM(elements, at, element);
        else
            Py_CLEAR(elements);
    }
    return elements;
}

static PyObject *Nodes_list(Nodes *nodes, PyObject *args)
{
    Reading reading = {0};
    Py_ssize_t limit;
    if (!PyArg_ParseTuple(args, "O!n", &PyFrozenSet_Type, &reading.listing, &limit))
        return NULL;
    Py_CLEAR(nodes->elements);
    nodes->count = 0;
    int is_cut = walk(nodes, &reading, limit);
    nodes->elements = is_cut < 0 ? NULL : elements_of(nodes);
    for (Py_ssize_t at = 0; at < nodes->count; at++) {
        Py_CLEAR(nodes->listed[at].tag);
        Py_CLEAR(nodes->listed[at].attributes);
    }
    forget(&reading.attributes);
    forget(&reading.tags);
    for (int at = 0; at < RECENT; at++)
        Py_XDECREF(reading.recent[at]);
    if (!nodes->elements) {
        nodes->count = 0;
        return NULL;
    }
    return Py_BuildValue("OO", nodes->elements, is_cut ? Py_True : Py_False);
}

static Py_ssize_t number_of(Nodes *nodes, PyObject *given)
{
    Py_ssize_t number = PyLong_AsSsize_t(given);
    if (number >= 0 && number < nodes->count)
        return number;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_IndexError, "no such node");
    return -1;
}

static PyObject *Nodes_place(Nodes *nodes, PyObject *given)
{
    Py_ssize_t number = number_of(nodes, given);
    if (number < 0)
        return NULL;
    for (Py_ssize_t at = number; at > 0 && !nodes->listed[at].is_placed; at = nodes->listed[at].parent) {
        PyObject *element = PyList_GetItem(nodes->elements, at);
        if (!element || !PyTuple_CheckExact(element) || PyTuple_GET_SIZE(element) != 4) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "the list of elements was changed");
            return NULL;
        }
        element = element_of(nodes->listed[at].parent, PyTuple_GET_ITEM(element, 1), PyTuple_GET_ITEM(element, 2), at);
        if (!element || PyList_SetItem(nodes->elements, at, element) < 0)
            return NULL;
        nodes->listed[at].is_placed = 1;
    }
    return PyLong_FromSsize_t(nodes->listed[number].parent);
}

static PyObject *Nodes_text(Nodes *nodes, PyObject *given)
{
    size_t length = 0;
    Py_ssize_t number = number_of(nodes, given);
    if (number < 0)
        return NULL;
    unsigned char *text = lexbor.text(nodes->listed[number].node, &length);
    if (!text)
        return Py_NewRef(empty);
    PyObject *result = decoded(text, length);
    lexbor.destroy_text(lexbor.parent(nodes->root), text);
    return result;
}

static PyObject *Nodes_has_elements(Nodes *nodes, PyObject *given)
{
    Py_ssize_t number = number_of(nodes, given);
    if (number < 0)
        return NULL;
    Node child = lexbor.first_child(nodes->listed[number].node);
    while (child && lexbor.type(child) != ELEMENT)
        child = lexbor.next(child);
    return PyBool_FromLong(child != NULL);
}

static PyObject *Nodes_address(Nodes *nodes, PyObject *given)
{
    Py_ssize_t number = number_of(nodes, given);
    return number < 0 ? NULL : PyLong_FromVoidPtr(nodes->listed[number].node);
}

static PyObject *Nodes_forget(Nodes *nodes, PyObject *Py_UNUSED(none))
{
    Py_CLEAR(nodes->elements);
    nodes->count = 0;
    Py_RETURN_NONE;
}

static PyObject *Nodes_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"parser", NULL};
    PyObject *parser;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!", names, parsers, &parser))
        return NULL;
    Nodes *nodes = (Nodes *)type->tp_alloc(type, 0);
    PyObject *root = nodes ? PyObject_GetAttrString(parser, "root") : NULL;
    PyObject *address = root ? PyObject_GetAttrString(root, "mem_id") : NULL;
    if (address)
        nodes->root = PyLong_AsVoidPtr(address);
    if (nodes)
        nodes->parser = Py_NewRef(parser);
    Py_XDECREF(address);
    Py_XDECREF(root);
    Node document = nodes && nodes->root ? lexbor.parent(nodes->root) : NULL;
    if (nodes && (!document || lexbor.type(document) != DOCUMENT)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "this is not the tree of a whole page");
        Py_CLEAR(nodes);
    }
    return (PyObject *)nodes;
}

static void Nodes_dealloc(Nodes *nodes)
{
    PyTypeObject *type = Py_TYPE(nodes);
    PyMem_Free(nodes->listed);
    Py_XDECREF(nodes->elements);
    Py_XDECREF(nodes->parser);
    type->tp_free(nodes);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"list", (PyCFunction)Nodes_list, METH_VARARGS, NULL},
    {"place", (PyCFunction)Nodes_place, METH_O, NULL},
    {"text", (PyCFunction)Nodes_text, METH_O, NULL},
    {"has_elements", (PyCFunction)Nodes_has_elements, METH_O, NULL},
    {"address", (PyCFunction)Nodes_address, METH_O, NULL},
    {"forget", (PyCFunction)Nodes_forget, METH_NOARGS, NULL},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, Nodes_new},
    {Py_tp_dealloc, Nodes_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Lists the elements of a tree, and knows their nodes."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "rdfaspider.extract.document.lexbor.Nodes",
    .basicsize = sizeof(Nodes),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

/* Find the functions in selectolax's library, which is loaded already; ImportError if it is another one. */
static int find_functions(void)
{
    PyObject *module = PyImport_ImportModule("selectolax.lexbor");
    PyObject *type = module ? PyObject_GetAttrString(module, "LexborHTMLParser") : NULL;
    PyObject *file = type ? PyObject_GetAttrString(module, "__file__") : NULL;
    PyObject *path = NULL;
    void *library = NULL;
    if (file && PyUnicode_FSConverter(file, &path))
        library = dlopen(PyBytes_AS_STRING(path), RTLD_NOW | RTLD_NOLOAD);
    Py_XDECREF(path);
    Py_XDECREF(file);
    Py_XDECREF(module);
    if (PyErr_Occurred() || !PyType_Check(type)) {
        Py_XDECREF(type);
        if (!PyErr_ExceptionMatches(PyExc_ImportError)) {
            PyErr_Clear();
            PyErr_SetString(PyExc_ImportError, "selectolax is another than was expected");
        }
        return -1;
    }
    parsers = (PyTypeObject *)type;
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"lxb_dom_node_first_child_noi", &lexbor.first_child},
        {"lxb_dom_node_next_noi", &lexbor.next},
        {"lxb_dom_node_parent_noi", &lexbor.parent},
        {"lxb_dom_node_type_noi", &lexbor.type},
        {"lxb_dom_element_first_attribute_noi", &lexbor.first_attribute},
        {"lxb_dom_element_next_attribute_noi", &lexbor.next_attribute},
        {"lxb_dom_attr_qualified_name", &lexbor.attribute_name},
        {"lxb_dom_attr_value_noi", &lexbor.attribute_value},
        {"lxb_dom_element_qualified_name", &lexbor.element_name},
        {"lxb_dom_node_text_content", &lexbor.text},
        {"lxb_dom_document_destroy_text_noi", &lexbor.destroy_text},
    };
    for (size_t at = 0; at < sizeof functions / sizeof *functions; at++) {
        void *found = library ? dlsym(library, functions[at].name) : NULL;
        if (!found) {
            PyErr_Format(PyExc_ImportError, "selectolax does not export %s", functions[at].name);
            return -1;
        }
        memcpy(functions[at].place, &found, sizeof found);
    }
    return 0;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rdfaspider.extract.document.lexbor",
    .m_doc = "The listed elements of a page, read from lexbor's tree without an object for each node.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit_lexbor(void)
{
    PyObject *tree = PyImport_ImportModule("rdfaspider.extract.document.tree");
    if (!tree || find_functions() < 0 || !(empty = PyUnicode_FromString(""))
        || !(kept = PyObject_GetAttrString(tree, "READ"))) {
        Py_XDECREF(tree);
        return NULL;
    }
    Py_DECREF(tree);
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = module ? PyType_FromSpec(&spec) : NULL;
    if (!type || PyModule_AddObject(module, "Nodes", type) < 0) {
        Py_XDECREF(type);
        Py_CLEAR(module);
    }
    return module;
}
