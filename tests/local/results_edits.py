"""Random edits of a folder, the same for the same seed: results_edits.py FOLDER SEED NUMBER. Links never lead out of it."""

import os
import random
import shutil
import sys

NAMES = ["a", "b.txt", "c d", "e\nf", "ä", "UP", "deep", "x.sh", '"q"', "back\\slash", "z" * 60]


def folders():
    return [where for where, _, _ in os.walk(".")]


def files():
    return [os.path.join(where, name) for where, _, names in os.walk(".") for name in names]


def free_path(rng):
    return os.path.join(rng.choice(folders()), rng.choice(NAMES) + rng.choice(["", "1", "2", "3"]))


def content(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(rng.choice([0, 1, 300, 9000]))
    lines = [f"line {rng.randrange(50)}" for _ in range(rng.randrange(40))]
    return "\n".join(lines).encode() + (b"" if kind == 1 else b"\n")


def write(rng, path):
    if not os.path.isdir(path) or os.path.islink(path):
        if os.path.islink(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(content(rng))


def append(rng, path):
    if not os.path.islink(path):
        with open(path, "ab") as file:
            file.write(content(rng))


def link(rng, path):
    if not os.path.lexists(path):
        os.symlink(rng.choice(NAMES), path)


def remove(_, path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def replace_by_folder(rng, path):
    remove(rng, path)
    os.mkdir(path)
    write(rng, os.path.join(path, rng.choice(NAMES)))


def switch_bit(_, path):
    if not os.path.islink(path):
        os.chmod(path, os.stat(path).st_mode ^ 0o100)


def move(rng, path):
    target = free_path(rng)
    if not os.path.lexists(target) and not (target + "/").startswith(path + "/"):
        shutil.move(path, target, copy_function=shutil.copy)


def edit(rng):
    there = files() + [folder for folder in folders() if folder != "."]
    action = rng.randrange(9)
    if action < 2 or not there:
        write(rng, free_path(rng))
    elif action == 2:
        link(rng, free_path(rng))
    elif action == 3:
        os.makedirs(free_path(rng), exist_ok=True) if not os.path.lexists(free_path(rng)) else None
    else:
        path = rng.choice(there)
        plain = os.path.isfile(path)
        if action == 4:
            remove(rng, path)
        elif action == 5 and plain:
            append(rng, path)
        elif action == 6 and plain:
            switch_bit(rng, path)
        elif action == 7:
            move(rng, path)
        elif action == 8 and plain:
            replace_by_folder(rng, path)


def main():
    os.chdir(sys.argv[1])
    rng = random.Random(int(sys.argv[2]))
    for _ in range(int(sys.argv[3])):
        try:
            edit(rng)
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            pass  # of two random things one was in the other's way


main()
