import { spellSymbols } from "./spelling.ts";

/** A code to read out: large, in rows of groups, optionally with a word for each symbol. */
export const CodeDisplay = ({ code, isSpelledOut }: { code: string; isSpelledOut: boolean }) => (
  <ol class="code-display">
    {code.split("\n").map((row) => (
      <li key={row}>
        {row.split("-").map((group, index) => (
          <span key={index} class="group">
            <code>{group}</code>
            {isSpelledOut && <span class="words">{spellSymbols(group).join(" ")}</span>}
          </span>
        ))}
      </li>
    ))}
  </ol>
);
