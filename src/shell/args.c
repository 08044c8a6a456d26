/* $0, $1, ...: blocks that are shared until somebody shifts. */
#include "shell/exec.h"

/* One block with the pointers and the text of $0, $1, ... */
static struct arg_block *make_block(const char *zero, size_t count, char *const *items)
{
    size_t bytes = strlen(zero) + 1;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(items[i]) + 1;
    struct arg_block *block =
            xmalloc(sizeof(*block) + (count + 2) * sizeof(char *) + bytes);
    block->refs = 1;
    char *text = (char *)&block->items[count + 2];
    for (size_t i = 0; i <= count; i++) {
        block->items[i] = text;
        text = stpcpy(text, i ? items[i - 1] : zero) + 1;
    }
    block->items[count + 1] = NULL;
    return block;
}

static void use_block(struct shell *sh, struct arg_block *block, size_t count)
{
    sh->arg_block = block;
    sh->args = block->items;
    sh->arg_count = (int)count;
}

void args_unref(struct arg_block *block)
{
    if (block && !--block->refs)
        free(block);
}

void shell_set_args(struct shell *sh, const char *name, int argc, char *const *argv)
{
    struct arg_block *old = sh->arg_block;
    use_block(sh, make_block(name, (size_t)argc, argv), (size_t)argc);
    args_unref(old);
}

void shell_set_positional(struct shell *sh, size_t count, char *const *items)
{
    shell_set_args(sh, sh->args[0], (int)count, items);
}

void args_shift(struct shell *sh, int n)
{
    if (sh->arg_block->refs > 1) {
        shell_set_positional(sh, (size_t)(sh->arg_count - n), sh->args + 1 + n);
        return;
    }
    sh->args[n] = sh->args[0];
    sh->args += n;
    sh->arg_count -= n;
}

void args_enter(
        struct shell *sh, size_t count, char *const *items, struct saved_args *saved)
{
    *saved = (struct saved_args){ sh->args, sh->arg_count, sh->arg_block };
    use_block(sh, make_block(sh->args[0], count, items), count);
}

void args_leave(struct shell *sh, const struct saved_args *saved)
{
    args_unref(sh->arg_block);
    sh->args = saved->args;
    sh->arg_count = saved->count;
    sh->arg_block = saved->block;
}
