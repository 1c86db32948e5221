#!/usr/bin/env python3
"""Records the tour: types the commands of tour.md at a terminal and writes what it shows as tour.cast (asciicast v2).

    docs/tour.py SANDLOT    runs them with this command, each box on this machine, and writes tour.cast beside this file
    docs/tour.py --check    tells whether tour.cast is sound, and of the commands that tour.md has now

The output is real; what another machine or another run would show differently (ids, ports, numbers of processes, the day) is replaced, and
the times are those of somebody who types and reads, not of the machine."""

import base64
import hashlib
import itertools
import json
import os
import pathlib
import pty
import re
import select
import shutil
import sys
import tempfile
import termios
import time

HERE = pathlib.Path(__file__).resolve().parent
PAGE, CAST = HERE / 'tour.md', HERE / 'tour.cast'
WIDTH, HEIGHT = 110, 32
PROMPT = '\x1b[32m$\x1b[0m '
READY = re.compile(r'<tour (\d+)>')  # what the shell prompts with: the status of the last command
PATIENCE = 300  # seconds for one command: only what hangs takes so long
SECONDS = 90, 150  # a recording of about two minutes
# In seconds: before a section, before a command, between two keys (in turn), before the answer, between its lines, to read a line.
SECTION, THOUGHT, ANSWER, LINE, READING = 1.6, 0.6, 0.3, 0.06, 0.18
KEYS = 0.02, 0.04, 0.03, 0.05, 0.025
DAY = '2026-01-01T12:00:00Z'
PRIVATE = re.compile(r'/tmp|/root|/build|ccache|/home/(?!sandlot)')  # no paths of a box


def sections():
    """The headings of the page, each with the commands below it."""
    found, inside = [], False
    for line in PAGE.read_text(encoding='utf-8').splitlines():
        if line.startswith('```'):
            inside = line == '```sh'
        elif inside:
            found[-1][1].append(line)
        elif line.startswith('## '):
            found.append((line[3:], []))
    return [(heading, commands) for heading, commands in found if commands]


class Neutral:
    """Replaces what belongs to one run, the same by the same."""

    def __init__(self):
        self.ids, self.ports, self.jobs = {}, {}, {}

    def text(self, text):
        text = re.sub(r'\bbox-[a-z2-7]{12}\b', lambda found: self.ids.setdefault(found[0], self.box(len(self.ids))), text)
        text = re.sub(r'(?<=127\.0\.0\.1:)\d{5}\b', lambda found: self.ports.setdefault(found[0], str(40000 + len(self.ports))), text)
        text = re.sub(r'^(\[\d+\] )\d+', lambda found: found[1] + self.jobs.setdefault(found[0], str(4711 + len(self.jobs))), text, flags=re.M)
        text = re.sub(r'\b\d+ ms\b', '2 ms', text)
        return re.sub(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', DAY, text)

    @staticmethod
    def box(number):
        return 'box-' + base64.b32encode(hashlib.sha256(str(number).encode()).digest())[:12].decode().lower()


class Shell:
    """A shell at a terminal that does not repeat what is typed: that is written into the recording at another pace."""

    def __init__(self, sandlot, home):
        (home / 'bin').mkdir()
        (home / 'bin' / 'sandlot').symlink_to(sandlot)
        environment = {'HOME': str(home), 'PATH': f'{home}/bin:/usr/local/bin:/usr/bin:/bin', 'LC_ALL': 'C.UTF-8', 'TERM': 'dumb', 'NO_COLOR': '1',
                       'SANDLOT_NO_ENV_FILE': '1', 'PS1': '<tour $?>', 'PS2': ''}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            mode = termios.tcgetattr(0)
            mode[3] &= ~termios.ECHO
            termios.tcsetattr(0, termios.TCSANOW, mode)
            termios.tcsetwinsize(0, (HEIGHT, WIDTH))
            os.chdir(home)
            os.execve('/bin/bash', ['bash', '--norc', '--noprofile', '--noediting', '-i'], environment)
        self.answer()

    def answer(self):
        """What comes until the shell is ready again, and the status that it tells."""
        text, end = '', time.monotonic() + PATIENCE
        while not READY.search(text):
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                sys.exit(f'nothing more has come after: {text}')
            text += os.read(self.terminal, 65536).decode('utf-8', 'replace')
        ready = READY.search(text)
        return text[:ready.start()], int(ready[1])

    def type(self, command):
        os.write(self.terminal, command.encode() + b'\n')
        answer, status = self.answer()
        if status != 0:
            sys.exit(f'status {status}: {command}\n{answer}')
        return answer

    def end(self):
        os.write(self.terminal, b'sandlot -q delete --all; sandlot -q delete --all --sandbox vfs; exit\n')
        while True:
            try:
                if not os.read(self.terminal, 65536):
                    break
            except OSError:  # how Linux tells that the other side of a terminal has gone
                break
        os.waitpid(self.process, 0)


class Recording:
    def __init__(self):
        self.time, self.events, self.pace = 0.5, [], itertools.cycle(KEYS)

    def show(self, text, pause):
        self.time += pause
        self.events.append([round(self.time, 3), 'o', text])

    def section(self, heading):
        self.time += SECTION
        self.events.append([round(self.time, 3), 'm', heading])
        self.show(f'\x1b[1m# {heading}\x1b[0m\r\n', 0)

    def command(self, command, answer):
        self.show(PROMPT, LINE)
        self.time += THOUGHT
        for key in command:
            self.show(key, next(self.pace))
        self.show('\r\n', 0.2)
        self.time += ANSWER
        lines = answer.splitlines()
        for line in lines:
            self.show(line + '\r\n', LINE)
        self.time += READING * len(lines)

    def write(self):
        header = {'version': 2, 'width': WIDTH, 'height': HEIGHT, 'title': 'Sandlot: a tour in two minutes', 'env': {'TERM': 'xterm-256color', 'SHELL': '/bin/bash'}}
        CAST.write_text(''.join(json.dumps(line) + '\n' for line in [header, *self.events]), encoding='utf-8')


def remove(folder):
    """The keeper, which goes on for ten seconds, may still write there."""
    end = time.monotonic() + PATIENCE
    while folder.exists() and time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)


