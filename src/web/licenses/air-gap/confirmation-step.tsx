import { CODE_BITS } from "../../../license/code.ts";
import { Button } from "../../parts/button.tsx";
import { Notice } from "../../parts/notice.tsx";
import { OnTerminal } from "../../parts/on-terminal.tsx";
import { Way } from "../../parts/steps.tsx";
import { shellWord } from "../../shell.ts";
import { adding } from "../../texts/adding.ts";
import { airGap, codeRemedies, confirmation as say } from "../../texts/air-gap.ts";
import { Came } from "../adding.tsx";
import type { Outcome } from "../take-in.ts";
import { CodeEntry } from "./code-entry.tsx";
import { beginAgain, confirmation, install, isWhole, key, outcome, POLICY, step } from "./state.ts";

/** The code that comes back, row by row. */
export function ConfirmationStep() {
  const whole = isWhole(confirmation.value, CODE_BITS.confirmation);
  const came = outcome.value;
  const isDone = came !== null && came.kind !== "refused";
  const command = [
    "berth airgap add --policy policy.jwt",
    `--license-key ${shellWord(key.value.trim())}`,
    "--code 'THE-CODE'",
  ].join(" ");
  return (
    <>
      <p>{say.text}</p>
      <CodeEntry
        label={say.label}
        bits={CODE_BITS.confirmation}
        rows={confirmation}
        onWhole={() => void install()}
      />
      <p class="quiet">{say.scanner}</p>
      {came !== null && <Result came={came} />}
      <Way onBack={() => (step.value = POLICY)}>
        {isDone ? (
          <Button onClick={beginAgain}>{airGap.again}</Button>
        ) : (
          <Button kind="main" disabled={!whole} onClick={install}>
            {say.install}
          </Button>
        )}
      </Way>
      <OnTerminal commands={[command]} />
    </>
  );
}

function Result({ came }: { came: Outcome }) {
  if (came.kind === "trust") return null;
  if (came.kind !== "refused") return <Came outcome={came} />;
  return (
    <Notice kind="bad" title={adding.refused}>
      <p>{came.message}</p>
      <p>{codeRemedies[came.code]}</p>
    </Notice>
  );
}
