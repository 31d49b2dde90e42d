/* inspect.c: machine code beside its PTX, as a table and as JSON. */
#include "cli/inspect.h"

#include <stdlib.h>

const char *inspect_text(Session *s, const char *cubin, size_t bytes, const char **error)
{
    const char *named = getenv("TW_NVDISASM"), *text;
    AsmTool tool;

    *error = "TW_NVDISASM is empty: there shall be no disassembler";
    if ((named && !*named) || !machine_tool(s->arena, named, &tool, error) ||
        !machine_disassemble(s->arena, &tool, cubin, bytes, &text, error))
        return NULL;
    return text;
}

void inspect_compare(Session *s, const Source *ptx, const char *listing, Inspected *result)
{
    *result = (Inspected){0};
    machine_read_ptx(s->arena, ptx->text, &result->meant);
    machine_read_sass(s->arena, listing, &result->made);
    for (int i = 0; i < result->meant.len; i++) {
        const MachineCode *meant = &result->meant.data[i], *made = machine_find(&result->made, meant->entry);

        result->entries += made != NULL;
        if (made)
            result->found += machine_compare(s->diags, ptx, meant, made);
    }
}

typedef struct Column {
    const char *title, *name;
    size_t at; /* of the int within a MachineCount */
} Column;

static const Column columns[] = {
    {"wgmma", "products", offsetof(MachineCount, products)},
    {"waits", "waits", offsetof(MachineCount, waits)},
    {"mma", "multiplies", offsetof(MachineCount, multiplies)},
    {"exps", "exps", offsetof(MachineCount, exps)},
};

static int count_at(const MachineCount *count, const Column *column)
{
    return *(const int *)(const void *)((const char *)count + column->at);
}

static void print_row(Str *out, const MachineCode *meant, const MachineCode *made)
{
    MachineCount a = machine_count(meant), b = machine_count(made);

    str_printf(out, "  %-24s", meant->entry);
    for (size_t i = 0; i < TW_COUNT(columns); i++)
        str_printf(out, " %5d %5d ", count_at(&a, &columns[i]), count_at(&b, &columns[i]));
    str_printf(out, " %5d %8d\n", b.local, b.hot_local);
}

void inspect_print(Str *out, const Inspected *result)
{
    str_printf(out, "  %-24s", "PTX, machine code");
    for (size_t i = 0; i < TW_COUNT(columns); i++)
        str_printf(out, " %11s ", columns[i].title);
    str_add(out, " local in loops\n");
    for (int i = 0; i < result->meant.len; i++) {
        const MachineCode *made = machine_find(&result->made, result->meant.data[i].entry);

        if (made)
            print_row(out, &result->meant.data[i], made);
    }
    str_add(out, result->found ? "  not as it was meant\n" : "  as it was meant: products, waits and exponentials in their order\n");
}

static void put_counts(Str *out, const char *key, const MachineCode *code, bool made)
{
    MachineCount count = machine_count(code);

    str_printf(out, ",\"%s\":{", key);
    for (size_t i = 0; i < TW_COUNT(columns); i++)
        str_printf(out, "%s\"%s\":%d", i ? "," : "", columns[i].name, count_at(&count, &columns[i]));
    if (made)
        str_printf(out, ",\"local\":%d,\"hot_local\":%d", count.local, count.hot_local);
    str_addc(out, '}');
}

void inspect_json(Str *out, const Inspected *result)
{
    const char *between = "";

    str_printf(out, "{\"as_meant\":%s,\"entries\":[", result->found ? "false" : "true");
    for (int i = 0; i < result->meant.len; i++) {
        const MachineCode *meant = &result->meant.data[i], *made = machine_find(&result->made, meant->entry);

        if (!made)
            continue;
        str_printf(out, "%s{\"entry\":", between);
        str_json(out, meant->entry);
        put_counts(out, "meant", meant, false);
        put_counts(out, "made", made, true);
        str_addc(out, '}');
        between = ",";
    }
    str_add(out, "]}");
}
