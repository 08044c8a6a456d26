#include "session/turns.h"

#define BUCKETS 256

/* A ring; its head has no owner. */
struct link {
    struct link *prev, *next;
    void *owner;
};

/* The calls of one client that wait for one kind of work. */
struct line {
    struct link link; /* of its host's queue, while something waits */
    struct turn *first, **last;
    size_t bytes;
    unsigned waiting, working;
};

struct turns_client {
    struct host *host;
    unsigned users;
    struct place_owner owner;
    struct line lines[TURN_KINDS];
};

/* An address with clients. */
struct host {
    struct host *next; /* of the same bucket */
    struct turns *turns;
    char *address;
    size_t clients;
    struct place_owner owner;
    struct turns_client *common; /* of who has no line of his own; or NULL */
    struct queue {
        struct link link;  /* of the gate's queue, while it has lines */
        struct link lines; /* of this host */
    } queues[TURN_KINDS];
};

struct gate {
    struct link hosts;
    unsigned places, working, waiting;
};

struct turns {
    struct turns_config config;
    uv_timer_t timer; /* runs when a place was given back that somebody may want */
    struct gate gates[TURN_KINDS];
    struct host *buckets[BUCKETS];
};

static void link_init(struct link *link, void *owner)
{
    *link = (struct link){ link, link, owner };
}

static bool link_is_alone(const struct link *link)
{
    return link->next == link;
}

static void link_remove(struct link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->prev = link->next = link;
}

/* Where it comes last. */
static void link_add(struct link *head, struct link *link)
{
    link->prev = head->prev;
    link->next = head;
    link->prev->next = link;
    head->prev = link;
}

static bool may_take(const struct turns *t, const struct gate *g, const struct line *l)
{
    unsigned left = g->places - g->working;
    if (!left || !t->config.shared || !l->working)
        return left;
    return l->working + 1 <= TURN_SHARE * (left - 1);
}

/* Whose turn it is; NULL: nobody waits that may take a place.  Who waits and may not
 * holds a place, so that few are passed over. */
static struct line *find_next(const struct turns *t, enum turn_kind kind)
{
    const struct gate *g = &t->gates[kind];
    if (g->working == g->places)
        return NULL;
    for (const struct link *h = g->hosts.next; h != &g->hosts; h = h->next) {
        const struct host *host = h->owner;
        const struct link *lines = &host->queues[kind].lines;
        for (const struct link *l = lines->next; l != lines; l = l->next)
            if (may_take(t, g, l->owner))
                return l->owner;
    }
    return NULL;
}

static void enter_line(struct turn *turn)
{
    struct turns_client *c = turn->client;
    struct line *line = &c->lines[turn->kind];
    struct queue *queue = &c->host->queues[turn->kind];
    struct gate *g = &c->host->turns->gates[turn->kind];
    turn->state = TURN_WAITING;
    turn->at = line->last;
    turn->next = NULL;
    *line->last = turn;
    line->last = &turn->next;
    line->bytes += turn->bytes;
    g->waiting++;
    if (line->waiting++)
        return;
    if (link_is_alone(&queue->lines))
        link_add(&g->hosts, &queue->link);
    link_add(&queue->lines, &line->link);
}

static void leave_line(struct turn *turn)
{
    struct turns_client *c = turn->client;
    struct line *line = &c->lines[turn->kind];
    struct queue *queue = &c->host->queues[turn->kind];
    *turn->at = turn->next;
    if (turn->next)
        turn->next->at = turn->at;
    else
        line->last = turn->at;
    line->bytes -= turn->bytes;
    c->host->turns->gates[turn->kind].waiting--;
    if (--line->waiting)
        return;
    link_remove(&line->link);
    if (link_is_alone(&queue->lines))
        link_remove(&queue->link);
}

static void take_place(struct turn *turn)
{
    turn->state = TURN_WORKING;
    turn->client->lines[turn->kind].working++;
    turn->client->host->turns->gates[turn->kind].working++;
}

/* Client and address go to the end of their queues, if they still wait. */
static void grant(struct line *line)
{
    struct turn *turn = line->first;
    struct host *host = turn->client->host;
    struct queue *queue = &host->queues[turn->kind];
    leave_line(turn);
    if (line->waiting) {
        link_remove(&line->link);
        link_add(&queue->lines, &line->link);
    }
    if (!link_is_alone(&queue->lines)) {
        link_remove(&queue->link);
        link_add(&host->turns->gates[turn->kind].hosts, &queue->link);
    }
    take_place(turn);
    turn->granted(turn->user);
}

static void on_timer(uv_timer_t *timer)
{
    struct turns *t = timer->data;
    for (enum turn_kind kind = 0; kind < TURN_KINDS; kind++)
        for (struct line *line; (line = find_next(t, kind));)
            grant(line);
}

/* Somebody waits for a place that is free, and gets it in the next turn of the loop. */
static bool is_spoken_for(const struct turns *t, const struct gate *g)
{
    return g->waiting && uv_is_active((const uv_handle_t *)&t->timer);
}

