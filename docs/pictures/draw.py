#!/usr/bin/env python3
"""Draws NAME.txt of this folder as NAME.svg, for every NAME. draw.py [FOLDER]: the pictures go there.

A text has one thing per line, in pixels from the upper left corner, and what is written in or at it on indented lines below:

    title WORDS, about WORDS, size WIDTH HEIGHT    of the picture; title and about are for who cannot see it
    box KIND NAME X Y WIDTH HEIGHT                 the first line of its text is its heading
    frame KIND NAME X Y WIDTH HEIGHT               holds boxes; its text stands in its upper left corner
    arrow KIND NAME.SIDE NAME.SIDE [SHIFT]         in the middle of what both sides share, or SHIFT beside it; else with a corner or two
    tree KIND NAME.SIDE NAME.SIDE                  the same from middle to middle, for several that begin at one
    note KIND X Y                                  text alone

The KINDs are classes of style.css. What would be unreadable is an error: text that is wider than its box in the widest of
usual fonts, boxes that meet, an arrow or an edge through a box or through words."""

import html
import pathlib
import sys

LINE = 17
ABOVE = 6  # a label's distance from its arrow
WIDEST = 7.4  # pixels for each letter of style.css's text, in DejaVu Sans
WIDEST_HEADING = 9.3
ARROWS = ('way', 'back', 'stopped', 'let')


class Mistake(Exception):
    pass


class Box:
    def __init__(self, place, texts):
        self.x, self.y, self.width, self.height = place
        self.right, self.bottom = self.x + self.width, self.y + self.height
        self.texts = texts

    def meets(self, other):
        return self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom

    def holds(self, other):
        return self.x <= other.x and self.y <= other.y and other.right <= self.right and other.bottom <= self.bottom

    def side(self, name):
        """Whether the side is a level one, where it lies, and from where to where it goes."""
        if name in ('top', 'bottom'):
            return True, self.y if name == 'top' else self.bottom, self.x, self.right
        return False, self.x if name == 'left' else self.right, self.y, self.bottom


def write(x, y, words, kind, anchor='start'):
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{html.escape(words, quote=False)}</text>'


def draw_box(name, kind, box):
    middle = box.x + box.width / 2
    y = box.y + (box.height - LINE * len(box.texts)) / 2 + 13
    yield f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="7" class="box {kind}"/>'
    for number, words in enumerate(box.texts):
        if len(words) * (WIDEST if number else WIDEST_HEADING) > box.width - 8 or LINE * len(box.texts) > box.height - 4:
            raise Mistake(f'the text of {name} does not fit: {words}')
        yield write(middle, y + LINE * number, words, 'small' if number else 'heading', 'middle')


def draw_frame(kind, box):
    yield f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="10" class="frame {kind}"/>'
    for number, words in enumerate(box.texts):
        yield write(box.x + 12, box.y + 21 + LINE * number, words, 'small' if number else 'heading')


def corners(begin, end, shift, shared):
    """The points of an arrow between two sides."""
    level, a, a_from, a_to = begin
    end_level, b, b_from, b_to = end
    if level != end_level:  # one corner
        middles = (a_from + a_to) / 2 + shift, (b_from + b_to) / 2
        return [(middles[0], a), (middles[0], middles[1]), (b, middles[1])] if level else [(a, middles[0]), (middles[1], middles[0]), (middles[1], b)]
    low, high = max(a_from, b_from), min(a_to, b_to)
    if shared and low < high:
        points = [((low + high) / 2 + shift, a), ((low + high) / 2 + shift, b)]
    else:
        points = [((a_from + a_to) / 2, a), ((a_from + a_to) / 2, (a + b) / 2), ((b_from + b_to) / 2, (a + b) / 2), ((b_from + b_to) / 2, b)]
    return points if level else [(y, x) for x, y in points]


def label(points, number, count):
    """Where the line NUMBER of COUNT beside an arrow's longest part stands."""
    (x1, y1), (x2, y2) = max(zip(points, points[1:]), key=lambda ends: abs(ends[0][0] - ends[1][0]) + abs(ends[0][1] - ends[1][1]))
    if y1 == y2:
        return (x1 + x2) / 2, y1 - ABOVE - LINE * (count - 1 - number), 'middle'
    return x1 + ABOVE, min(y1, y2) + 22 + LINE * number, 'start'


def draw_arrow(kind, points, texts):
    if kind not in ARROWS:
        raise Mistake(f'{kind} is no kind of arrow')
    path = 'M' + ' L'.join(f'{x:g},{y:g}' for x, y in points)
    yield f'<path d="{path}" class="arrow {kind}" marker-end="url(#{kind})"/>'
    for number, words in enumerate(texts):
        x, y, anchor = label(points, number, len(texts))
        yield write(x, y, words, 'small', anchor)


