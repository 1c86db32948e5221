/* The provider of Kubernetes without a cluster: what it reads, also where memory runs out at every place in turn, and
 * what it asks for. */
#include "../../plugins/kubernetes/pod.h"
#include "../../plugins/kubernetes/program.h"
#include "../../plugins/kubernetes/status.h"
#include "../../plugins/kubernetes/yaml_document.h"

#include "failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_ALLOCATIONS = 20000 };

/* ---- a host ------------------------------------------------------------------------------------------------------ */

static char message[1024];

static enum sandlot_status on_fail(struct sandlot_call *call, enum sandlot_status status, const char *text)
{
    (void)call;
    snprintf(message, sizeof(message), "%s", text);
    return status;
}

static void on_log(struct sandlot_call *call, enum sandlot_log_level level, const char *text)
{
    (void)call;
    (void)level;
    (void)text;
}

static const char *on_environment(struct sandlot_call *call, const char *name)
{
    (void)call;
    (void)name;
    return NULL;
}

static const struct sandlot_host host = {
    .size = sizeof(host), .fail = on_fail, .log = on_log, .environment = on_environment};
static struct sandlot_call call = {.size = sizeof(call), .host = &host, .cancel_fd = -1};

/* WORK with every allocation failing in turn, until it does without: then it must be true. Nothing may be left. */
static void short_of_memory(bool (*work)(void))
{
    assert_true(work()); /* what is made once and stays */
    if (!ALLOCATOR_REPLACED)
        skip();
    for (long number = 0; number < MOST_ALLOCATIONS; number++) {
        long before = atomic_load(&allocated);

        atomic_store(&countdown, number);
        bool worked = work();
        bool reached = atomic_load(&countdown) < 0;

        atomic_store(&countdown, -1);
        assert_int_equal(atomic_load(&allocated), before);
        if (!reached) {
            assert_true(worked);
            return;
        }
    }
    fail_msg("it never stops allocating");
}

/* ---- YAML -------------------------------------------------------------------------------------------------------- */

static const char yaml[] =
    "apiVersion: v1\nlist: [a, 'b', \"c\\n\", 1, true, ~]\nnested: &n\n  text: |\n    one\n    two\nagain: *n\n";

static bool reads_yaml(void)
{
    char reason[128];
    struct json_object *document = yaml_read(yaml, strlen(yaml), reason, sizeof(reason));
    const char *text = document ? json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN) : NULL;
    bool right =
        text && strcmp(text, "{\"apiVersion\":\"v1\",\"list\":[\"a\",\"b\",\"c\\n\",\"1\",true,null],\"nested\":"
                             "{\"text\":\"one\\ntwo\\n\"},"
                             "\"again\":{\"text\":\"one\\ntwo\\n\"}}") == 0;

    json_object_put(document);
    return right;
}

static void test_yaml(void **state)
{
    static const char *const bad[] = {"", "a: [b", "a: *none", "? [a]\n: b", "\"\\0\"", "a: b: c", "- a\nb: c"};
    char reason[128];
    char deep[200];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        *reason = '\0';
        assert_null(yaml_read(bad[i], strlen(bad[i]), reason, sizeof(reason)));
        assert_non_null(strstr(reason, "(line "));
    }
    memset(deep, '[', sizeof(deep));
    assert_null(yaml_read(deep, sizeof(deep), reason, sizeof(reason)));
}

static void test_yaml_memory(void **state)
{
    (void)state;
    short_of_memory(reads_yaml);
}

/* ---- the kubeconfig ---------------------------------------------------------------------------------------------- */

static char kubeconfig[64];

static bool finds_cluster(void)
{
    const struct cluster_wish wish = {kubeconfig, NULL};
    struct cluster cluster;
    enum sandlot_status status = cluster_find(&call, &wish, &cluster);
    bool right = status == SANDLOT_OK && strcmp(cluster.server, "https://one") == 0 &&
                 strcmp(cluster.namespace_, "boxes") == 0 && strcmp(cluster.authorities, "PEM") == 0 &&
                 strcmp(cluster.token, "secret") == 0 && strcmp(cluster.impersonate, "other") == 0 &&
                 json_object_array_length(cluster.impersonate_groups) == 2;

    cluster_clear(&cluster);
    return right;
}

