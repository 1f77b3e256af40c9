/** Words that Berth itself uses: a name that equals one of them identifies no one. */
const RESERVED_WORDS = new Set(
  "admin berth data demo license localhost root server service".split(" "),
);

/** Shorter names are also ordinary words. */
const MIN_LENGTH = 3;
/** From this length on, names are replaced inside other words too: a user in a host name. */
const MIN_LENGTH_INSIDE_WORDS = 6;

interface TrieNode {
  readonly next: Map<string, TrieNode>;
  replacement: string | null;
}

interface Match {
  readonly replacement: string;
  readonly length: number;
}

const createNode = (): TrieNode => ({ next: new Map(), replacement: null });

/** Replaces names in a text in one pass, as many as a large site has. */
export class NameReplacer {
  readonly #root = createNode();

  add(name: string, replacement: string): void {
    if (name.length < MIN_LENGTH || RESERVED_WORDS.has(name.toLowerCase())) return;
    let node = this.#root;
    for (const unit of name.split("")) {
      const next = node.next.get(unit) ?? createNode();
      node.next.set(unit, next);
      node = next;
    }
    node.replacement = replacement;
  }

  /** The longest name wins; replacements are not searched again. */
  replaceIn(text: string): string {
    let result = "";
    for (let at = 0; at < text.length;) {
      const match = this.#longestMatch(text, at);
      result += match?.replacement ?? text.charAt(at);
      at += match?.length ?? 1;
    }
    return result;
  }

  #longestMatch(text: string, at: number): Match | null {
    let match: Match | null = null;
    let node = this.#root.next.get(text.charAt(at));
    for (let length = 1; node !== undefined; length += 1) {
      const { replacement, next } = node;
      const isAllowed = length >= MIN_LENGTH_INSIDE_WORDS || isWholeWord(text, at, at + length);
      if (replacement !== null && isAllowed) match = { replacement, length };
      node = next.get(text.charAt(at + length));
    }
    return match;
  }
}

const WORD_CHARACTER = /[\p{L}\p{N}_-]/u;

const isWholeWord = (text: string, from: number, to: number): boolean =>
  !WORD_CHARACTER.test(text.charAt(from - 1)) && !WORD_CHARACTER.test(text.charAt(to));
