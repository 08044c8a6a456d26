#include "worker/alarm.h"

#include <sys/time.h>

/* A handler has no argument to find it by. */
static volatile sig_atomic_t flag;

static void on_signal(int number)
{
    if (!flag)
        flag = number == SIGALRM ? BUDGET_TIME : BUDGET_CANCELLED;
}

/* Without SA_RESTART: a read that waits must end too. */
static void catch_signal(int number)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

volatile sig_atomic_t *alarm_install(void)
{
    catch_signal(SIGALRM);
    catch_signal(SIGUSR1);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is EFBIG, not our end */
    return &flag;
}

void alarm_catch_interrupt(void)
{
    catch_signal(SIGINT);
}

static void set_timer(unsigned ms)
{
    const struct itimerval timer = {
        .it_value = { .tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000 },
    };
    setitimer(ITIMER_REAL, &timer, NULL);
}

void alarm_start(unsigned timeout_ms)
{
    flag = 0;
    /* Without it, running out of memory ends the process.  So much that an array which
     * was doubling when it failed fits after all. */
    (void)memory_reserve((size_t)1536 << 20, &flag, BUDGET_HEAP);
    set_timer(timeout_ms);
}

void alarm_stop(void)
{
    set_timer(0);
}
