/*
 * Drives the provider `local` through its table, without the rest of Sandlot:
 *
 *   provider_driver local.so [KEY=VALUE...] COMMAND [ARGUMENTS]
 *
 *   create            makes a sandbox that lives on, prints its id
 *   exec ID COMMAND   runs a command in it; its exit code is the driver's; standard input is passed on
 *   terminal ID COMMAND  runs it in a terminal of 24 by 80, an empty one is a shell; standard input is what is typed
 *   run COMMAND       create, execute, delete
 *   root ID FILE      prints a file, read through the descriptor of the sandbox's "/"
 *   delete ID, list
 *   fork ID           makes a sandbox of it, and prints that one's id
 *   bench N           latencies in microseconds: medians of N
 *   hold N            makes N sandboxes that end with this process, prints what they cost, waits for its input's end
 *   many N COMMAND    runs a command N times at once in one sandbox
 *   network ID LIST   gives a sandbox another network policy
 *   network-show ID   prints the mode and the list
 *   network-log ID [AFTER]  prints the decisions
 *   start             makes a sandbox if that is possible, and prints whether this process has children afterwards
 *   foreign FOLDER    sends the keeper of this state folder a message of another build, prints what it answers
 *
 * A LIST is "open", or "KIND TEXT PORT" for each entry, parted by commas: "host example.com 0,cidr 10.0.0.0/8 22";
 * empty: nothing may leave. Keys are the parameters of the provider, network (a LIST) and ttl_s, hard_ttl_s,
 * timeout_ms, deadline_ms, cancel_ms.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sandlot/provider.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* linux/openat2.h is not there with every libc */
struct open_how_v0 {
    uint64_t flags, mode, resolve;
};
enum { RESOLVE_IN_ROOT_ = 0x10, RESOLVE_NO_MAGICLINKS_ = 0x02 };

static struct options {
    const char *workspace;
    const char *rootfs;
    int64_t memory_mb, processes, disk_mb, open_files;
    double cpus;
    const char *confinement;
    bool fake_root;
    char *network;
    int64_t ttl_s, hard_ttl_s, timeout_ms, deadline_ms, cancel_ms;
} options = {NULL, NULL, 4096, 1024, 8192, 4096, NAN, "full", false, NULL, 3600, 2592000, 0, 0, 0};

static const struct sandlot_provider *table;
static void *provider;
static char created_id[64];

static enum sandlot_status host_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    (void)call;
    fprintf(stderr, "status %d: %s\n", (int)status, message);
    return status;
}

static void host_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    (void)call;
    fprintf(stderr, "log %d: %s\n", (int)level, message);
}

static const char *host_environment(struct sandlot_call *call, const char *name)
{
    (void)call;
    return getenv(name);
}

static void host_progress(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total)
{
    (void)call;
    (void)what;
    (void)done;
    (void)total;
}

static void host_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    (void)call;
    (void)working_dir;
    snprintf(created_id, sizeof(created_id), "%s", id);
}

static const struct sandlot_host host = {sizeof(host), SANDLOT_ABI_MAJOR, SANDLOT_ABI_MINOR, host_fail,
                                         host_log,     host_environment,  host_progress,     host_created};

static void *cancel_later(void *fd)
{
    poll(NULL, 0, (int)options.cancel_ms);
    return write(*(int *)fd, &(uint64_t){1}, sizeof(uint64_t)) < 0 ? fd : NULL;
}

static struct sandlot_call new_call(void)
{
    static int cancel_fd = -1;
    pthread_t thread;

    if (options.cancel_ms && cancel_fd < 0) {
        cancel_fd = eventfd(0, EFD_CLOEXEC);
        pthread_create(&thread, NULL, cancel_later, &cancel_fd);
    }
    return (struct sandlot_call){sizeof(struct sandlot_call), &host,
                                 options.deadline_ms ? sandlot_now_ms() + options.deadline_ms : 0, cancel_fd};
}

static enum sandlot_status print(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    return write(STDOUT_FILENO, bytes, length) < 0 ? SANDLOT_INTERNAL : SANDLOT_OK;
}

static enum sandlot_status ignore(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    (void)bytes;
    (void)length;
    return SANDLOT_OK;
}

static enum sandlot_status read_input(const struct sandlot_source *source, void *buffer, size_t capacity,
                                      size_t *length)
{
    ssize_t got = read(source->poll_fd, buffer, capacity);

    *length = got > 0 ? (size_t)got : 0;
    return got < 0 ? SANDLOT_INTERNAL : SANDLOT_OK;
}

