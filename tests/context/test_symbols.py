from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.context.symbols import definitions

PYTHON = """\
X: int = 1
Y, Z = 1, 2
class A:
    q = 1

    @property
    def p(self):
        local = 1
        def inner(): pass
        return local

if X:
    def f(): return "\\d"
else:
    async def f():
        pass
"""
TYPESCRIPT = """\
import { foo } from "y";
/**
 * class Foo is told of here
 */
export interface Shape {
  area(): number;
}
export const limit = 5
export const other = 6;
export type Union = { a: string } | { b: string };
export default async function run({ a, b }: Opts): Promise<void> {
  const s = "}"; // }
  /* } */
  if (a) { run2(() => { b(); }); }
}
export class Foo<T> extends Bar {
  private name: string = "x";
  async go(x: number): Promise<void> {
    await this.go2(x);
  }
}
const arrow = async ({ x }) => {
  return `}${x}`;
};
foo(function() {
  go(1);
});
Foo.prototype.added = function() {
  return 1;
};
"""
RUST = """\
pub struct Foo<'a> {
    x: &'a str,
}

impl<'a> Foo<'a> {
    pub fn new(x: &'a str) -> Self { Foo { x } }
    fn other<T>(&self, c: char) -> bool
    where
        T: Ord,
    {
        c == '{'
    }
}

pub(crate) const N: usize = 5;
macro_rules! mine { () => { 1 }; }
"""
GO = """\
type T struct {
	a int
}

func (t *T) Go(a int) error {
	return nil
}

func Go2() {}
var x = 1
"""
C = """\
#define N 5
int proto(int a);
static int helper(int a,
                  int b)
{
    return a;
}
int main(int argc, char **argv) {
    helper(1, 2);
    if (helper(3, 4)) { exit(); }
}
int Foo::bar(int a) {
    return 1;
}
"""
RUBY = """\
module A
  class B
    def go(x)
      x.each do |y|
        puts y
      end
    end

    def self.make = new
  end
end
"""
LUA = """\
local M = {}
function M.go(a)
  return a
end
M.stop = function()
  return 1
end
"""
JAVA = """\
public class A {
    @Override
    public String name(int a) throws IOException {
        return call(a);
    }
    private static final int X = 3;
}
"""


@pytest.mark.parametrize(
    ("suffix", "source", "symbol", "expected"),
    [
        (".py", PYTHON, "X", [(1, 1)]),
        (".py", PYTHON, "Z", [(2, 2)]),
        (".py", PYTHON, "A", [(3, 10)]),
        (".py", PYTHON, "A.p", [(6, 10)]),
        (".py", PYTHON, "p", [(6, 10)]),
        (".py", PYTHON, "q", [(4, 4)]),
        (".py", PYTHON, "inner", [(9, 9)]),
        (".py", PYTHON, "local", []),
        (".py", PYTHON, "f", [(13, 13), (15, 16)]),
        (".py", PYTHON, "B.p", []),
        (".ts", TYPESCRIPT, "Shape", [(5, 7)]),
        (".ts", TYPESCRIPT, "limit", [(8, 8)]),
        (".ts", TYPESCRIPT, "other", [(9, 9)]),
        (".ts", TYPESCRIPT, "Union", [(10, 10)]),
        (".ts", TYPESCRIPT, "run", [(11, 15)]),
        (".ts", TYPESCRIPT, "Foo", [(16, 21)]),
        (".ts", TYPESCRIPT, "Foo.name", [(17, 17)]),
        (".ts", TYPESCRIPT, "Foo.go", [(18, 20)]),
        (".ts", TYPESCRIPT, "go", [(18, 20)]),
        (".ts", TYPESCRIPT, "arrow", [(22, 24)]),
        (".ts", TYPESCRIPT, "Foo.added", [(28, 30)]),
        (".ts", TYPESCRIPT, "foo", []),
        (".ts", TYPESCRIPT, "run2", []),
        (".rs", RUST, "Foo", [(1, 3), (5, 13)]),
        (".rs", RUST, "Foo.new", [(6, 6)]),
        (".rs", RUST, "other", [(7, 12)]),
        (".rs", RUST, "N", [(15, 15)]),
        (".rs", RUST, "mine", [(16, 16)]),
        (".go", GO, "T", [(1, 3)]),
        (".go", GO, "T.Go", [(5, 7)]),
        (".go", GO, "Go", [(5, 7)]),
        (".go", GO, "Go2", [(9, 9)]),
        (".go", GO, "x", [(10, 10)]),
        (".c", C, "N", [(1, 1)]),
        (".c", C, "proto", []),
        (".c", C, "helper", [(3, 7)]),
        (".c", C, "main", [(8, 11)]),
        (".cpp", C, "Foo.bar", [(12, 14)]),
        (".c", C, "exit", []),
        (".rb", RUBY, "A", [(1, 11)]),
        (".rb", RUBY, "B", [(2, 10)]),
        (".rb", RUBY, "A.B.go", [(3, 7)]),
        (".rb", RUBY, "make", [(9, 9)]),
        (".lua", LUA, "M", [(1, 1)]),
        (".lua", LUA, "M.go", [(2, 4)]),
        (".lua", LUA, "stop", [(5, 7)]),
        (".java", JAVA, "A.name", [(3, 5)]),
        (".java", JAVA, "X", [(6, 6)]),
        (".java", JAVA, "call", []),
        (".kt", "fun f() = 1\nfun g() {\n}\n", "f", [(1, 1)]),
        (".sh", "f() {\n  a\n}\nfunction g {\n  b\n}\n", "f", [(1, 3)]),
        (".sh", "f() {\n  a\n}\nfunction g {\n  b\n}\n", "g", [(4, 6)]),
        (".md", "the class Foo is\n * class Foo does\n", "Foo", []),
    ],
)
def test_definition_is_found_with_all_of_its_lines(
    suffix: str, source: str, symbol: str, expected: list[tuple[int, int]]
) -> None:
    found = definitions(source, suffix, symbol)
    assert [(each.first_line, each.last_line) for each in found] == expected