def through(points, box):
    return any(Box((min(a[0], b[0]), min(a[1], b[1]), abs(a[0] - b[0]) or 1, abs(a[1] - b[1]) or 1), []).meets(box) for a, b in zip(points, points[1:]))


def things(text):
    """The lines of a text with what is indented below each."""
    found = []
    for line in text.splitlines():
        if line.startswith(' '):
            found[-1][1].append(line.strip())
        elif line and not line.startswith('#'):
            found.append((line, []))
    return found


def space(x, y, words, anchor='start'):
    width = len(words) * WIDEST
    return Box((x - (width / 2 if anchor == 'middle' else 0), y - 11, width, 13), [])


class Picture:
    def __init__(self, text):
        self.boxes, self.frames, self.paths, self.told = {}, {}, [], {}
        self.words = []  # that stand free, with where
        self.behind, self.parts = [], []
        for line, texts in things(text):
            what, _, rest = line.partition(' ')
            if what in ('title', 'about', 'size'):
                self.told[what] = rest
            elif what in ('box', 'frame', 'arrow', 'tree', 'note'):
                self.add(what, rest.split(), texts)
            else:
                raise Mistake(f'not understood: {line}')
        self.examine()

    def add(self, what, words, texts):
        if what in ('box', 'frame'):
            box = Box([float(word) for word in words[2:6]], texts)
            (self.boxes if what == 'box' else self.frames)[words[1]] = box
            if what == 'box':
                self.parts += draw_box(words[1], words[0], box)
            else:
                self.behind += draw_frame(words[0], box)
                self.words += [(text, space(box.x + 12, box.y + 21 + LINE * number, text)) for number, text in enumerate(texts)]
        elif what == 'note':
            for number, text in enumerate(texts):
                self.parts.append(write(float(words[1]), float(words[2]) + LINE * number, text, words[0]))
                self.words.append((text, space(float(words[1]), float(words[2]) + LINE * number, text)))
        else:
            ends = [self.boxes[name].side(side) for name, side in (word.split('.') for word in words[1:3])]
            points = corners(*ends, float(words[3]) if len(words) > 3 else 0, what == 'arrow')
            self.paths.append((points, {word.split('.')[0] for word in words[1:3]}))
            self.parts += draw_arrow(words[0], points, texts)
            self.words += [(text, space(x, y, text, anchor)) for number, text in enumerate(texts) for x, y, anchor in [label(points, number, len(texts))]]

    def examine(self):
        for name, box in self.boxes.items():
            for other, second in self.boxes.items():
                if name < other and box.meets(second):
                    raise Mistake(f'{name} and {other} meet')
            for frame, around in self.frames.items():
                if box.meets(around) and not around.holds(box):
                    raise Mistake(f'{name} leads over the edge of {frame}')
            for points, ends in self.paths:
                if name not in ends and through(points, box):
                    raise Mistake(f'the arrow of {" and ".join(sorted(ends))} goes through {name}')

        for words, place in self.words:
            if any(through(points, place) for points, _ in self.paths) or any(place.meets(box) for box in self.boxes.values()):
                raise Mistake(f'something goes through the words: {words}')
            if any(place.meets(frame) and not frame.holds(place) for frame in self.frames.values()):
                raise Mistake(f'the edge of a frame goes through the words: {words}')

    def svg(self, style):
        width, height = self.told['size'].split()
        title, about = html.escape(self.told['title'], quote=False), html.escape(self.told['about'], quote=False)
        lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="title about">',
                 f'<title id="title">{title}</title>', f'<desc id="about">{about}</desc>', f'<style>\n{style}</style>', '<defs>']
        for kind in ARROWS:
            shape = 'M1,1 L9,9 M9,1 L1,9' if kind == 'stopped' else 'M0,0 L10,5 L0,10 z'
            lines.append(f'<marker id="{kind}" viewBox="0 0 10 10" refX="{5 if kind == "stopped" else 10}" refY="5" markerWidth="10" markerHeight="10" '
                         f'markerUnits="userSpaceOnUse" orient="auto"><path d="{shape}" class="head {kind}"/></marker>')
        lines += ['</defs>', f'<rect x="0.5" y="0.5" width="{int(width) - 1}" height="{int(height) - 1}" rx="12" class="paper"/>']
        return '\n'.join([*lines, *self.behind, *self.parts, '</svg>']) + '\n'


def main(arguments):
    here = pathlib.Path(__file__).resolve().parent
    there = pathlib.Path(arguments[1]) if len(arguments) > 1 else here
    style = (here / 'style.css').read_text(encoding='utf-8')
    for source in sorted(here.glob('*.txt')):
        try:
            (there / source.with_suffix('.svg').name).write_text(Picture(source.read_text(encoding='utf-8')).svg(style), encoding='utf-8')
        except Mistake as mistake:
            sys.exit(f'{source}: {mistake}')


if __name__ == '__main__':
    main(sys.argv)