static const struct sandlot_sink printing = {sizeof(printing), NULL, print};
static const struct sandlot_sink ignoring = {sizeof(ignoring), NULL, ignore};

enum { LIST_ENTRIES = 8192 };

/* The policy of a LIST, which it cuts up; valid until the next one. */
static const struct sandlot_network *read_list(char *list)
{
    static const char *const kinds[] = {
        [SANDLOT_NETWORK_HOST] = "host", [SANDLOT_NETWORK_BELOW] = "below", [SANDLOT_NETWORK_CIDR] = "cidr"};
    static struct sandlot_network_entry entries[LIST_ENTRIES];
    static struct sandlot_network network;
    char *entry;

    network = (struct sandlot_network){.size = sizeof(network), .entries = entries};
    if (strcmp(list, "open") == 0)
        list = NULL, network.mode = SANDLOT_NETWORK_OPEN;
    while (network.entry_count < LIST_ENTRIES && (entry = strsep(&list, ",")) && *entry) {
        struct sandlot_network_entry *one = &entries[network.entry_count++];
        const char *kind = strsep(&entry, " ");

        one->kind = 0;
        for (int i = SANDLOT_NETWORK_HOST; i <= SANDLOT_NETWORK_CIDR; i++)
            if (strcmp(kind, kinds[i]) == 0)
                one->kind = i;
        one->text = entry ? strsep(&entry, " ") : "";
        one->port = (uint16_t)(entry ? atoi(entry) : 0);
    }
    if (!network.mode)
        network.mode = network.entry_count ? SANDLOT_NETWORK_ALLOW : SANDLOT_NETWORK_OFF;
    return &network;
}

static void *get_or_create(const char *id, uint32_t flags)
{
    struct sandlot_call call = new_call();
    struct sandlot_create request = {.size = sizeof(request),
                                     .sandbox_id = id,
                                     .run_label = "driver",
                                     .idle_ttl_ms = options.ttl_s * 1000,
                                     .hard_ttl_ms = options.hard_ttl_s * 1000,
                                     .flags = flags};
    void *sandbox = NULL;

    if (options.network && !id)
        request.network = read_list(options.network);

    if (table->get_or_create(&call, provider, &request, &sandbox) != SANDLOT_OK)
        exit(100);
    return sandbox;
}

/* Only with the key network it is asked what the fork may reach. */
static int fork_sandbox(const char *id)
{
    struct sandlot_call call = new_call();
    const struct sandlot_create request = {.size = sizeof(request),
                                           .run_label = "driver",
                                           .idle_ttl_ms = options.ttl_s * 1000,
                                           .hard_ttl_ms = options.hard_ttl_s * 1000,
                                           .flags = SANDLOT_CREATE_KEEP,
                                           .network = options.network ? read_list(options.network) : NULL};

    if (table->fork(&call, provider, id, &request) != SANDLOT_OK)
        return 100;
    puts(created_id);
    return 0;
}

static int delete_sandbox(const char *id)
{
    struct sandlot_call call = new_call();

    return table->delete_sandbox(&call, provider, id) == SANDLOT_OK ? 0 : 100;
}

static int execute(void *sandbox, const char *command, const struct sandlot_source *input,
                   const struct sandlot_sink *sink)
{
    struct sandlot_call call = new_call();
    struct sandlot_command request = {
        .size = sizeof(request), .command = command, .timeout_ms = options.timeout_ms, .input = input};
    struct sandlot_exit result = {.size = sizeof(result)};

    if (table->execute(&call, provider, sandbox, &request, sink, &result) != SANDLOT_OK)
        return 100;
    if (result.timed_out)
        fprintf(stderr, "timed out\n");
    if (result.note)
        fprintf(stderr, "note: %s\n", result.note);
    return result.exit_code;
}

static int run_terminal(const char *id, const char *text)
{
    struct sandlot_call call = new_call();
    const struct sandlot_source input = {sizeof(input), NULL, read_input, STDIN_FILENO};
    const struct sandlot_command command = {
        .size = sizeof(command), .command = *text ? text : NULL, .timeout_ms = options.timeout_ms, .input = &input};
    const struct sandlot_terminal terminal = {
        .size = sizeof(terminal), .command = &command, .output = &printing, .term = "vt100", .resized_fd = -1};
    struct sandlot_exit result = {.size = sizeof(result)};
    void *sandbox = get_or_create(id, 0);
    enum sandlot_status status = table->terminal(&call, provider, sandbox, &terminal, &result);

    table->release(provider, sandbox);
    if (result.timed_out)
        fprintf(stderr, "timed out\n");
    if (result.note)
        fprintf(stderr, "note: %s\n", result.note);
    return status == SANDLOT_OK ? result.exit_code : 100;
}