static bool begins_at_once(
        const struct turns *t, const struct gate *g, const struct line *l)
{
    return may_take(t, g, l) && !is_spoken_for(t, g);
}

bool turns_has_room(const struct turns_client *c, enum turn_kind kind, size_t bytes,
        struct error *err)
{
    const struct turns *t = c->host->turns;
    const struct gate *g = &t->gates[kind];
    const struct line *line = &c->lines[kind];
    if (begins_at_once(t, g, line) || !line->waiting)
        return true;
    if (line->waiting >= TURNS_MAX_OF_CLIENT || line->bytes + bytes > TURNS_MAX_BYTES)
        return error_set(err, ERR_LIMIT,
                "too many calls of this client are waiting for their turn (%u); wait for "
                "replies first",
                line->waiting);
    return g->waiting < TURNS_MAX_WAITING ||
           error_set(err, ERR_LIMIT,
                   "too many calls of all clients are waiting for their turn (%u); wait "
                   "for replies first",
                   g->waiting);
}

bool turns_take(struct turns_client *c, enum turn_kind kind, size_t bytes,
        void (*granted)(void *user), void *user, struct turn *turn, struct error *err)
{
    const struct turns *t = c->host->turns;
    const struct gate *g = &t->gates[kind];
    if (!turns_has_room(c, kind, bytes, err))
        return false;
    *turn = (struct turn){
        .client = c, .kind = kind, .bytes = bytes, .granted = granted, .user = user
    };
    if (begins_at_once(t, g, &c->lines[kind]))
        take_place(turn);
    else
        enter_line(turn);
    return true;
}

void turns_end(struct turn *turn)
{
    if (turn->state == TURN_WAITING)
        leave_line(turn);
    if (turn->state == TURN_WORKING) {
        struct turns *t = turn->client->host->turns;
        struct gate *g = &t->gates[turn->kind];
        turn->client->lines[turn->kind].working--;
        g->working--;
        if (g->waiting)
            uv_timer_start(&t->timer, on_timer, 0, 0);
    }
    turn->state = TURN_NONE;
}

static struct host **find_bucket(struct turns *t, struct str address)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < address.len; i++)
        hash = (hash ^ (unsigned char)address.data[i]) * 16777619u;
    return &t->buckets[hash % BUCKETS];
}

static struct host *get_host(struct turns *t, struct str address)
{
    struct host **bucket = find_bucket(t, address);
    for (struct host *host = *bucket; host; host = host->next)
        if (str_is(address, host->address))
            return host;
    struct host *host = xcalloc(1, sizeof(*host));
    *host = (struct host){ .next = *bucket, .turns = t, .address = str_copy(address) };
    for (size_t i = 0; i < TURN_KINDS; i++) {
        link_init(&host->queues[i].link, host);
        link_init(&host->queues[i].lines, NULL);
    }
    return *bucket = host;
}

static void leave_host(struct host *host)
{
    if (--host->clients)
        return;
    struct host **at = find_bucket(host->turns, str_of(host->address));
    while (*at != host)
        at = &(*at)->next;
    *at = host->next;
    free(host->address);
    free(host);
}

struct turns_client *turns_join(struct turns *t, struct str address, bool has_line)
{
    struct host *host = get_host(t, address);
    if (!has_line && host->common) {
        host->common->users++;
        return host->common;
    }
    struct turns_client *c = xcalloc(1, sizeof(*c));
    c->host = host;
    c->users = 1;
    c->owner.of = &host->owner;
    for (size_t i = 0; i < TURN_KINDS; i++) {
        link_init(&c->lines[i].link, &c->lines[i]);
        c->lines[i].last = &c->lines[i].first;
    }
    host->clients++;
    if (!has_line)
        host->common = c;
    return c;
}

void turns_leave(struct turns_client *c)
{
    if (--c->users)
        return;
    for (size_t i = 0; i < TURN_KINDS; i++)
        assert(!c->lines[i].waiting && !c->lines[i].working);
    if (c->host->common == c)
        c->host->common = NULL;
    leave_host(c->host);
    free(c);
}

struct place_owner *turns_owner(struct turns_client *c)
{
    return &c->owner;
}

unsigned turns_working(const struct turns *t, enum turn_kind kind)
{
    return t->gates[kind].working;
}

unsigned turns_waiting(const struct turns *t, enum turn_kind kind)
{
    return t->gates[kind].waiting;
}

struct turns *turns_create(const struct turns_config *config)
{
    struct turns *t = xcalloc(1, sizeof(*t));
    t->config = *config;
    uv_timer_init(config->loop, &t->timer);
    t->timer.data = t;
    for (size_t i = 0; i < TURN_KINDS; i++) {
        t->gates[i].places = config->places[i];
        link_init(&t->gates[i].hosts, NULL);
    }
    return t;
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void turns_destroy(struct turns *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        assert(!t->buckets[i]);
    uv_close((uv_handle_t *)&t->timer, on_timer_closed);
}
