import { useSignal } from "@preact/signals";
import { Button } from "../../parts/button.tsx";
import { activation } from "../../texts/air-gap.ts";
import { spell } from "./spelling.ts";

/** A code to be read out: large, in rows of groups, with a word for each symbol on demand. */
export function CodeShown({ code }: { code: string }) {
  const spelled = useSignal(false);
  return (
    <>
      <ol class={spelled.value ? "code-shown spelled" : "code-shown"}>
        {code.split("\n").map((row) => (
          <li key={row}>
            {row.split("-").map((group, place) => (
              <span key={place} class="group">
                <code>{group}</code>
                {spelled.value && <span class="words">{spell(group).join(" ")}</span>}
              </span>
            ))}
          </li>
        ))}
      </ol>
      <Button onClick={() => void (spelled.value = !spelled.value)}>
        {spelled.value ? activation.unspell : activation.spell}
      </Button>
    </>
  );
}
