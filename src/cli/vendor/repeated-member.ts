const TOKEN = /"(?:[^"\\]|\\[^])*(?:"|\\?$)|[{}[\],:]/g;

interface OpenContainer {
  /** Names of an object's members so far; null: a list. */
  readonly names: Set<string> | null;
  /** Last part of the path of the current member or element: `.slots`, or `[2]`. */
  pathPart: string;
  index: number;
}

/**
 * The path of the first member that an object in this JSON text has twice; null: there is none.
 * `JSON.parse` silently uses the last one. The text must be valid JSON.
 */
export function findRepeatedMember(text: string): string | null {
  const tokens = text.match(TOKEN) ?? [];
  const open: OpenContainer[] = [];
  for (const [index, token] of tokens.entries()) {
    const inner = open.at(-1);
    if (token === "{") open.push({ names: new Set(), pathPart: "", index: 0 });
    else if (token === "[") open.push({ names: null, pathPart: "[0]", index: 0 });
    else if (token === "}" || token === "]") open.pop();
    else if (token === "," && inner?.names === null) {
      inner.index += 1;
      inner.pathPart = `[${inner.index}]`;
    } else if (inner?.names != null && tokens[index + 1] === ":" && token.startsWith('"')) {
      const name = JSON.parse(token) as string;
      inner.pathPart = `.${name}`;
      if (inner.names.has(name))
        return open
          .map(({ pathPart }) => pathPart)
          .join("")
          .slice(1);
      inner.names.add(name);
    }
  }
  return null;
}