static enum sandlot_status add(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox)
{
    (void)listing;
    printf("%s %s %lld %s\n", sandbox->id, sandbox->state, (long long)sandbox->created_at_ms,
           sandbox->run_label ? sandbox->run_label : "-");
    return SANDLOT_OK;
}

static int set_network(const char *id, char *list)
{
    struct sandlot_call call = new_call();
    void *sandbox = get_or_create(id, 0);
    const enum sandlot_status status = table->set_network(&call, provider, sandbox, read_list(list));

    table->release(provider, sandbox);
    return (int)status;
}

static void tell(const struct sandlot_network_view *view, const struct sandlot_network *network, const char *note)
{
    static const char *const modes[] = {"nothing asked", "off", "allow", "open"};
    static const char *const kinds[] = {"", "host", "below", "cidr"};

    (void)view;
    printf("%s", modes[network ? network->mode : 0]);
    for (size_t i = 0; network && i < network->entry_count; i++)
        printf(",%s %s %u", kinds[network->entries[i].kind], network->entries[i].text, network->entries[i].port);
    printf("%s%s\n", note ? "; " : "", note ? note : "");
}

static void broken(const struct sandlot_network_view *view)
{
    (void)view;
    printf("broken: ");
}

static enum sandlot_status print_decision(const struct sandlot_network_log *log,
                                          const struct sandlot_network_decision *decision)
{
    (void)log;
    printf("%llu %s %s %u rule=%s reason=%s in=%llu out=%llu\n", (unsigned long long)decision->number,
           decision->allowed ? "allowed" : "denied", decision->host, decision->port,
           decision->rule ? decision->rule : "-", decision->reason ? decision->reason : "-",
           (unsigned long long)decision->bytes_in, (unsigned long long)decision->bytes_out);
    return SANDLOT_OK;
}

static int show_network(const char *id)
{
    const struct sandlot_network_view view = {sizeof(view), NULL, tell, broken};
    struct sandlot_call call = new_call();
    void *sandbox = get_or_create(id, 0);
    const enum sandlot_status status = table->show_network(&call, provider, sandbox, &view);

    table->release(provider, sandbox);
    return (int)status;
}

static int print_network_log(const char *id, const char *after)
{
    const struct sandlot_network_log log = {sizeof(log), NULL, print_decision};
    struct sandlot_call call = new_call();
    void *sandbox = get_or_create(id, 0);
    const enum sandlot_status status =
        table->network_log(&call, provider, sandbox, after ? strtoull(after, NULL, 10) : 0, &log);

    table->release(provider, sandbox);
    return (int)status;
}

static int list(void)
{
    struct sandlot_call call = new_call();
    struct sandlot_listing listing = {.size = sizeof(listing), .add = add};

    return table->list(&call, provider, NULL, &listing) == SANDLOT_OK ? 0 : 100;
}

static int print_through_root(const char *id, const char *path)
{
    struct sandlot_call call = new_call();
    struct sandlot_root root = {.size = sizeof(root), .fd = -1, .alive_fd = -1};
    struct open_how_v0 how = {O_RDONLY | O_CLOEXEC, 0, RESOLVE_IN_ROOT_ | RESOLVE_NO_MAGICLINKS_};
    char bytes[65536];

    void *sandbox = get_or_create(id, 0);
    enum sandlot_status status = table->open_root(&call, provider, sandbox, &root);

    table->release(provider, sandbox);
    if (status != SANDLOT_OK)
        return 100;
    int fd = (int)syscall(SYS_openat2, root.fd, path, &how, sizeof(how));

    for (ssize_t got; fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0;)
        print(NULL, bytes, (size_t)got);
    return fd < 0;
}

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int compare(const void *a, const void *b)
{
    return *(const int64_t *)a > *(const int64_t *)b ? 1 : -1;
}

