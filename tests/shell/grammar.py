"""Scripts over the whole shell language, made by grammar from a seed.

script(seed, number) is always the same text.  Scripts are valid, end by themselves, and say
nothing that differs from one run to the next (no process numbers, no times, no order that
two commands at once decide).  What bash and paddock mean to do differently is kept out here,
with its reason in MISMATCHES.
"""
import random

# What scripts do not do, because the two shells differ on purpose.
MISMATCHES = {
    "syntax error": "bash runs the lines before it; here nothing of a script runs that has one",
    "extglob off": "patterns like +(a) are always read; bash needs `shopt -s extglob` on an "
                   "earlier line",
    "alias": "bash reads a line when the one before has run; here an alias counts from the "
             "next line of the outermost list on, not inside of a command",
    "process numbers": "subshells are no processes: $$, $!, $PPID and $BASHPID are other "
                       "numbers",
    "order of output": "of commands that run at once the later ones of a pipeline run first",
    "messages": "they begin with another name and may say more; what may hold some is not "
                "compared",
    "arithmetic that cannot be parsed": "bash has done what stands before the mistake "
                                        "(n++ in `n++ + )`, an unset variable under -u); "
                                        "here nothing of it is done",
    "x=${a[@]...} when IFS is not the default": "with an operator bash joins by the first "
                                                "character of IFS, here it is a space as "
                                                "without one",
    '"$@${a[*]}" as one word': "bash takes the second list apart too",
    "~user": "there is no table of users; ~root stays as it is",
    "$-": "there is no c for a script of the server",
    "type -a": "commands are built in: there is no /usr/bin/echo beside echo",
    "job control, history, line editing": "refused by name before anything runs",
}

SCALARS = ["a", "b", "c", "word", "_x1"]
ARRAYS = ["arr", "list"]
ASSOCS = ["map", "tab"]
TEXTS = ["", "x", "hello", "foo bar", "  two  words ", "a:b::c:", "1", "42", "-7", "007",
         "*", "?x", "[ab]*", "a\\b", "tab\there", "é", "ünïcode", "/usr/local/bin/tool.tar.gz",
         "name=value", "-n", "A-b_C", "x,y,,z", "one\ntwo\n\nthree", "~", "$notvar", "it's",
         'say "hi"', "#hash", "a b c d e f", "%s%d", "!", "{a,b}", "AbCaBc", "&", "a&b"]
FILES = {"f1": "alpha\nbeta gamma\n\ndelta", "f2": "3 c\n1 a\n2 b\n", "a.txt": "A\n",
         "b.txt": "B\n", "c.log": "", ".hid": "h\n", "d/x.txt": "X\n", "d/e/y.txt": "Y\n",
         "sp ace": "s\n", "B.TXT": "cap\n"}


def single(text):
    return "'" + text.replace("'", "'\\''") + "'"


