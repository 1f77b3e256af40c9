import { spellSymbols } from "./spelling.ts";

/** A code to be read out: large, in rows of groups, with a word for each symbol if wanted. */
export const CodeDisplay = ({ code, isSpelledOut }: { code: string; isSpelledOut: boolean }) => (
  <ol class="code-shown">
    {code.split("\n").map((row) => (
      <li key={row}>
        {row.split("-").map((group, place) => (
          <span key={place} class="group">
            <code>{group}</code>
            {isSpelledOut && <span class="words">{spellSymbols(group).join(" ")}</span>}
          </span>
        ))}
      </li>
    ))}
  </ol>
);
