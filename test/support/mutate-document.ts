// Small random damage to a signed document, as typing errors, disks or networks cause it.

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.= \u0000é";

/** Replaces a character, removes or repeats a piece, or flips a bit of a decoded part. */
export function mutateDocument(text: string, random: () => number): string {
  const at = Math.floor(random() * text.length);
  const length = 1 + Math.floor(random() * 8);
  const piece = text.slice(at, at + length);
  switch (Math.floor(random() * 4)) {
    case 0:
      return (
        text.slice(0, at) +
        (ALPHABET[Math.floor(random() * ALPHABET.length)] ?? "") +
        text.slice(at + 1)
      );
    case 1:
      return text.slice(0, at) + text.slice(at + length);
    case 2:
      return text.slice(0, at) + piece + text.slice(at);
    default: {
      const parts = text.split(".");
      const index = Math.floor(random() * parts.length);
      const bytes = Buffer.from(parts[index] ?? "", "base64url");
      const bit = Math.floor(random() * bytes.length * 8);
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      parts[index] = bytes.toString("base64url");
      return parts.join(".");
    }
  }
}
