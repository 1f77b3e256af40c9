import { useState } from "preact/hooks";
import { CODE_BITS } from "../../../license/code.ts";
import { Button } from "../../parts/button.tsx";
import { Field } from "../../parts/field.tsx";
import { Way } from "../../parts/steps.tsx";
import { airGapKey } from "../../texts/air-gap.ts";
import { CodeEntry } from "./code-entry.tsx";
import { initialization, isWhole, key, makeActivation, POLICY, step } from "./state.ts";

/** What the vendor gave beforehand. */
export function KeyStep() {
  const begun = initialization.value.some((row) => row.trim() !== "");
  // Only at first: emptied by whoever types it anew, it must not close under their hands.
  const [isOpen] = useState(begun);
  const ready =
    key.value.trim() !== "" && (!begun || isWhole(initialization.value, CODE_BITS.initialization));
  return (
    <>
      <p>{airGapKey.text}</p>
      <Field label={airGapKey.key} value={key} hint={airGapKey.keyHint} required />
      <details open={isOpen}>
        <summary>{airGapKey.withInitialization}</summary>
        <CodeEntry
          label={airGapKey.initialization}
          bits={CODE_BITS.initialization}
          rows={initialization}
        />
      </details>
      <Way onBack={() => (step.value = 0)}>
        <Button kind="main" disabled={!ready} onClick={makeActivation}>
          {airGapKey.make}
        </Button>
        <Button disabled={key.value.trim() === ""} onClick={() => void (step.value = POLICY)}>
          {airGapKey.have}
        </Button>
      </Way>
    </>
  );
}
