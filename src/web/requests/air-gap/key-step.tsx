import { useState } from "preact/hooks";
import { CODE_BITS } from "../../../license/codes/code.ts";
import { Button } from "../../parts/button.tsx";
import { Field } from "../../parts/field.tsx";
import { StepActions } from "../../parts/wizard.tsx";
import { keyStep } from "./air-gap-texts.ts";
import { CodeEntry } from "./code-entry.tsx";
import {
  initializationRows,
  isCodeComplete,
  licenseKey,
  createActivation,
  POLICY_STEP,
  currentStep,
} from "./state.ts";

/** The license key and initialization code that the vendor gave beforehand. */
export function KeyStep() {
  const hasInitialization = initializationRows.value.some((row) => row.trim() !== "");
  // Read only once: the section must not close when the user clears the code to type it again.
  const [isOpen] = useState(hasInitialization);
  const isReady =
    licenseKey.value.trim() !== "" &&
    (!hasInitialization || isCodeComplete(initializationRows.value, CODE_BITS.initialization));
  return (
    <>
      <p>{keyStep.text}</p>
      <Field label={keyStep.key} value={licenseKey} hint={keyStep.keyHint} required />
      <details open={isOpen}>
        <summary>{keyStep.withInitialization}</summary>
        <CodeEntry
          label={keyStep.initialization}
          bits={CODE_BITS.initialization}
          rows={initializationRows}
        />
      </details>
      <StepActions onBack={() => (currentStep.value = 0)}>
        <Button
          disabled={licenseKey.value.trim() === ""}
          onClick={() => void (currentStep.value = POLICY_STEP)}
        >
          {keyStep.skipToConfirmation}
        </Button>
        <Button kind="main" disabled={!isReady} onClick={createActivation}>
          {keyStep.createActivation}
        </Button>
      </StepActions>
    </>
  );
}
