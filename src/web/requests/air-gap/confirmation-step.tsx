import { CODE_BITS } from "../../../license/codes/code.ts";
import { Button } from "../../parts/button.tsx";
import { Notice } from "../../parts/notice.tsx";
import { CliCommands } from "../../parts/cli-commands.tsx";
import { useAction } from "../../parts/use-action.ts";
import { StepActions } from "../../parts/wizard.tsx";
import { quoteForShell } from "../../shell-quote.ts";
import { addLicense } from "../../licenses/add-license-texts.ts";
import { airGap, codeRemedies, confirmationStep as texts } from "./air-gap-texts.ts";
import { InstallOutcomeNotice } from "../../licenses/document-installer.tsx";
import type { InstallOutcome } from "../../licenses/install-document.ts";
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

/** The confirmation code, row by row. */
export function ConfirmationStep() {
  const isComplete = isCodeComplete(confirmationRows.value, CODE_BITS.confirmation);
  // Enter in a row and the button share one action, so that a code is not sent twice.
  const { busy, wrong, wrongKind, act } = useAction();
  const install = (): void => void act(installLicense);
  const outcome = installOutcome.value;
  const isSame = outcome?.kind === "same";
  const command = [
    "berth airgap add --policy policy.jwt",
    `--license-key ${quoteForShell(licenseKey.value.trim())}`,
    "--code 'THE-CODE'",
  ].join(" ");
  return (
    <>
      <p>{texts.text}</p>
      <CodeEntry
        label={texts.label}
        bits={CODE_BITS.confirmation}
        rows={confirmationRows}
        onComplete={install}
      />
      <p class="muted">{texts.scanner}</p>
      {outcome !== null && <InstallResult outcome={outcome} />}
      {wrong.value !== "" && <Notice kind={wrongKind.value}>{wrong.value}</Notice>}
      <StepActions onBack={() => (currentStep.value = POLICY_STEP)}>
        {isSame ? (
          <Button onClick={restartWizard}>{airGap.restart}</Button>
        ) : (
          <button
            type="button"
            class="button main"
            disabled={!isComplete || busy.value}
            aria-busy={busy.value}
            onClick={install}
          >
            {texts.install}
          </button>
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
