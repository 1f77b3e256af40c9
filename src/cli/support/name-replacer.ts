/** Words of our own: who is called like one of them is not told by it. */
const RESERVED_WORDS = new Set(
  "admin berth data demo license localhost root server service".split(" "),
);

/** Shorter ones are words of any language. */
const MIN_LENGTH = 3;
/** Longer ones are found inside of other words as well: the user in the name of a machine. */
const MIN_LENGTH_INSIDE_WORDS = 6;

interface TrieNode {
  readonly next: Map<string, TrieNode>;
  replacement: string | null;
}

const createNode = (): TrieNode => ({ next: new Map(), replacement: null });

/** Names to be taken out of a text: as many as a large site has, in one walk over it. */
export class NameReplacer {
  readonly #root = createNode();

  add(name: string, standIn: string): void {
    if (name.length < MIN_LENGTH || RESERVED_WORDS.has(name.toLowerCase())) return;
    let here = this.#root;
    for (const unit of name.split("")) {
      const next = here.next.get(unit) ?? createNode();
      here.next.set(unit, next);
      here = next;
    }
    here.replacement = standIn;
  }

  /** The longest one wins; what stands in for one is not looked at again. */
  replaceIn(text: string): string {
    let result = "";
    for (let at = 0; at < text.length;) {
      const found = this.#longestAt(text, at);
      result += found?.standIn ?? text.charAt(at);
      at += found?.length ?? 1;
    }
    return result;
  }

  #longestAt(text: string, at: number): { standIn: string; length: number } | null {
    let found: { standIn: string; length: number } | null = null;
    let here = this.#root.next.get(text.charAt(at));
    for (let length = 1; here !== undefined; length += 1) {
      const { replacement, next } = here;
      const fits = length >= MIN_LENGTH_INSIDE_WORDS || isWholeWord(text, at, at + length);
      if (replacement !== null && fits) found = { standIn: replacement, length };
      here = next.get(text.charAt(at + length));
    }
    return found;
  }
}

const PART_OF_A_WORD = /[\p{L}\p{N}_-]/u;

const isWholeWord = (text: string, from: number, to: number): boolean =>
  !PART_OF_A_WORD.test(text.charAt(from - 1)) && !PART_OF_A_WORD.test(text.charAt(to));
