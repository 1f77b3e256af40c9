import { useSignal } from "@preact/signals";
import { formatDateTime } from "../../format.ts";
import { serverStatus } from "../../status-stream.ts";
import { Button } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { DocumentTransfer } from "../../parts/document-transfer.tsx";
import { StepActions } from "../../parts/wizard.tsx";
import { quoteForShell } from "../../shell-quote.ts";
import { activationStep } from "./air-gap-texts.ts";
import { sendStep } from "../request-texts.ts";
import { CodeDisplay } from "./code-display.tsx";
import {
  initializationRows,
  licenseKey,
  KEY_STEP,
  POLICY_STEP,
  currentStep,
  type Activation,
} from "./state.ts";

/** Shows the activation code, and what to tell the vendor. */
export function ActivationStep({ activation }: { activation: Activation }) {
  const isSpelledOut = useSignal(false);
  const isWeak = serverStatus.value?.appliance.weak_binding === true;
  const [initializationCode = ""] = initializationRows.value;
  return (
    <>
      <p>
        {activationStep.text} {activationStep.until(formatDateTime(activation.expires_at))}
      </p>
      <CodeDisplay code={activation.activation_code} isSpelledOut={isSpelledOut.value} />
      <DocumentTransfer
        text={activation.activation_code}
        filename="activation-code.txt"
        isTextVisible
      >
        <Button onClick={() => void (isSpelledOut.value = !isSpelledOut.value)}>
          {isSpelledOut.value ? activationStep.hideSpelling : activationStep.spell}
        </Button>
      </DocumentTransfer>
      <h4>{activationStep.tell}</h4>
      <ul>
        <li>{activationStep.tellKey(licenseKey.value.trim())}</li>
        <li>{activationStep.tellCode}</li>
        {initializationCode !== "" && <li>{activationStep.tellInitialization}</li>}
      </ul>
      <p>{activationStep.command}</p>
      <Command text={commandFor(activation, initializationCode, isWeak)} />
      {isWeak && <p>{sendStep.weakBinding}</p>}
      <p>
        <strong>{activationStep.resumeLater}</strong>
      </p>
      <StepActions onBack={() => (currentStep.value = KEY_STEP)}>
        <Button kind="main" onClick={() => void (currentStep.value = POLICY_STEP)}>
          {activationStep.next}
        </Button>
      </StepActions>
    </>
  );
}

const commandFor = (
  { activation_code: code }: Activation,
  initializationCode: string,
  isWeak: boolean,
) =>
  [
    "berth vendor confirm --dir DESK --policy policy.jwt",
    `--license-key ${quoteForShell(licenseKey.value.trim())}`,
    `--activation-code ${quoteForShell(code.replaceAll("\n", " "))}`,
    ...(initializationCode === ""
      ? []
      : [`--initialization-code ${quoteForShell(initializationCode)}`]),
    ...(isWeak ? ["--allow-weak-binding"] : []),
  ].join(" ");