def test_python_that_does_not_parse_goes_by_its_look() -> None:
    source = dedent("""\
        def f(:
            pass

            more
        after
        """)
    [found] = definitions(source, ".py", "f")
    assert (found.first_line, found.last_line) == (1, 4)


def test_lines_are_counted_as_they_are_elsewhere() -> None:
    source = "\ufeffa = '''\r\x0c\u2028'''\r\ndef f():\r\n    pass\r\n"
    [found] = definitions(source, ".py", "f")
    assert (found.first_line, found.last_line) == (2, 3)


def test_block_that_never_ends_ends_with_the_file() -> None:
    [found] = definitions("function f() {\n  a\n", ".js", "f")
    assert (found.first_line, found.last_line) == (1, 3)


def test_no_more_than_five_definitions_of_a_name_are_told() -> None:
    assert len(definitions("def f(): pass\n" * 9, ".py", "f")) == 5


@pytest.mark.parametrize(
    "line",
    [
        "class " * 80 + "x",
        "@a " * 160,
        "a" * 499,
        "export " * 70,
        "impl<" * 99,
        "template <" * 50,
        '"" ' * 160,
        "[[" * 240,
        "x " * 249,
        "x<" * 249,
        "class a<" * 60,
    ],
)
def test_no_line_is_slow_to_look_at(line: str) -> None:
    # Were the patterns exponential, this would never end.
    assert definitions(f"{line} zzz\n" * 50, ".ts", "zzz") is not None


@pytest.mark.parametrize(
    "source", ["(" * 5_000, "-" * 50_000 + "1", "x = " + "[" * 150, "a\0b", "if x: y\n" * 9]
)
def test_python_that_is_hard_to_parse_harms_nothing(source: str) -> None:
    assert definitions(source, ".py", "f") == ()


PIECES = st.sampled_from(
    ["class ", "def ", "f", "A", "(", ")", "{", "}", "\n", "  ", ";", "'", '"', "=", ":", "`", "/*"]
)


@given(
    st.lists(PIECES, max_size=50).map("".join),
    st.sampled_from([".py", ".ts", ".rs", ".rb", ""]),
    st.sampled_from(["f", "A", "A.f"]),
)
def test_definitions_lie_within_the_file(source: str, suffix: str, symbol: str) -> None:
    lines = source.count("\n") + 1
    for found in definitions(source, suffix, symbol):
        assert 1 <= found.first_line <= found.last_line <= lines
