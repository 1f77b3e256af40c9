import { CODE_BITS } from "../../../license/code.ts";
import { Button } from "../../parts/button.tsx";
import { Notice } from "../../parts/notice.tsx";
import { CliCommands } from "../../parts/cli-commands.tsx";
import { StepActions } from "../../parts/wizard.tsx";
import { quoteForShell } from "../../shell-quote.ts";
import { addLicense } from "../../texts/add-license.ts";
import { airGap, codeRemedies, confirmationStep as say } from "../../texts/air-gap.ts";
import { InstallOutcomeNotice } from "../document-installer.tsx";
import type { InstallOutcome } from "../install-document.ts";
import { CodeEntry } from "./code-entry.tsx";
import {
  restartWizard,
  confirmationRows,
  installLicense,
  isCodeComplete,
  licenseKey,
  installOutcome,
  POLICY_STEP,
  currentStep,
} from "./state.ts";

/** The code that comes back, row by row. */
export function ConfirmationStep() {
  const whole = isCodeComplete(confirmationRows.value, CODE_BITS.confirmation);
  const came = installOutcome.value;
  const isDone = came !== null && came.kind !== "refused";
  const command = [
    "berth airgap add --policy policy.jwt",
    `--license-key ${quoteForShell(licenseKey.value.trim())}`,
    "--code 'THE-CODE'",
  ].join(" ");
  return (
    <>
      <p>{say.text}</p>
      <CodeEntry
        label={say.label}
        bits={CODE_BITS.confirmation}
        rows={confirmationRows}
        onComplete={() => void installLicense()}
      />
      <p class="quiet">{say.scanner}</p>
      {came !== null && <InstallResult outcome={came} />}
      <StepActions onBack={() => (currentStep.value = POLICY_STEP)}>
        {isDone ? (
          <Button onClick={restartWizard}>{airGap.restart}</Button>
        ) : (
          <Button kind="main" disabled={!whole} onClick={installLicense}>
            {say.install}
          </Button>
        )}
      </StepActions>
      <CliCommands commands={[command]} />
    </>
  );
}

function InstallResult({ outcome }: { outcome: InstallOutcome }) {
  if (outcome.kind === "trust") return null;
  if (outcome.kind !== "refused") return <InstallOutcomeNotice outcome={outcome} />;
  return (
    <Notice kind="bad" title={addLicense.refused}>
      <p>{outcome.message}</p>
      <p>{codeRemedies[outcome.code]}</p>
    </Notice>
  );
}