static int64_t median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static void run_directly(void)
{
    pid_t pid = vfork();

    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

static int bench(size_t count)
{
    int64_t *times[4];
    static const char *const names[] = {"create", "execute true", "delete", "vfork+exec true"};

    for (int i = 0; i < 4; i++)
        times[i] = calloc(count, sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        int64_t start = now_us();
        void *sandbox = get_or_create(NULL, 0);
        int64_t created = now_us();

        execute(sandbox, "true", NULL, &ignoring);
        for (int warm = 0; warm < 3; warm++)
            execute(sandbox, "true", NULL, &ignoring);
        int64_t before = now_us();

        execute(sandbox, "true", NULL, &ignoring);
        int64_t after = now_us();

        table->release(provider, sandbox);
        int64_t deleting = now_us();

        delete_sandbox(created_id);
        int64_t deleted = now_us();

        run_directly();
        times[0][i] = created - start;
        times[1][i] = after - before;
        times[2][i] = deleted - deleting;
        times[3][i] = now_us() - deleted;
    }
    for (int i = 0; i < 4; i++) {
        printf("%-16s %6lld us\n", names[i], (long long)median(times[i], count));
        free(times[i]);
    }
    return 0;
}

static long available_kib(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    long kib = 0;

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static int hold(size_t count)
{
    int64_t *times = calloc(count, sizeof(int64_t));
    long before = available_kib();
    char byte;

    for (size_t i = 0; i < count; i++) {
        int64_t start = now_us();

        table->release(provider, get_or_create(NULL, 0));
        times[i] = now_us() - start;
    }
    printf("%zu sandboxes: %.0f KiB each (MemAvailable)", count, (double)(before - available_kib()) / (double)count);
    size_t part = count >= 20 ? count / 10 : count;

    printf(", create: first tenth %lld us, last tenth %lld us\n", (long long)median(times, part),
           (long long)median(times + count - part, part));
    fflush(stdout);
    free(times);
    return read(STDIN_FILENO, &byte, 1) < 0;
}

struct job {
    void *sandbox;
    const char *command;
    int exit_code;
};

static void *do_job(void *context)
{
    struct job *job = context;

    job->exit_code = execute(job->sandbox, job->command, NULL, &printing);
    return NULL;
}

static int many(size_t count, const char *command)
{
    void *sandbox = get_or_create(NULL, 0);
    struct job *jobs = calloc(count, sizeof(*jobs));
    pthread_t *threads = calloc(count, sizeof(*threads));
    int worst = 0;

    for (size_t i = 0; i < count; i++) {
        jobs[i] = (struct job){sandbox, command, 0};
        pthread_create(&threads[i], NULL, do_job, &jobs[i]);
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        worst = jobs[i].exit_code > worst ? jobs[i].exit_code : worst;
    }
    table->release(provider, sandbox);
    free(jobs);
    free(threads);
    return worst;
}

static int start(void)
{
    struct sandlot_call call = new_call();
    struct sandlot_create request = {.size = sizeof(request), .run_label = "driver"};
    void *sandbox = NULL;

    if (table->get_or_create(&call, provider, &request, &sandbox) == SANDLOT_OK)
        table->release(provider, sandbox);
    puts(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? "no children" : "children");
    return 0;
}

/* The head of a message as every build has it (protocol.h of plugins/local). */
struct foreign_message {
    uint32_t kind, flags, length, build;
    char body[1024];
};

static int send_foreign(const char *state_folder)
{
    enum { CREATE = 1, ANOTHER_BUILD = 4711 };
    struct foreign_message message = {.kind = CREATE, .build = ANOTHER_BUILD};
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "keeper.socket"};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0 || chdir(state_folder) < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        send(fd, &message, offsetof(struct foreign_message, body), MSG_NOSIGNAL) < 0) {
        perror("provider_driver");
        return 1;
    }
    struct pollfd answer = {fd, POLLIN, 0};
    ssize_t got = poll(&answer, 1, 60000) > 0 ? recv(fd, &message, sizeof(message) - 1, 0) : -1;

    if (got > (ssize_t)(offsetof(struct foreign_message, body) + sizeof(uint32_t)))
        printf("%.*s\n", (int)(got - (ssize_t)offsetof(struct foreign_message, body) - 4), message.body + 4);
    else
        puts(got <= 0 && answer.revents ? "closed" : "no answer");
    close(fd);
    return 0;
}