def record(sandlot):
    recording, neutral = Recording(), Neutral()
    home = pathlib.Path(tempfile.mkdtemp())
    shell = Shell(sandlot.resolve(strict=True), home)
    try:
        for heading, commands in sections():
            recording.section(heading)
            for command in commands:
                recording.command(command, neutral.text(shell.type(command)))
    finally:
        shell.end()
        remove(home)
    recording.show(PROMPT, SECTION)
    recording.write()


def faults():
    """What is wrong with the recording, in sentences."""
    header, *events = [json.loads(line) for line in CAST.read_text(encoding='utf-8').splitlines()]
    if header.get('version') != 2 or (header.get('width'), header.get('height')) != (WIDTH, HEIGHT):
        yield 'its first line is not the header of an asciicast v2'
    if not all(len(event) == 3 and event[0] >= 0 and event[1] in ('o', 'm') and isinstance(event[2], str) for event in events):
        yield 'it has something else than times with output or markers'
        return
    times = [event[0] for event in events]
    if times != sorted(times) or not SECONDS[0] <= times[-1] <= SECONDS[1]:
        yield f'its times do not rise to {SECONDS[0]} to {SECONDS[1]} seconds'
    shown = ''.join(text for _, kind, text in events if kind == 'o')
    typed = [line[len(PROMPT):] for line in shown.split('\r\n') if line.startswith(PROMPT)]
    if typed != [command for _, commands in sections() for command in commands] + ['']:
        yield 'its commands are not those of tour.md: docs/tour.py build/sandlot records them'
    if [text for _, kind, text in events if kind == 'm'] != [heading for heading, _ in sections()]:
        yield 'its markers are not the headings of tour.md'
    if PRIVATE.search(shown):
        yield f'it tells of the machine that it was made on: {PRIVATE.search(shown)[0]}'


def main(arguments):
    if len(arguments) != 2 or arguments[1] in ('-h', '--help'):
        sys.exit(__doc__)
    if arguments[1] == '--check':
        found = list(faults())
        sys.exit(''.join(f'docs/tour.cast: {fault}\n' for fault in found).rstrip() if found else 0)
    record(pathlib.Path(arguments[1]))


if __name__ == '__main__':
    main(sys.argv)
