"""A page as a reader finds it: its tables, headings and pictures by what they say."""

from html.parser import HTMLParser

VOID = {"meta", "br", "line", "circle", "rect", "path", "polyline"}


class Page(HTMLParser):
    """Collects what tests ask about, and that every element is closed in order.

    Attributes
    ----------
    headings : texts of h2
    tables : caption -> rows of cell texts, the row of headers first if there is one
    figures : caption of a figure -> description of its picture
    tiles : name -> value
    paragraphs : texts of p
    tags : every element with its attributes
    """

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.headings, self.paragraphs, self.tags = [], [], []
        self.tables, self.figures, self.tiles = {}, {}, {}
        self._open, self._text = [], {}
        self._rows, self._caption, self._figure, self._name = [], "", "", ""
        self.feed(text)
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in VOID:
            return
        self._open.append(tag)
        self._text[len(self._open)] = ""
        if tag == "table":
            self._rows, self._caption = [], ""
        if tag == "tr":
            self._rows.append([])

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        for depth in range(1, len(self._open) + 1):
            self._text[depth] += data

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self._open[-1] == tag, f"{tag} closes {self._open[-1]}"
        text = " ".join(self._text.pop(len(self._open)).split())
        self._open.pop()
        match tag:
            case "h2":
                self.headings.append(text)
            case "p":
                self.paragraphs.append(text)
            case "th" | "td":
                self._rows[-1].append(text)
            case "caption":
                self._caption = text
            case "table":
                self.tables[self._caption] = self._rows
            case "figcaption":
                self._figure = text
            case "desc":
                self.figures[self._figure] = text
            case "dt":
                self._name = text
            case "dd":
                self.tiles[self._name] = text

    def table(self, beginning):
        """The rows of the table whose caption begins so."""
        return next(rows for caption, rows in self.tables.items() if caption.startswith(beginning))

    def fact(self, name):
        """The value beside a name in any table of two columns."""
        return next(row[1] for rows in self.tables.values() for row in rows if len(row) == 2 and row[0] == name)
