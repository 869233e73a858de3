/* The steps that build what a command sees of the file system. Whatever the plan's author looked
 * at is known by device and inode: what is something else by now is refused. */
#include "steps.h"
#include "sys_confine.h"

enum { THIS_DIRECTORY = AT_CURRENT_DIRECTORY };

/* Whether the file is the one in the step's numbers from `word` on. Zeros are any file. */
static int check_identity(int fd, const struct step *step, uint32_t word) {
    struct kernel_stat found;
    uint64_t device = step_number(step, word), inode = step_number(step, word + 2);
    if (!device && !inode)
        return 0;
    long result = sys_stat(fd, &found);
    if (result < 0)
        return (int)-result;
    return found.device == device && found.inode == inode ? 0 : ERR_STALE;
}

int step_mount_tree(struct launch *launch, struct step *step) {
    uint32_t below = step_word(step, 1) ? AT_ALL_BELOW : 0;
    int tree = (int)sys_open_tree(THIS_DIRECTORY, step_text(step, 6, 0), below | AT_NO_FOLLOW);
    if (tree < 0)
        return -tree;
    int error = check_identity(tree, step, 2);
    if (error)
        sys_close(tree);
    else
        launch->trees[step_word(step, 0)] = tree;
    return error;
}

static int add_attributes(int fd, const char *path, uint32_t flags, uint32_t attributes) {
    const struct kernel_mount_attributes change = {.set = attributes};
    return attributes ? (int)-sys_mount_set(fd, path, flags, &change) : 0;
}

static int attach(int tree, uint32_t attributes, int onto) {
    int error = add_attributes(tree, "", AT_EMPTY_NAME | AT_ALL_BELOW, attributes);
    return error ? error : (int)-sys_move_mount(tree, onto);
}

int step_mount_attach(struct launch *launch, struct step *step) {
    int tree = launch->trees[step_word(step, 0)];
    int onto = (int)sys_open_for(step_text(step, 8, 0), OPEN_PATH | OPEN_NO_FOLLOW);
    if (onto < 0)
        return -onto;
    int error = check_identity(onto, step, 4);
    if (!error && step_word(step, 2)) /* since Linux 6.15 */
        tree = (int)sys_open_tree(tree, "", AT_EMPTY_NAME | AT_ALL_BELOW);
    if (!error)
        error = tree < 0 ? -tree : attach(tree, step_word(step, 1), onto);
    if (tree >= 0)
        sys_close(tree);
    sys_close(onto);
    return error;
}

int step_mount_attributes(struct launch *launch, struct step *step) {
    (void)launch;
    uint32_t below = step_word(step, 1) ? AT_ALL_BELOW : 0;
    const char *path = step_text(step, 2, 0);
    return add_attributes(THIS_DIRECTORY, path, below | AT_NO_FOLLOW, step_word(step, 0));
}

int step_mount_private(struct launch *launch, struct step *step) {
    (void)launch, (void)step;
    return (int)-sys_mount(0, "/", MOUNT_ALL_BELOW | MOUNT_MAKE_PRIVATE, 0);
}

int step_mount_new(struct launch *launch, struct step *step) {
    (void)launch;
    return (int)-sys_mount(step_text(step, 2, 0), step_text(step, 2, 1), step_word(step, 0),
                           step_text(step, 2, 2));
}

static int make_node(uint32_t node, uint32_t mode, const char *path, const char *target) {
    if (node == NODE_DIRECTORY)
        return (int)-sys_make_directory(path, mode);
    if (node == NODE_FILE)
        return (int)-sys_make_file(path, mode);
    return (int)-sys_make_link(target, path);
}

int step_make_node(struct launch *launch, struct step *step) {
    (void)launch;
    const char *path = step_text(step, 2, 0), *target = step_text(step, 2, 1);
    uint32_t umask = (uint32_t)sys_umask(0);
    int error = make_node(step_word(step, 0), step_word(step, 1), path, target);
    sys_umask(umask);
    return error;
}

int step_checked_directory(struct launch *launch, struct step *step) {
    (void)launch;
    int error = (int)-sys_chdir(step_text(step, 4, 0));
    return error ? error : check_identity(THIS_DIRECTORY, step, 0);
}