static bool set_option(const char *text)
{
    const struct {
        const char *name;
        int64_t *number;
        const char **word;
    } known[] = {{"workspace", NULL, &options.workspace},     {"rootfs", NULL, &options.rootfs},
                 {"confinement", NULL, &options.confinement}, {"memory_mb", &options.memory_mb, NULL},
                 {"processes", &options.processes, NULL},     {"disk_mb", &options.disk_mb, NULL},
                 {"open_files", &options.open_files, NULL},   {"ttl_s", &options.ttl_s, NULL},
                 {"hard_ttl_s", &options.hard_ttl_s, NULL},   {"timeout_ms", &options.timeout_ms, NULL},
                 {"deadline_ms", &options.deadline_ms, NULL}, {"cancel_ms", &options.cancel_ms, NULL}};
    const char *equals = strchr(text, '=');

    if (strncmp(text, "network=", 8) == 0) {
        options.network = (char *)(uintptr_t)(equals + 1);
        return true;
    }
    if (!equals || strchr(text, ' '))
        return false;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t length = strlen(known[i].name);

        if ((size_t)(equals - text) != length || strncmp(text, known[i].name, length) != 0)
            continue;
        if (known[i].number)
            *known[i].number = strtoll(equals + 1, NULL, 10);
        else
            *known[i].word = equals + 1;
        return true;
    }
    if (strncmp(text, "cpus=", 5) == 0)
        options.cpus = strtod(equals + 1, NULL);
    else if (strcmp(text, "fake_root=true") == 0)
        options.fake_root = true;
    else
        return false;
    return true;
}

static int run(const char *command)
{
    const struct sandlot_source input = {sizeof(input), NULL, read_input, STDIN_FILENO};
    void *sandbox = get_or_create(NULL, 0);
    int exit_code = execute(sandbox, command, &input, &printing);

    table->release(provider, sandbox);
    return delete_sandbox(created_id) ? 100 : exit_code;
}

static int do_command(int count, char **words)
{
    const struct sandlot_source input = {sizeof(input), NULL, read_input, STDIN_FILENO};
    const char *verb = count ? words[0] : "";

    if (strcmp(verb, "create") == 0) {
        table->release(provider, get_or_create(NULL, SANDLOT_CREATE_KEEP));
        puts(created_id);
        return 0;
    }
    if (strcmp(verb, "exec") == 0 && count == 3) {
        void *sandbox = get_or_create(words[1], 0);
        int exit_code = execute(sandbox, words[2], &input, &printing);

        table->release(provider, sandbox);
        return exit_code;
    }
    if (strcmp(verb, "terminal") == 0 && count == 3)
        return run_terminal(words[1], words[2]);
    if (strcmp(verb, "run") == 0 && count == 2)
        return run(words[1]);
    if (strcmp(verb, "root") == 0 && count == 3)
        return print_through_root(words[1], words[2]);
    if (strcmp(verb, "delete") == 0 && count == 2)
        return delete_sandbox(words[1]);
    if (strcmp(verb, "fork") == 0 && count == 2)
        return fork_sandbox(words[1]);
    if (strcmp(verb, "list") == 0)
        return list();
    if (strcmp(verb, "bench") == 0 && count == 2)
        return bench((size_t)atol(words[1]));
    if (strcmp(verb, "hold") == 0 && count == 2)
        return hold((size_t)atol(words[1]));
    if (strcmp(verb, "many") == 0 && count == 3)
        return many((size_t)atol(words[1]), words[2]);
    if (strcmp(verb, "network") == 0 && count == 3)
        return set_network(words[1], words[2]);
    if (strcmp(verb, "network-show") == 0 && count == 2)
        return show_network(words[1]);
    if (strcmp(verb, "network-log") == 0 && count >= 2)
        return print_network_log(words[1], count > 2 ? words[2] : NULL);
    if (strcmp(verb, "start") == 0)
        return start();
    if (strcmp(verb, "foreign") == 0 && count == 2)
        return send_foreign(words[1]);
    fprintf(stderr, "usage: provider_driver LIBRARY [KEY=VALUE...] COMMAND; see the head of provider_driver.c\n");
    return 2;
}

typedef enum sandlot_status (*open_function)(struct sandlot_call *, void **, const char *, const char *, int64_t,
                                             int64_t, int64_t, int64_t, double, const char *, const char *, bool,
                                             const char *, const char *, int64_t);

int main(int count, char **words)
{
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    sandlot_entry entry = NULL;
    struct sandlot_call call = new_call();
    int at = 2;

    if (library)
        *(void **)&entry = dlsym(library, "local");
    table = entry ? entry(&call) : NULL;
    if (!table) {
        fprintf(stderr, "provider_driver: %s\n", count > 1 ? dlerror() : "no library was named");
        return 2;
    }
    while (at < count && set_option(words[at]))
        at++;
    open_function open_provider = (open_function)table->open;

    if (open_provider(&call, &provider, options.workspace, options.rootfs, options.memory_mb, options.processes,
                      options.disk_mb, options.open_files, options.cpus, options.confinement, "disk", options.fake_root,
                      NULL, NULL, 16384) != SANDLOT_OK)
        return 100;
    int exit_code = do_command(count - at, words + at);

    table->close(provider);
    return exit_code;
}