static void test_cluster_memory(void **state)
{
    static const char text[] =
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: boxes}}]\n"
        "clusters: [{name: other, cluster: {server: 'https://two'}},\n"
        "  {name: k, cluster: {server: 'https://one', certificate-authority-data: UEVN}}]\n"
        "users: [{name: u, user: {token: secret, as: other, as-groups: [g, h]}}]\n";

    (void)state;
    int fd = memfd_create("kubeconfig", MFD_CLOEXEC);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(kubeconfig, sizeof(kubeconfig), "/proc/self/fd/%d", fd);
    short_of_memory(finds_cluster);
    close(fd);
}

static bool reads_program(void)
{
    static const char text[] =
        "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\","
        "\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\",\"expirationTimestamp\":\"2100-01-01T00:00:00Z\"}}";
    struct program_answer answer = {0};
    enum sandlot_status status =
        program_read(&call, "helper", "client.authentication.k8s.io/v1", text, strlen(text), &answer);
    bool right = status == SANDLOT_OK && strcmp(answer.token, "t") == 0 && strcmp(answer.key, "k") == 0 &&
                 answer.until_ms > sandlot_now_ms();

    program_answer_clear(&answer);
    return right;
}

/* (The parser of json-c does not bear a lack of memory, here and below.) */
static void test_program(void **state)
{
    (void)state;
    assert_true(reads_program());
}

/* ---- pods -------------------------------------------------------------------------------------------------------- */

static bool describes_pod(void)
{
    static const struct sandlot_label labels[] = {{"sandlot-run", "abc"}, {"owner", "not a label!"}, {"bad key", "x"}};
    const struct parameters parameters = {.image = "debian:12",
                                          .cpu = "1",
                                          .memory = "1Gi",
                                          .user = 1000,
                                          .network = "none",
                                          .working_dir = "/workspace",
                                          .environment = "{\"A\":\"b\"}",
                                          .labels = "{\"team\":\"blue\"}",
                                          .pod_spec = "{\"dnsPolicy\":\"None\"}"};
    const struct sandlot_create request = {.size = sizeof(request),
                                           .run_label = "abc",
                                           .labels = labels,
                                           .label_count = 3,
                                           .idle_ttl_ms = 90000,
                                           .hard_ttl_ms = INT64_MAX};
    struct json_builder body = {0};
    enum sandlot_status status = pod_describe(&call, &parameters, &request, "sandlot-abc", &body);
    int64_t deadline = 0;
    bool right = status == SANDLOT_OK && !body.failed;

    if (right) {
        const char *annotation = api_text(body.root, "metadata.annotations.owner");
        const char *policy = api_text(body.root, "spec.dnsPolicy");

        json_find_integer(body.root, "spec.activeDeadlineSeconds", &deadline, NULL);
        right = deadline == INT32_MAX && annotation && policy && !api_text(body.root, "metadata.labels.owner") &&
                strcmp(api_text(body.root, "metadata.labels.\"sandlot-run\""), "abc") == 0 &&
                strstr(api_text(body.root, "spec.containers[0].command[2]"), "-mmin +2");
    }
    json_object_put(body.root);
    return right;
}

static void test_pod(void **state)
{
    (void)state;
    assert_true(describes_pod());
}

/* ---- statuses ---------------------------------------------------------------------------------------------------- */

static void test_status(void **state)
{
    static const struct {
        const char *text;
        bool read;
        bool ran;
        int code;
    } rows[] = {
        {"{\"status\":\"Success\"}", true, true, 0},
        {"{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{\"reason\":\"ExitCode\","
         "\"message\":"
         "\"137\"}]}}",
         true, true, 137},
        {"{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{\"reason\":\"ExitCode\","
         "\"message\":"
         "\"x\"}]}}",
         true, false, 0},
        {"{\"status\":\"Failure\",\"reason\":\"InternalError\",\"message\":\"no\"}", true, false, 0},
        {"{\"status\":\"Failure\",\"details\":{\"causes\":[1,null]},\"reason\":\"NonZeroExitCode\"}", true, false, 0},
        {"{}", false, false, 0},
        {"[]", false, false, 0},
        {"{\"status\":", false, false, 0},
        {"", false, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct exec_status status;

        assert_int_equal(status_read(rows[i].text, strlen(rows[i].text), &status), rows[i].read);
        assert_int_equal(status.ran, rows[i].ran);
        assert_int_equal(status.exit_code, rows[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml),    cmocka_unit_test(test_yaml_memory), cmocka_unit_test(test_cluster_memory),
        cmocka_unit_test(test_program), cmocka_unit_test(test_pod),         cmocka_unit_test(test_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
