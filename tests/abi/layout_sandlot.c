/*
 * The layout of the embedding API as it was released with libsandlot.so.0: as layout_provider.c, for the structs that a
 * program and the library share. Another layout needs another soname.
 */
#include <sandlot/sandlot.h>

_Static_assert(sizeof(void *) == 8 && sizeof(long) == 8, "the numbers below are those of LP64");

#define FIELD(structure, place, field, ...)                                                                      \
    _Static_assert(offsetof(struct structure, field) == (place), "struct " #structure ": " #field " has moved"); \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct structure *)NULL)->field), __VA_ARGS__),     \
                   "struct " #structure ": " #field " has another type")
#define FROZEN_SIZE(structure, bytes) \
    _Static_assert(sizeof(struct structure) == (bytes), "struct " #structure " may never grow")
/* Fields are added at the end. */
#define SIZE(structure, bytes) \
    _Static_assert(sizeof(struct structure) >= (bytes), "struct " #structure " became smaller")
#define VALUE(name, number) _Static_assert((name) == (number), #name " has another value")

FIELD(sandlot_error, 0, code, enum sandlot_code);
FIELD(sandlot_error, 8, message, char *);
FROZEN_SIZE(sandlot_error, 16);

FIELD(sandlot_options, 0, size, size_t);
FIELD(sandlot_options, 8, config_file, const char *);
FIELD(sandlot_options, 16, no_environment_files, bool);
FIELD(sandlot_options, 24, message, void (*)(void *, enum sandlot_message_level, const char *));
FIELD(sandlot_options, 32, message_context, void *);
SIZE(sandlot_options, 40);

FIELD(sandlot_session_options, 0, size, size_t);
FIELD(sandlot_session_options, 8, provider, const char *);
FIELD(sandlot_session_options, 16, sandbox_id, const char *);
FIELD(sandlot_session_options, 24, snapshot_name, const char *);
FIELD(sandlot_session_options, 32, setup_file, const char *);
FIELD(sandlot_session_options, 40, scope, const char *);
FIELD(sandlot_session_options, 48, parameters, const char *const *);
FIELD(sandlot_session_options, 56, keep, bool);
FIELD(sandlot_session_options, 64, cancellation, struct sandlot_cancellation *);
FIELD(sandlot_session_options, 72, progress, void (*)(void *, const char *, uint64_t, uint64_t));
FIELD(sandlot_session_options, 80, setup_output, void (*)(void *, const void *, size_t));
FIELD(sandlot_session_options, 88, context, void *);
SIZE(sandlot_session_options, 96);

FIELD(sandlot_execution, 0, size, size_t);
FIELD(sandlot_execution, 8, command, const char *);
FIELD(sandlot_execution, 16, timeout_ms, int64_t);
FIELD(sandlot_execution, 24, working_dir, const char *);
FIELD(sandlot_execution, 32, environment, const char *const *);
FIELD(sandlot_execution, 40, has_input, bool);
FIELD(sandlot_execution, 44, input_fd, int);
FIELD(sandlot_execution, 48, output_limit, uint64_t);
FIELD(sandlot_execution, 56, output, bool (*)(void *, const void *, size_t));
FIELD(sandlot_execution, 64, context, void *);
FIELD(sandlot_execution, 72, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_execution, 80);

FIELD(sandlot_result, 0, size, size_t);
FIELD(sandlot_result, 8, has_exit_code, bool);
FIELD(sandlot_result, 12, exit_code, int);
FIELD(sandlot_result, 16, timed_out, bool);
FIELD(sandlot_result, 17, truncated, bool);
FIELD(sandlot_result, 24, output, char *);
FIELD(sandlot_result, 32, output_length, size_t);
FIELD(sandlot_result, 40, output_total, uint64_t);
SIZE(sandlot_result, 48);

#ifdef SANDLOT_PROCESS_ID_SIZE
VALUE(SANDLOT_PROCESS_ID_SIZE, 16);
VALUE(SANDLOT_PROCESS_RUNNING, 0);
VALUE(SANDLOT_PROCESS_EXITED, 1);
VALUE(SANDLOT_PROCESS_LOST, 2);
_Static_assert(sizeof(enum sandlot_process_state) == 4, "enum sandlot_process_state has another size");

FIELD(sandlot_start, 0, size, size_t);
FIELD(sandlot_start, 8, command, const char *);
FIELD(sandlot_start, 16, working_dir, const char *);
FIELD(sandlot_start, 24, environment, const char *const *);
FIELD(sandlot_start, 32, timeout_ms, int64_t);
FIELD(sandlot_start, 40, log_bytes, uint64_t);
FIELD(sandlot_start, 48, has_input, bool);
FIELD(sandlot_start, 49, separate_errors, bool);
FIELD(sandlot_start, 56, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_start, 64);

FIELD(sandlot_process, 0, size, size_t);
FIELD(sandlot_process, 8, id, char[16]);
FIELD(sandlot_process, 24, state, enum sandlot_process_state);
FIELD(sandlot_process, 28, has_exit_code, bool);
FIELD(sandlot_process, 29, timed_out, bool);
FIELD(sandlot_process, 30, input_open, bool);
FIELD(sandlot_process, 31, separate_errors, bool);
FIELD(sandlot_process, 32, exit_code, int);
FIELD(sandlot_process, 40, started_at_ms, int64_t);
FIELD(sandlot_process, 48, ended_at_ms, int64_t);
FIELD(sandlot_process, 56, output_first, uint64_t);
FIELD(sandlot_process, 64, output_total, uint64_t);
FIELD(sandlot_process, 72, errors_first, uint64_t);
FIELD(sandlot_process, 80, errors_total, uint64_t);
FIELD(sandlot_process, 88, command, char *);
SIZE(sandlot_process, 96);

FIELD(sandlot_follow, 0, size, size_t);
FIELD(sandlot_follow, 8, id, const char *);
FIELD(sandlot_follow, 16, from, int64_t);
FIELD(sandlot_follow, 24, most, uint64_t);
FIELD(sandlot_follow, 32, wait_ms, int64_t);
FIELD(sandlot_follow, 40, errors, bool);
FIELD(sandlot_follow, 41, first_news, bool);
FIELD(sandlot_follow, 48, output, bool (*)(void *, uint64_t, const void *, size_t));
FIELD(sandlot_follow, 56, context, void *);
FIELD(sandlot_follow, 64, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_follow, 72);

FIELD(sandlot_signal, 0, size, size_t);
FIELD(sandlot_signal, 8, id, const char *);
FIELD(sandlot_signal, 16, name, const char *);
FIELD(sandlot_signal, 24, grace_ms, int64_t);
FIELD(sandlot_signal, 32, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_signal, 40);
#endif

FIELD(sandlot_read, 0, size, size_t);
FIELD(sandlot_read, 8, path, const char *);
FIELD(sandlot_read, 16, offset, int64_t);
FIELD(sandlot_read, 24, has_limit, bool);
FIELD(sandlot_read, 32, limit, int64_t);
FIELD(sandlot_read, 40, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_read, 48);

FIELD(sandlot_page, 0, size, size_t);
FIELD(sandlot_page, 8, content, char *);
FIELD(sandlot_page, 16, content_length, size_t);
FIELD(sandlot_page, 24, binary, bool);
FIELD(sandlot_page, 25, empty, bool);
FIELD(sandlot_page, 26, no_lines_requested, bool);
FIELD(sandlot_page, 27, truncated, bool);
FIELD(sandlot_page, 28, lossy, bool);
FIELD(sandlot_page, 32, start_line, int64_t);
FIELD(sandlot_page, 40, end_line, int64_t);
FIELD(sandlot_page, 48, total_lines, int64_t);
FIELD(sandlot_page, 56, next_offset, int64_t);
FIELD(sandlot_page, 64, line_truncated, uint64_t);
SIZE(sandlot_page, 72);

FIELD(sandlot_write, 0, size, size_t);
FIELD(sandlot_write, 8, path, const char *);
FIELD(sandlot_write, 16, content, const void *);
FIELD(sandlot_write, 24, content_length, size_t);
FIELD(sandlot_write, 32, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_write, 40);

FIELD(sandlot_edit, 0, size, size_t);
FIELD(sandlot_edit, 8, path, const char *);
FIELD(sandlot_edit, 16, old_string, const char *);
FIELD(sandlot_edit, 24, old_length, size_t);
FIELD(sandlot_edit, 32, new_string, const char *);
FIELD(sandlot_edit, 40, new_length, size_t);
FIELD(sandlot_edit, 48, replace_all, bool);
FIELD(sandlot_edit, 56, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_edit, 64);

FIELD(sandlot_file_entry, 0, size, size_t);
FIELD(sandlot_file_entry, 8, path, const char *);
FIELD(sandlot_file_entry, 16, is_dir, bool);
FIELD(sandlot_file_entry, 17, is_symlink, bool);
FIELD(sandlot_file_entry, 24, bytes, uint64_t);
FIELD(sandlot_file_entry, 32, modified_at_ms, int64_t);
SIZE(sandlot_file_entry, 40);

FIELD(sandlot_ls, 0, size, size_t);
FIELD(sandlot_ls, 8, path, const char *);
FIELD(sandlot_ls, 16, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_ls, 24);

FIELD(sandlot_glob, 0, size, size_t);
FIELD(sandlot_glob, 8, pattern, const char *);
FIELD(sandlot_glob, 16, path, const char *);
FIELD(sandlot_glob, 24, directories, bool);
FIELD(sandlot_glob, 32, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_glob, 40);

FIELD(sandlot_grep, 0, size, size_t);
FIELD(sandlot_grep, 8, pattern, const char *);
FIELD(sandlot_grep, 16, pattern_length, size_t);
FIELD(sandlot_grep, 24, path, const char *);
FIELD(sandlot_grep, 32, glob, const char *);
FIELD(sandlot_grep, 40, max_count, uint64_t);
FIELD(sandlot_grep, 48, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_grep, 56);

FIELD(sandlot_match, 0, size, size_t);
FIELD(sandlot_match, 8, path, const char *);
FIELD(sandlot_match, 16, line, int64_t);
FIELD(sandlot_match, 24, text, const char *);
FIELD(sandlot_match, 32, text_length, size_t);
SIZE(sandlot_match, 40);

FIELD(sandlot_remove, 0, size, size_t);
FIELD(sandlot_remove, 8, path, const char *);
FIELD(sandlot_remove, 16, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_remove, 24);

FIELD(sandlot_transfer_item, 0, size, size_t);
FIELD(sandlot_transfer_item, 8, path, const char *);
FIELD(sandlot_transfer_item, 16, local_path, const char *);
FIELD(sandlot_transfer_item, 24, fd, int);
FIELD(sandlot_transfer_item, 28, mode, uint32_t);
SIZE(sandlot_transfer_item, 32);

FIELD(sandlot_transfer_request, 0, size, size_t);
FIELD(sandlot_transfer_request, 8, items, const struct sandlot_transfer_item *);
FIELD(sandlot_transfer_request, 16, count, size_t);
FIELD(sandlot_transfer_request, 24, recursive, bool);
FIELD(sandlot_transfer_request, 32, done,
      void (*)(void *, size_t, const char *, const struct sandlot_error *, uint64_t));
FIELD(sandlot_transfer_request, 40, progress, void (*)(void *, uint64_t, uint64_t));
FIELD(sandlot_transfer_request, 48, context, void *);
FIELD(sandlot_transfer_request, 56, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_transfer_request, 64);

FIELD(sandlot_terminal_request, 0, size, size_t);
FIELD(sandlot_terminal_request, 8, command, const char *);
FIELD(sandlot_terminal_request, 16, working_dir, const char *);
FIELD(sandlot_terminal_request, 24, environment, const char *const *);
FIELD(sandlot_terminal_request, 32, term, const char *);
FIELD(sandlot_terminal_request, 40, input_fd, int);
FIELD(sandlot_terminal_request, 44, resized_fd, int);
FIELD(sandlot_terminal_request, 48, window, void (*)(void *, uint16_t *, uint16_t *));
FIELD(sandlot_terminal_request, 56, output, bool (*)(void *, const void *, size_t));
FIELD(sandlot_terminal_request, 64, context, void *);
FIELD(sandlot_terminal_request, 72, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_terminal_request, 80);

FIELD(sandlot_tool_call, 0, size, size_t);
FIELD(sandlot_tool_call, 8, name, const char *);
FIELD(sandlot_tool_call, 16, arguments, const char *);
FIELD(sandlot_tool_call, 24, maximum_bytes, size_t);
FIELD(sandlot_tool_call, 32, output, void (*)(void *, const void *, size_t));
FIELD(sandlot_tool_call, 40, context, void *);
FIELD(sandlot_tool_call, 48, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_tool_call, 56);

FIELD(sandlot_tool_answer, 0, size, size_t);
FIELD(sandlot_tool_answer, 8, is_error, bool);
FIELD(sandlot_tool_answer, 16, content, char *);
FIELD(sandlot_tool_answer, 24, meta, char *);
SIZE(sandlot_tool_answer, 32);

FIELD(sandlot_target, 0, size, size_t);
FIELD(sandlot_target, 8, provider, const char *);
FIELD(sandlot_target, 16, parameters, const char *const *);
FIELD(sandlot_target, 24, cancellation, struct sandlot_cancellation *);
SIZE(sandlot_target, 32);

FIELD(sandlot_listed_sandbox, 0, size, size_t);
FIELD(sandlot_listed_sandbox, 8, id, const char *);
FIELD(sandlot_listed_sandbox, 16, provider, const char *);
FIELD(sandlot_listed_sandbox, 24, state, const char *);
FIELD(sandlot_listed_sandbox, 32, created_at_ms, int64_t);
FIELD(sandlot_listed_sandbox, 40, mine, bool);
SIZE(sandlot_listed_sandbox, 48);

VALUE(SANDLOT_CODE_OK, 0);
VALUE(SANDLOT_CODE_USAGE, 1);
VALUE(SANDLOT_CODE_UNKNOWN_PROVIDER, 2);
VALUE(SANDLOT_CODE_PROVIDER_UNAVAILABLE, 3);
VALUE(SANDLOT_CODE_AUTH, 4);
VALUE(SANDLOT_CODE_SANDBOX_NOT_FOUND, 5);
VALUE(SANDLOT_CODE_NOT_SUPPORTED, 6);
VALUE(SANDLOT_CODE_QUOTA, 7);
VALUE(SANDLOT_CODE_TIMEOUT, 8);
VALUE(SANDLOT_CODE_NETWORK, 9);
VALUE(SANDLOT_CODE_SETUP_FAILED, 10);
VALUE(SANDLOT_CODE_CANCELLED, 11);
VALUE(SANDLOT_CODE_PROVIDER_CRASHED, 12);
VALUE(SANDLOT_CODE_PROVIDER_ERROR, 13);
VALUE(SANDLOT_CODE_FILE_NOT_FOUND, 14);
VALUE(SANDLOT_CODE_PERMISSION_DENIED, 15);
VALUE(SANDLOT_CODE_IS_DIRECTORY, 16);
VALUE(SANDLOT_CODE_INVALID_PATH, 17);
VALUE(SANDLOT_CODE_NO_SPACE, 18);
VALUE(SANDLOT_CODE_INTERNAL_ERROR, 19);
VALUE(SANDLOT_CODE_NOT_A_FILE, 20);
VALUE(SANDLOT_CODE_NOT_A_DIRECTORY, 21);
VALUE(SANDLOT_CODE_PATH_NOT_FOUND, 22);
VALUE(SANDLOT_CODE_NOT_A_TEXT_FILE, 23);
VALUE(SANDLOT_CODE_STRING_NOT_FOUND, 24);
VALUE(SANDLOT_CODE_MULTIPLE_OCCURRENCES, 25);
VALUE(SANDLOT_CODE_EMPTY_OLD_STRING, 26);
VALUE(SANDLOT_CODE_OFFSET_OUT_OF_RANGE, 27);
VALUE(SANDLOT_CODE_TOO_LARGE, 28);
VALUE(SANDLOT_CODE_INVALID_PATTERN, 29);
VALUE(SANDLOT_CODE_PATTERN_TOO_BROAD, 30);
VALUE(SANDLOT_CODE_MISSING_TOOL, 31);
VALUE(SANDLOT_CODE_TRUNCATED_TRANSPORT, 32);
#ifdef SANDLOT_PROCESS_ID_SIZE /* not in the header of 1.0 */
VALUE(SANDLOT_CODE_PROCESS_NOT_FOUND, 33);
VALUE(SANDLOT_CODE_PROCESS_ENDED, 34);
VALUE(SANDLOT_CODE_INPUT_CLOSED, 35);
VALUE(SANDLOT_CODE_PORT_CLOSED, 36);
VALUE(SANDLOT_CODE_CONFLICT, 37);
#endif
_Static_assert(sizeof(enum sandlot_code) == 4, "enum sandlot_code has another size");

VALUE(SANDLOT_MESSAGE_ERROR, 0);
VALUE(SANDLOT_MESSAGE_WARNING, 1);
VALUE(SANDLOT_MESSAGE_INFO, 2);
VALUE(SANDLOT_MESSAGE_DEBUG, 3);
_Static_assert(sizeof(enum sandlot_message_level) == 4, "enum sandlot_message_level has another size");

VALUE(SANDLOT_JOB_FAILED, -1);
VALUE(SANDLOT_JOB_DONE, 0);
VALUE(SANDLOT_JOB_RUNNING, 1);
_Static_assert(sizeof(enum sandlot_job_state) == 4, "enum sandlot_job_state has another size");

VALUE(SANDLOT_DEFAULT_TIMEOUT_MS, 1800000);
VALUE(SANDLOT_NO_TIMEOUT, -1);
VALUE(SANDLOT_DEFAULT_OUTPUT_LIMIT, 10485760);
VALUE(SANDLOT_DEFAULT_LINES, 2000);
VALUE(SANDLOT_PAGE_BYTES, 512000);
