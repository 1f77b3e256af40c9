/**
 * Different in every process: users choose their names, and could otherwise choose many that have
 * the same hash. Only the speed of a look-up depends on it.
 */
const [KEY_0 = 0, KEY_1 = 0] = crypto.getRandomValues(new Int32Array(2));

/** Rounds after the last word of the text. */
const FINAL_ROUNDS = 3;

/** HalfSipHash-1-3 of a text in UTF-16, as an integer of 32 bits with a sign. */
export function hashString(text: string, key0 = KEY_0, key1 = KEY_1): number {
  const { length } = text;
  // Two characters a word. The last word has the length, and the last character if that is odd.
  const lastWord = length >> 1;
  let a = key0;
  let b = key1;
  let c = key0 ^ 0x6c796765;
  let d = key1 ^ 0x74656462;
  for (let round = 0; round <= lastWord + FINAL_ROUNDS; round += 1) {
    let word = 0;
    if (round < lastWord) {
      word = text.charCodeAt(2 * round) | (text.charCodeAt(2 * round + 1) << 16);
    } else if (round === lastWord) {
      word = (length << 25) | (length % 2 === 0 ? 0 : text.charCodeAt(length - 1));
    } else if (round === lastWord + 1) c ^= 0xff;
    d ^= word;
    a = (a + b) | 0;
    b = rotate(b, 5) ^ a;
    a = rotate(a, 16);
    c = (c + d) | 0;
    d = rotate(d, 8) ^ c;
    a = (a + d) | 0;
    d = rotate(d, 7) ^ a;
    c = (c + b) | 0;
    b = rotate(b, 13) ^ c;
    c = rotate(c, 16);
    a ^= word;
  }
  return b ^ d;
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
