#include "policy/deputy/parts.h"

/* Before the command: which daemon, with which certificates and configuration, is for the
 * user's own settings to say.  Docker takes no abbreviations. */
static const struct options global_options = {
    "--config^ -c^ --context^ -H^ --host^ --tls*^ --tlscacert^ --tlscert^ --tlskey^ "
    "--tlsverify*^ -D --debug -l= --log-level= -v --version --help",
    NULL,
};

/* Between `compose` and its command, and behind that too. */
static const struct options compose_options = {
    "-f< --file< --env-file< --project-directory< --workdir< -p= --project-name= "
    "--profile= --ansi= --progress= --parallel= --compatibility --dry-run "
    "--all-resources",
    &global_options,
};

/* `-f` of `logs` is --follow; `-o` of `config` is a file. */
static const struct options compose_command_options = {
    "-o> --output> -f --follow --file< --env-file< --project-directory< --format= -n= "
    "--tail= --since= --until= --index= --protocol= --hash= --filter= --status= "
    "--lock-image-digests --services --volumes --images --profiles",
    &global_options,
};

static const struct options command_options = {
    "-f= --filter= --format= --since= --until= -n= --last= --tail= --type= --cidfile> "
    "--iidfile> --metadata-file> --env-file< --file< -o> --output> --label-file< "
    "--config^ --host^ --context^ --tls*^ --tlscacert^ --tlscert^ --tlskey^",
    NULL,
};
static const struct options logs_options = {
    "-f --follow -n= --tail= --since= --until= -t",
    &command_options,
};

/* Reads with each table up to the next operand, which chooses the next table. */
struct docker_reader {
    struct option_reader words;
    bool is_compose;
    size_t operands;
};

static void docker_begin(struct docker_reader *r, const struct str *args, size_t count)
{
    *r = (struct docker_reader){ .words = {
                                         .options = &global_options,
                                         .args = args,
                                         .count = count,
                                         .exact = true,
                                 } };
}

static void choose_options(struct docker_reader *r, struct str operand)
{
    if (!r->operands++) {
        r->is_compose = str_is(operand, "compose");
        r->words.options = r->is_compose             ? &compose_options
                           : str_is(operand, "logs") ? &logs_options
                                                     : &command_options;
    } else if (r->operands == 2) {
        if (r->is_compose)
            r->words.options = &compose_command_options;
        else if (str_is(operand, "logs")) /* docker container logs */
            r->words.options = &logs_options;
    }
}

static bool docker_next(struct docker_reader *r, struct option_word *word)
{
    if (!option_next(&r->words, word))
        return false;
    if (word->is_operand)
        choose_options(r, word->text);
    return true;
}

static bool options_allowed(const struct deputy_call *call)
{
    struct docker_reader r;
    struct option_word word;
    docker_begin(&r, call->args, call->count);
    while (docker_next(&r, &word)) {
        if (word.is_operand)
            continue;
        if (!(r.operands ? deputy_option_allowed(call, &word)
                         : deputy_own_option_allowed(call, &word)))
            return false;
    }
    return true;
}

/* A daemon that listens on this machine, at a place where no agent could put another. */
static bool is_own_socket(const struct deputy_call *call, const char *host)
{
    struct str path = str_of(host), prefix = STR("unix://"), canonical;
    if (!str_starts(path, prefix))
        return false;
    if (!deputy_resolve(call, str_from(path, prefix.len), &canonical)) {
        refusal_clear(call->why);
        return false;
    }
    return !path_allowed(call->paths, canonical, PATH_WRITE, NULL);
}

/* The socket of the daemon: where all others are, it is to be seen. */
static void show_daemon(const struct deputy_call *call, const char *host)
{
    struct str path = host ? str_from(str_of(host), STR("unix://").len)
                           : STR("/var/run/docker.sock");
    struct str canonical;
    if (deputy_resolve(call, path, &canonical))
        deputy_list_add(call, &call->plan->visible, arena_cstr(call->arena, canonical));
    else
        refusal_clear(call->why);
}

static bool is_dropped(struct str name)
{
    static const char *const prefixes[] = { "DOCKER_", "COMPOSE_", "BUILDKIT_",
        "BUILDX_" };
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (str_starts(name, str_of(prefixes[i])))
            return true;
    }
    return false;
}

/* These read nothing but docker's own configuration, and may read it: who is logged in
 * where.  `compose` reads whatever its files name. */
static bool only_asks(const struct deputy_call *call)
{
    static const char *const commands[] = { "image", "images", "info", "inspect", "logs",
        "network", "port", "ps", "stats", "system", "top", "version", "volume" };
    struct docker_reader r;
    struct option_word word;
    docker_begin(&r, call->args, call->count);
    while (docker_next(&r, &word)) {
        if (!word.is_operand)
            continue;
        for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
            if (str_is(word.text, commands[i]))
                return true;
        }
        return false;
    }
    return false;
}

bool deputy_docker(const struct policy *policy, const struct path_policy *paths,
        struct arena *arena, struct command_plan *plan, struct refusal *why)
{
    struct deputy_call call = {
        .policy = policy, .paths = paths, .arena = arena, .plan = plan, .why = why
    };
    deputy_begin(&call, "docker");
    if (!options_allowed(&call))
        return false;
    const char *host = deputy_env_get(&call, "DOCKER_HOST");
    deputy_env_drop(&call, is_dropped);
    bool is_own = host && is_own_socket(&call, host);
    if (is_own)
        deputy_env_set(&call, "DOCKER_HOST", host);
    show_daemon(&call, is_own ? host : NULL);
    plan->trusted = only_asks(&call);
    return true;
}

void deputy_docker_text(const struct str *args, size_t count, bool *is_text)
{
    struct docker_reader r;
    struct option_word word;
    docker_begin(&r, args, count);
    while (docker_next(&r, &word)) {
        if (!word.is_operand && word.has_value && word.option.use == OPTION_TEXT)
            is_text[word.value_at] = true;
    }
}