class Script:
    def __init__(self, seed, number):
        self.r = random.Random(seed * 1000003 + number)
        self.depth = 0
        self.loops = 0
        self.functions = []
        self.in_function = False
        self.fresh = 0
        self.set = self.pick("e", "u", "f", "eu") if self.chance(15) else ""
        self.ifs = self.pick(":", "','", "' :'", "$'\\n'", "''", "x") if self.chance(10) else None

    # --- choosing ---

    def pick(self, *items):
        return self.r.choice(items)

    def chance(self, percent):
        return self.r.randrange(100) < percent

    def name(self, kind):
        self.fresh += 1
        return f"{kind}{self.fresh}"

    def some(self, make, least, most, sep=" "):
        return sep.join(make() for _ in range(self.r.randint(least, most)))

    # --- words ---

    def text(self):
        return self.r.choice(TEXTS)

    def plain(self):
        return self.pick("x", "foo", "bar.c", "1", "0", "-3", "a-b", "A", "zz9", "/", "./f1",
                         "k", "k1", "file.tar.gz", "é")

    def literal(self):
        text = self.text()
        how = self.r.randrange(5)
        if how == 0 and not set(text) & set("\n'"):
            return single(text)
        if how == 1:
            return '"' + "".join("\\" + c if c in '"\\$`' else c for c in text) + '"'
        if how == 2:
            return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace(
                "\n", "\\n").replace("\t", "\\t") + "'"
        if how == 3 and text and not set(text) & set("\n"):
            return "".join(c if c.isalnum() or c in "_.é/" else "\\" + c for c in text)
        return single(text)

    def subscript(self):
        return self.pick("0", "1", "2", "-1", "5", "a", "1+1", "$a", "${#arr[@]}", "n", "@", "*")

    def index(self):
        return self.pick("0", "1", "2", "3", "7", "n", "1+1", "-1", "${#arr[@]}")

    def key(self):
        return self.pick("k", "k1", "a b", "$a", "x", "0", "é", "'q r'", '"$b"')

    def parameter(self):
        """A name as it stands in ${}."""
        how = self.r.randrange(12)
        if how < 6:
            return self.r.choice(SCALARS)
        if how == 6:
            return f"{self.r.choice(ARRAYS)}[{self.pick('0', '1', '-1', 'n', '3')}]"
        if how == 7:
            return f"{self.r.choice(ASSOCS)}[{self.key()}]"
        if how == 8 and not self.ifs:
            return f"{self.r.choice(ARRAYS)}[{self.pick('@', '*')}]"
        if how == 9:
            return f"{self.r.choice(ASSOCS)}[k]"
        return self.pick("1", "2", "@", "*", "unset_")

    def pattern(self, in_braces=False):
        parts = ["*", "?", "a", "b", "[a-c]", "[!x]", "[[:upper:]]", "[[:digit:]]", "x", "o",
                 "foo", ".", "*.", "$a", '"$b"', "'*'", "\\*", "é", "[^a]", "@(a|b)", "+(o|x)",
                 "!(a)", "?(b)c", "*(ab)", ":", "l", "' '"]
        if in_braces:
            parts += ["\\/", "\\}"]
        return "".join(self.r.choice(parts) for _ in range(self.r.randint(1, 3)))

    def operator(self):
        how = self.r.randrange(10)
        if how == 0:
            return self.pick(":-", "-", ":+", "+") + self.inner()
        if how == 1:
            return self.pick("#", "##", "%", "%%") + self.pattern(True)
        if how in (2, 3):
            op = self.pick("/", "//", "/#", "/%")
            pattern = self.pattern(True)
            if op == "/" and pattern[0] in "#%/":
                pattern = "x" + pattern
            return op + pattern + self.pick("/", "/" + self.pick("X", "<&>", "", "$a", '"$b"',
                                            "\\&", "é", "' '"), "")
        if how == 4:
            return ":" + self.pick("0", "1", "2", " -1", " -3", "n", "1+1", "$((n-1))")
        if how == 5:
            return (":" + self.pick("0", "1", "2", " -2", "n") + ":" +
                    self.pick("1", "2", "0", "10", "n"))
        if how == 6:
            return self.pick("^", "^^", ",", ",,", "~", "~~") + self.pick(
                "", "", "[a-m]", "?", "b")
        if how == 7:
            return "@" + self.pick("Q", "U", "u", "L", "a", "E", "K", "k", "A")
        return ""

    def inner(self):
        return self.pick("", "d", "d e", "$a", '"$b"', "'q r'", "${c:-z}", '"$a $b"', "$(echo s)",
                         "$((1+1))", "*", "\\}", "~")

    def expansion(self):
        how = self.r.randrange(14)
        if how < 3:
            return "$" + self.pick(*SCALARS, "1", "@", "*", "#", "?")
        if how < 8:
            return "${" + self.parameter() + self.operator() + "}"
        if how == 8:
            return self.pick("${#a}", "${#arr[@]}", "${#map[@]}", "${#}", "${#@}", "${#arr[1]}",
                             "${#b}", "${#list[*]}")
        if how == 9:
            keys = [] if self.ifs else ["${!arr[@]}", "${!map[@]}"]
            return self.pick(*keys, "${!ref}", "${!wo*}", "${!ref:-x}",
                             "${!ref^^}")
        if how == 10:
            return "$((" + self.arith(2) + "))"
        if how == 11:
            return "$(" + self.small() + ")"
        if how == 12:
            return "`" + self.pick("echo b", "echo \"q r\"", "echo \\$a", "printf '%s\\n' x y") + "`"
        return self.pick("$?", "$#", "${arr[@]}", "${arr[*]}", "${map[k]}", "${list[0]}", "$n",
                         "${BASH_REMATCH[0]}", "${PIPESTATUS[@]}", "$FUNCNAME", "${nref}")

    def small(self):
        return self.pick("echo one two", "printf '%s\\n' a b", "echo \"$a\"", "echo $b",
                         "cat f2", "echo; echo x; echo", "true", "false", "echo $((n+1))",
                         "printf %s \"${arr[@]}\"", "echo \"${map[k]}\" | tr a-z A-Z", "<f1",
                         "exit 3", "for i in 1 2; do echo $i; done", "echo -n x", " (echo in)",
                         "n=9; echo $n", "cat <<<\"$c\"", "echo *.txt", "set -- q w; echo $2")

    def word(self):
        how = self.r.randrange(12)
        if how < 3:
            return self.plain()
        if how < 5:
            return self.literal()
        if how < 7:
            return self.expansion()
        if how < 10:
            return '"' + self.quoted() + '"'
        if how == 10:
            return self.brace()
        return self.pick("*", "*.txt", "d/*", "?1", "[a-b].*", ".*", "*/", "nope*", "$a*", "f[12]",
                         "~", "a~", "\\*", "*' '*", "**", "[[:upper:]]*", "{f1,f2}", "@(f1|f2)",
                         "!(*.txt)", "./*.log", "d/*/*")

    def quoted(self):
        out = ""
        for _ in range(self.r.randint(1, 3)):
            part = self.pick(self.expansion, lambda: self.pick("x", " ", "a b", "\\$", "\\\\", "'",
                                                               "*", "é", ":", "\\\"", "-"))()
            if (set(part) | set(out)) >= set("@*"):
                part = "$c"
            if "'" in part and "${" in part or '"' in part and part.startswith("`"):
                part = "$a"
            out += part
        return out

    def brace(self):
        return self.pick("{a,b}c", "{1..4}", "x{,y}", "{a..c}{1,2}", "{5..1..2}", "{01..03}",
                         "{a,b{c,d}}", "{$a,x}", "{a,'b c'}", "{-1..1}", "{c..a}", "p{q}r",
                         "{1..3}{a,b}", "{}", "{,}", "{a,b}{,}", '{"a b",c}', "${a}{1,2}",
                         "{10..0..-5}", "\\{a,b}", "{a,b")

    def words(self, least=0, most=3):
        return self.some(self.word, least, most)

    # --- arithmetic ---

    def number(self):
        return self.pick("0", "1", "2", "3", "7", "10", "0x1f", "017", "2#101", "16#fF", "36#z",
                         "64#_", "255", "-1", "9223372036854775807", "100")

    def arith(self, depth):
        if depth <= 0 or self.chance(25):
            text = [] if "u" in self.set else ["a_", "arr[1]", "arr[n]", "map[k]"]
            return self.pick(self.number(), self.number(), "n", *text, "$n", "${#a}", "i", "m",
                             "${#arr[@]}")
        how = self.r.randrange(12)
        x = self.arith(depth - 1)
        if how < 6:
            op = self.pick("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=",
                           "==", "!=", "&&", "||", "**", ",")
            y = self.arith(depth - 1)
            if op in ("<<", ">>", "**"):
                y = self.pick("0", "1", "2", "5", "n%4" if op == "x" else "3")
            return f"{x} {op} {y}"
        if how == 6:
            return f"({x})"
        if how == 7:
            return self.pick("-", "!", "~", "+", "- ") + f"({x})"
        if how == 8:
            return f"{x} ? {self.arith(depth - 1)} : {self.number()}"
        if how == 9:
            return self.pick("n++", "++n", "m--", "--m", "i--", "i++")
        if how == 10:
            text = [] if "u" in self.set else ["arr[2]", "map[k]"]
            return ("(" + self.pick("n", "m", "i", *text) +
                    self.pick("=", "+=", "-=", "*=", "|=", "&=", "^=", "<<=", "%=") +
                    self.pick("1", "2", "5", "(3)", "n", "7") + ")")
        return f"({x}){self.pick('+', '*', '-', ' == ')}{self.number()}"

    # --- conditions ---

    def cond(self, depth=2):
        if depth > 0 and self.chance(30):
            how = self.r.randrange(4)
            if how == 0:
                return "! " + self.cond(0)
            if how == 1:
                return "( " + self.cond(depth - 1) + " )"
            return self.cond(depth - 1) + self.pick(" && ", " || ") + self.cond(depth - 1)
        value = self.pick("$a", '"$b"', "$c", "${arr[1]}", "foo", "'a b'", "$n", "${map[k]}", "$1")
        how = self.r.randrange(8)
        if how < 2:
            return f"{value} {self.pick('==', '!=', '=')} {self.pattern()}"
        if how == 2:
            return f"{value} =~ {self.regex()}"
        if how == 3:
            return f"{value} {self.pick('<', '>')} {self.pick('foo', '$b', 'A', '5')}"
        if how == 4:
            return (f"{self.pick('n', '$n', '3', 'm+1', '${#a}')} "
                    f"{self.pick('-eq', '-ne', '-lt', '-le', '-gt', '-ge')} "
                    f"{self.pick('3', 'n', '0', '2*2')}")
        if how == 5:
            return f"{self.pick('-n', '-z')} {value}"
        if how == 6:
            return (f"{self.pick('-e', '-f', '-d', '-s', '-r', '-h', '-x')} "
                    f"{self.pick('f1', 'd', 'nope', 'c.log', '$a')}")
        return self.pick("-v a", "-v unset_", "-v arr[1]", "-v arr[9]", "-v map[k]", "f1 -nt nope",
                         "f1 -ef ./f1", "-o errexit", "-R nref", "$a")

    def regex(self):
        return self.pick("^[a-z]+$", "o+", "(a|b)(c|d)?", "^(.*)\\ (.*)$", "[[:digit:]]+",
                         "a.c", '"."', "$re", "^$", "(x)|(y)|(.)", "([^:]*):(.*)", "'a b'",
                         "^.{2,4}$", "(foo|fo)(o.*)?", "\\.", "é", "[.]", "a*")

    def test(self):
        value = self.pick('"$a"', '"$b"', "foo", "''", '"${arr[0]}"', '"$1"')
        return self.pick(
            f"[ {value} = {self.pick('foo', 'x', value)} ]", f"[ -n {value} ]", f"test -z {value}",
            "[ $n -gt 2 ]", "[ ! -e f1 ]", "[ -d d -a -f f1 ]", f"[ {value} != x -o 1 -eq 2 ]",
            f"[ {value} ]", "[ -v a ]", "test f1", "[ \\( a = b \\) -o x ]", "[ 3 -ge $n ]")

    # --- commands ---

    def redirect(self):
        return self.pick(" >out1", " >>out1", " 2>err1", " >err2 2>&1", " &>err3", " <f1", " </dev/null",
                         " 2>/dev/null", " >/dev/null", " >|out1", " 3>out4 >&3", " <<<\"$a\"", "",
                         " &>>err4", " >>d/log", " >&2", " <f2 >out5")

    def output(self):
        return self.pick(
            lambda: "echo " + self.words(0, 4),
            lambda: "printf '<%s>' " + self.words(0, 3) + "; echo",
            lambda: "printf '[%s]\\n' " + self.words(1, 3),
            lambda: f"printf {self.format()} {self.words(0, 3)}; echo",
            lambda: "echo \"" + self.quoted() + "\"")()

    def format(self):
        return single(self.pick("%s|%s\\n", "%5s|%-5s|", "%q ", "%b", "%d\\n", "%x-%o ", "%c", "%05.1f ",
                                "%%%s", "%.2s|", "%s", "%*s|", "%e ", "%i,", "%+d ", "\\x41\\n%s",
                                "%u ", "%X ", "% d|", "%g "))

    def assignment(self):
        how = self.r.randrange(12)
        if how < 4:
            return f"{self.r.choice(SCALARS)}{self.pick('=', '=', '+=')}{self.word()}"
        if how == 4:
            return f"{self.r.choice(ARRAYS)}{self.pick('=', '=', '+=')}({self.words(0, 4)})"
        if how == 5:
            return f"{self.r.choice(ARRAYS)}[{self.index()}]{self.pick('=', '+=')}{self.word()}"
        if how == 6:
            return f"{self.r.choice(ASSOCS)}[{self.key()}]{self.pick('=', '+=')}{self.word()}"
        if how == 7:
            return "n=$((" + self.arith(2) + "))"
        if how == 8:
            return f"arr=([{self.pick('2', '5', 'n')}]={self.word()} {self.word()} [0]=z)"
        if how == 9:
            return f"map+=([{self.pick('k', 'new', 'a b')}]={self.word()})"
        if how == 10:
            return f"printf -v {self.pick('a', 'b', 'arr[2]', 'map[pf]')} {self.format()} {self.words(0, 2)}"
        return self.pick("a=$b c=$a", "a=${b:=dflt}", "word=$a$b", "IFS=: read -r a b c <<<\"$a\"",
                         "b=$(echo $a)", "nref=new", "n=5", "re='(o+|a)'", "c=$*", "c=\"$@\"")

    def read(self):
        data = self.pick('"$a"', '"$b"', "'1 2 3 4'", "'a:b:c'", "$'x\\\\ty z\\n'", "'  lead'", '"$c"',
                         "'a\\ b c'", "'a,b,,c'")
        return self.pick(
            f"read {self.pick('', '-r ')}{self.pick('a', 'a b', 'a b c', '')} <<<{data}",
            f"IFS={self.pick(':', ',', chr(39) + chr(39), chr(39) + ', ' + chr(39))} read "
            f"{self.pick('', '-r ')}{self.pick('a', 'a b', '-a arr', 'a b c')} <<<{data}",
            f"read -{self.pick('n', 'N')} {self.pick('1', '3', '20')} a <<<{data}",
            f"read -d {self.pick(':', 'b', 'x')} a <<<{data}; echo \"$?\"",
            "mapfile -t list <f1; declare -p list", f"mapfile -t list <<<{data}; echo \"${{#list[@]}}\"",
            f"mapfile -n 2 -s 1 list <f2; printf '[%s]' \"${{list[@]}}\"",
            "while IFS= read -r line; do echo \"<$line>\"; done <f1; echo \"$line\"",
            "while read -r x y; do echo \"$y-$x\"; done < <(cat f2)",
            "cat f2 | while read x y; do a=$y; done; echo $a",
            "readarray -d ' ' -t list <<<'p q r'; echo \"${list[@]@Q}\"")

    def declare(self):
        return self.pick(
            "declare -i num=3+4; num+=2; echo $num", "declare -u up=$a; echo \"$up\"",
            "declare -l low=\"$b\"; echo \"$low\"", "declare -a arr; declare -p arr",
            "declare -p map", "declare -r ro=1; (ro=2); echo $? $ro", "declare -x ex=$a; declare -p ex",
            "declare -n nref=b; nref=via; echo $b ${!nref}", "declare -n el='arr[1]'; el=E; echo ${arr[1]}",
            "unset a; echo ${a-unset}", "unset 'arr[1]'; echo ${!arr[@]}", "unset 'map[k]'; echo ${#map[@]}",
            "declare -p a b c 2>/dev/null", "export a; bash -c 'echo $a'", "declare -A new=([x]=1); echo ${new[x]}",
            "typeset -i i=n; echo $i", "arr=(\"${arr[@]}\" end)", "declare -ai nums=(1+1 '2*3'); echo ${nums[@]}",
            "declare -p word", "readonly -p | wc -l >/dev/null", "list=(\"${arr[@]:1:2}\"); declare -p list",
            "local x=1 2>/dev/null; echo $?", "declare +x a; unset -v b; echo ${b-u}", "unset -n nref; echo ${nref-gone}")

    def control(self):
        self.depth += 1
        how = self.r.randrange(9)
        if how == 0:
            out = f"if {self.condition()}; then {self.body()}; " + \
                (f"elif {self.condition()}; then {self.body()}; " if self.chance(30) else "") + \
                (f"else {self.body()}; " if self.chance(50) else "") + "fi"
        elif how == 1:
            self.loops += 1
            out = f"for v in {self.words(0, 4)}; do {self.pick('echo v=$v; ', '')}{self.body()}; done"
            self.loops -= 1
        elif how == 2:
            self.loops += 1
            out = f"for ((j=0; j<{self.pick('2', '3')}; j++)); do {self.body()}; done"
            self.loops -= 1
        elif how == 3:
            t = self.name("t")
            self.loops += 1
            out = f"{t}=0; {self.pick('while [ $' + t + ' -lt 3 ]', 'until ((' + t + ' >= 2))')}; " \
                  f"do (({t}++)); {self.body()}; done"
            self.loops -= 1
        elif how == 4:
            out = f"case {self.pick('$a', '$b', self.word(), 'foo')} in " + \
                " ".join(f"{self.pick('(', '')}{self.pattern()}{self.pick('', '|' + self.pattern())}) "
                         f"{self.body()} {self.pick(';;', ';;', ';&', ';;&')}"
                         for _ in range(self.r.randint(1, 3))) + \
                self.pick(" *) echo default;; ", " ") + "esac"
        elif how == 5:
            out = "{ " + self.body() + "; }" + self.redirect()
        elif how == 6:
            out = "( " + self.body() + " )" + self.redirect()
        elif how == 7:
            out = self.function()
        else:
            out = self.condition() + self.pick(" && ", " || ") + self.simple() + \
                (self.pick(" || ", " && ") + self.simple() if self.chance(40) else "")
        self.depth -= 1
        return out

    def condition(self):
        return self.pick(lambda: f"[[ {self.cond()} ]]", lambda: self.test(),
                         lambda: f"(({self.arith(2)}))", lambda: self.pick("true", "false", "! true"),
                         lambda: f"[[ {self.cond()} ]]")()

    def body(self):
        return self.some(self.statement, 1, 2, "; ")

    def function(self):
        name = self.name("fn")
        inside, loops = self.in_function, self.loops
        self.in_function, self.loops = True, 0
        body = self.pick("local a=$1; ", "local a b=$b; ", "local -i n=5; ", "local -a arr=(l1 l2); ",
                         "a=$1; ", "local -A map=([k]=loc); ", "local IFS=:; ", "local -n out=$1; ", "") + \
            self.body() + self.pick("", "; return " + self.pick("0", "1", "3", "$n%256"),
                                    "; shift; echo $#", "; echo \"$FUNCNAME $*\"")
        self.in_function, self.loops = inside, loops
        call = f"{name} {self.pick('a', 'b', 'word')} {self.words(0, 2)}"
        open_, close = self.pick(("{ ", "; }"), ("( ", " )"))
        return f"{name}() {open_}{body}{close}; {call}{self.pick('', '; echo $?', ' | cat', '; ' + call)}"

    def pipeline(self):
        first = self.pick("cat f1", "cat f2", "printf '%s\\n' " + self.words(1, 3), "echo \"$a\"",
                          "printf '%s\\n' \"${arr[@]}\"", "seq 3")
        last = self.pick("sort", "wc -l", "tr a-z A-Z", "grep a", "head -n 1", "cat", "sed s/a/Z/",
                         "while read -r l; do echo \"[$l]\"; done", "cat -n", "{ read -r q; echo \"$q\"; }",
                         "tail -n 1", "(cat)", "uniq -c", "cut -c1-3", "rev")
        pipe = " | "
        if self.chance(20):
            first, pipe = "{ echo x; echo y >&2; }", self.pick(" | ", " |& ")
        return f"{self.pick('', '', '! ')}{first}{pipe}{last}" \
               f"{self.pick('', '; echo $? ${PIPESTATUS[@]}')}"

    def special(self):
        return self.pick(
            "set -- " + self.words(0, 4), "shift; echo $? $#", "eval \"echo " + self.pick("\\$a", "'q'", "x; echo y") + "\"",
            "eval 'a=1; echo $a'", "trap 'echo bye $?' EXIT", "(trap 'echo sub' EXIT; exit 4); echo $?",
            "(trap 'echo ERR $?' ERR; false; true; false || true; ! true; echo t)",
            "(set -e; false; echo no); echo $?", "(set -e; if false; then :; fi; false || true; echo yes); echo $?",
            "(set -u; echo $unset_; echo no) 2>/dev/null; echo $?", "(set -o pipefail; false | true; echo $?)",
            "(set -f; echo *)", "(set -eu; f() { false; echo in; }; f || echo or; f; echo no) 2>/dev/null; echo $?",
            "(IFS=:; echo $a $*; set -- $a; echo $#)", "(IFS=; echo $a \"$*\")", "(IFS=' ,'; for w in $b; do echo \"<$w>\"; done)",
            "(shopt -s nullglob; echo nope* x)", "(shopt -s dotglob; echo *)", "(shopt -s globstar; echo **/*.txt)",
            "(shopt -s nocasematch; [[ ABC == abc ]]; echo $?)", "(shopt -s nocaseglob; echo *.txt)",
            "(set -C; echo x >c.log; echo y >newf) 2>/dev/null; echo $?", "(exec 3>out6; echo via >&3); cat out6",
            "exec 4<f1; read -r q <&4; echo \"$q\"; exec 4<&-", "{ echo o; echo e >&2; } 2>&1 >/dev/null | cat",
            "exec {fd}>out7; echo fd >&$fd; exec {fd}>&-; cat out7", "echo a b c | (read x y; echo \"$y\")",
            "getopts ab: opt -a; echo $opt $OPTIND; OPTIND=1", "while getopts ':xy:' o -x -y v -q; do echo \"$o$OPTARG\"; done; OPTIND=1",
            "cat <(echo p1) <(echo p2)", "echo q > >(cat); wait", "diff <(echo 1) <(echo 2) >/dev/null; echo $?",
            "(sleep 0; exit 3) & wait $!; echo $?", "{ echo bg; } & wait", "echo ${BASH_SOURCE[0]-none} $LINENO",
            "type -t echo if fn1 cd nope; echo $?", "command echo via", "builtin printf '%s\\n' b", "let n+=2 'm = n*2'; echo $n $m",
            "(cd d && pwd -P >/dev/null && echo *)", "pushd d >/dev/null; echo x*; popd >/dev/null", "echo ${@:1:2} ${*: -1} ${@:0:0}",
            "select s in p q; do echo $s; break; done <<<2 2>/dev/null", "echo \"${a@Q} ${arr[@]@A}\"", "times >/dev/null; umask 022",
            ": ${newv:=set}; echo $newv", "(: ${unset_?}; echo no) 2>/dev/null; echo $?", "hash -r; true; echo $_ >/dev/null",
            "printf '%s\\n' {a..c} | mapfile -t list; echo ${#list[@]}", "shopt -s lastpipe; echo lp | read -r c; shopt -u lastpipe; echo \"$c\"",
            "(trap 'echo D' DEBUG; true; x=1)", "(set -T; trap 'echo R' RETURN; f() { :; }; f)", "echo $((1/0)) 2>/dev/null; echo after",
            "(f() { local -; set -u; echo $-; }; f) | tr -d c", "a=x; b=a; echo ${!b}", "readonly zz=1 2>/dev/null; (zz=2) 2>/dev/null; echo $?",
            "[[ foobar =~ (o+)(b.r) ]] && echo ${BASH_REMATCH[@]:1}", "bash -c 'echo $0 $#' nm x y", "echo 'echo src $1; return 2' >s.sh; . ./s.sh A; echo $?",
            "source ./d/x.txt 2>/dev/null; echo $?", "echo $(( $(echo 2) ** 3 ))", "bash -ec 'false; echo n'; echo $?")

    def heredoc(self):
        tag = self.pick("E", "'E'", "-E")
        strip = tag == "-E"
        text = "".join(("\t" if strip else "") + line + "\n" for line in (
            self.pick("plain $a", "${b:-d} \\$x \\\\", "$(echo sub) `echo bt`", "'q' \"dq\"", "$((n+1)) * ~",
                      "a\\", "${arr[@]}", "é  two") for _ in range(self.r.randint(1, 3))))
        command = self.pick("cat", "cat >out8", "while read -r h; do echo \"{$h}\"; done", "tr a-z A-Z", "read a b")
        head = command + (" <<-E" if strip else " <<" + tag)
        if text.endswith("\\\n") and tag != "'E'":
            text += "end\n"
        return f"{head}\n{text}E"

    def simple(self):
        return self.pick(self.output, self.output, self.assignment, self.assignment, self.output,
                         lambda: f"{self.r.choice(SCALARS)}={self.word()} " + self.pick(
                             "eval 'echo \"$a\"'", "true", "printenv a", ":"),
                         lambda: f"echo {self.words(0, 3)}{self.redirect()}",
                         lambda: f"printf '<%s>' {self.words(1, 3)}{self.redirect()}")()

    def statement(self):
        if self.depth >= 3:
            return self.simple()
        how = self.r.randrange(20)
        if how < 5:
            return self.simple()
        if how < 9:
            return self.control()
        if how < 11:
            return self.assignment()
        if how == 11:
            return self.declare()
        if how == 12:
            return self.read()
        if how == 13:
            return self.pipeline()
        if how < 17:
            return self.special()
        if how == 17:
            return self.condition() + "; echo $? \"${BASH_REMATCH[@]}\""
        if how == 18:
            return f"(({self.arith(3)})); echo $? $n $m"
        if self.loops:
            return self.condition() + " && " + self.pick("break", "continue", "continue")
        if self.in_function and self.chance(30):
            return self.condition() + " && return 7"
        return self.output()

    def prologue(self):
        lines = [f"{name}={self.literal()}" for name in SCALARS]
        lines += [f"arr=({self.some(self.literal, 0, 4)})", "list=(p 'q r' s)",
                  "declare -A map=([k]=v [k1]='two words' [a b]=sp) tab", "n=3 m=4 i=0 ref=word re='o+'",
                  "declare -n nref=c", "set -- one 'two words' '' four"]
        if self.set:
            lines.append("set -" + self.set)
        if self.ifs:
            lines.append("IFS=" + self.ifs)
        if self.chance(15):
            lines.append("shopt -s " + self.pick("nullglob", "dotglob", "globstar", "nocasematch",
                                                 "nocaseglob", "lastpipe", "failglob", "inherit_errexit"))
        return lines

    def make(self):
        lines = ["shopt -s extglob"] + self.prologue()
        for _ in range(self.r.randint(3, 8)):
            lines.append(self.heredoc() if self.chance(8) else self.statement())
            if self.chance(15):
                lines.append("echo \"st=$?\"")
        lines.append("declare -p a b c n arr map 2>/dev/null")
        return "\n".join(lines) + "\n"


def script(seed, number):
    return Script(seed, number).make()
