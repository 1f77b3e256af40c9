/** Text that is already HTML. Everything else is escaped where it is inserted. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Html[];

/** HTML from a template: every inserted text is escaped, for content and for quoted attributes. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(
    strings.map((text, index) => (index === 0 ? text : render(parts[index - 1]) + text)).join(""),
  );

function render(part: Part | undefined): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(({ text }) => text).join("");
  return escapeText(String(part));
}

/** Control and invisible characters are shown as escapes: they could reverse the direction. */
const escapeText = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;")
    .replaceAll(INVISIBLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

const INVISIBLE = /[\p{Cc}\p{DI}\u2028\u2029]/gu;
