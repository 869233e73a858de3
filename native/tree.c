#include "tree.h"

#include "text.h"

enum {
    EVERYONE = -1, /* to kill(): all that we may signal, but for ourselves */
    FIRST_ROOM = 4096,
    /* One walk stops here: if a tree grows faster than we read it, kill and come again. */
    MOST_FOUND = 1 << 18,
    /* Past this many, finding one twice costs less than looking for it. */
    MOST_COMPARED = 2048,
};

static bool has_room(struct numbers *numbers) {
    if (numbers->count < numbers->room)
        return true;
    uint32_t room = numbers->room ? 2 * numbers->room : FIRST_ROOM;
    if (room > 2 * MOST_FOUND)
        return false;
    size_t size = room * sizeof *numbers->items;
    int *items = numbers->items ? sys_remap(numbers->items, size / 2, size)
                                : sys_map(size, MEMORY_PRIVATE_ANONYMOUS);
    if (map_failed(items))
        return false;
    numbers->items = items;
    numbers->room = room;
    return true;
}

void numbers_add(struct numbers *numbers, int number) {
    if (has_room(numbers))
        numbers->items[numbers->count++] = number;
}

static int *place_of(const struct numbers *numbers, int number) {
    for (uint32_t at = 0; at < numbers->count; at++)
        if (numbers->items[at] == number)
            return numbers->items + at;
    return 0;
}

bool numbers_have(const struct numbers *numbers, int number) {
    return place_of(numbers, number);
}

void numbers_remove(struct numbers *numbers, int number) {
    int *place = place_of(numbers, number);
    if (place)
        *place = numbers->items[--numbers->count];
}

/* A process that changes parents while we walk shows twice; a second SIGINT means something else
 * than the first to many programs. */
static void add_process(struct numbers *found, int pid) {
    if (found->count >= MOST_FOUND)
        return;
    if (found->count < MOST_COMPARED && numbers_have(found, pid))
        return;
    numbers_add(found, pid);
}

static bool add_children_of_thread(struct numbers *found, int pid, int thread) {
    char path[64], text[1024];
    char *end = append_number(append_text(path, "/proc/"), pid);
    end = append_number(append_text(end, "/task/"), thread);
    append_text(end, "/children");
#ifdef FL_TEST_WITHOUT_CHILDREN_FILES
    append_text(end, "/missing");
#endif
    int file = (int)sys_open(path);
    if (file < 0)
        return false;
    int child = 0;
    for (long size; (size = sys_read(file, text, sizeof text)) > 0;)
        for (long at = 0; at < size; at++) /* each number is followed by a space */
            if (is_digit(text[at])) {
                child = child * 10 + (text[at] - '0');
            } else if (child) {
                add_process(found, child);
                child = 0;
            }
    sys_close(file);
    return true;
}

/* Calls `visit` with every entry of a directory whose name is a number. */
static void for_each_number(const char *path, void (*visit)(struct numbers *, int, int),
                            struct numbers *found, int argument) {
    char buffer[2048] __attribute__((aligned(8)));
    int listing = (int)sys_open(path);
    if (listing < 0)
        return;
    for (long size; (size = sys_list_directory(listing, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < size;) {
            struct kernel_dirent *entry = (void *)(buffer + at);
            int number = text_number(entry->name);
            if (number > 0)
                visit(found, argument, number);
            at += entry->size;
        }
    sys_close(listing);
}

static void visit_thread(struct numbers *found, int pid, int thread) {
    add_children_of_thread(found, pid, thread);
}

static void add_children(struct numbers *found, int pid) {
    char path[32];
    append_text(append_number(append_text(path, "/proc/"), pid), "/task");
    for_each_number(path, visit_thread, found, pid);
}

/* Where the kernel was built without the files that list children: (child, parent) of everybody. */
static void visit_process(struct numbers *pairs, int unused, int pid) {
    char path[32], text[512];
    (void)unused;
    append_text(append_number(append_text(path, "/proc/"), pid), "/stat");
    int file = (int)sys_open(path);
    if (file < 0)
        return;
    long size = sys_read(file, text, sizeof text);
    sys_close(file);
    long at = size - 1;
    while (at >= 0 && text[at] != ')') /* the name before it may hold anything */
        at--;
    int parent = 0;
    for (at += 4; at >= 4 && at < size && is_digit(text[at]); at++) /* ") S 123" */
        parent = parent * 10 + (text[at] - '0');
    if (parent && pairs->count < 2 * MOST_FOUND) {
        numbers_add(pairs, pid);
        numbers_add(pairs, parent);
    }
}

static void find_by_parents(struct tree *tree, int self) {
    struct numbers *found = &tree->found, *pairs = &tree->pairs;
    pairs->count = 0;
    for_each_number("/proc", visit_process, pairs, 0);
    int parent = self;
    for (uint32_t next = 0;; parent = found->items[next++]) {
        for (uint32_t at = 0; at + 1 < pairs->count; at += 2)
            if (pairs->items[at + 1] == parent)
                add_process(found, pairs->items[at]);
        if (next == found->count)
            return;
    }
}

/* Parents before children. The list is its own queue: no recursion, however deep the tree. */
static void find_descendants(struct tree *tree) {
    struct numbers *found = &tree->found;
    int self = sys_getpid();
    found->count = 0;
    if (!add_children_of_thread(found, self, self)) {
        find_by_parents(tree, self);
        return;
    }
    for (uint32_t next = 0; next < found->count; next++)
        add_children(found, found->items[next]);
}

struct toll tree_signal(struct tree *tree, int signal) {
    struct toll toll = {0, 0};
    if (sys_getpid() == FIRST_PROCESS) {
        toll.reached = sys_kill(EVERYONE, signal) == 0;
        return toll;
    }
    /* The whole list first: a parent that dies early would hide its children from the walk. */
    find_descendants(tree);
    for (uint32_t at = 0; at < tree->found.count; at++) {
        long result = sys_kill(tree->found.items[at], signal);
        toll.reached += result == 0;
        toll.refused += result < 0 && result != -ERR_SRCH;
    }
    return toll;
}

unsigned kill_other_children(struct numbers *found, const struct numbers *known) {
    unsigned others = 0;
    int self = sys_getpid();
    found->count = 0;
    add_children_of_thread(found, self, self);
    for (uint32_t at = 0; at < found->count; at++)
        if (!numbers_have(known, found->items[at])) {
            sys_kill(found->items[at], SIGNAL_KILL);
            others++;
        }
    return others;
}
