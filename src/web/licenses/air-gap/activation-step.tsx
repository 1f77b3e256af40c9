import { useSignal } from "@preact/signals";
import { formatDateTime } from "../../format.ts";
import { serverStatus } from "../../status-stream.ts";
import { Button } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { DocumentTransfer } from "../../parts/document-transfer.tsx";
import { StepActions } from "../../parts/wizard.tsx";
import { quoteForShell } from "../../shell-quote.ts";
import { activationStep } from "../../texts/air-gap.ts";
import { sendStep } from "../../texts/request.ts";
import { CodeDisplay } from "./code-display.tsx";
import {
  initializationRows,
  licenseKey,
  KEY_STEP,
  POLICY_STEP,
  currentStep,
  type Activation,
} from "./state.ts";

/** The code that goes out, and what is said with it. */
export function ActivationStep({ activation }: { activation: Activation }) {
  const spelled = useSignal(false);
  const weak = serverStatus.value?.appliance.weak_binding === true;
  const [begunWith = ""] = initializationRows.value;
  return (
    <>
      <p>
        {activationStep.text} {activationStep.until(formatDateTime(activation.expires_at))}
      </p>
      <CodeDisplay code={activation.activation_code} isSpelledOut={spelled.value} />
      <DocumentTransfer
        text={activation.activation_code}
        filename="activation-code.txt"
        isTextVisible
      >
        <Button onClick={() => void (spelled.value = !spelled.value)}>
          {spelled.value ? activationStep.hideSpelling : activationStep.spell}
        </Button>
      </DocumentTransfer>
      <h4>{activationStep.tell}</h4>
      <ul>
        <li>{activationStep.tellKey(licenseKey.value.trim())}</li>
        <li>{activationStep.tellCode}</li>
        {begunWith !== "" && <li>{activationStep.tellInitialization}</li>}
      </ul>
      <p>{activationStep.command}</p>
      <Command text={commandFor(activation, begunWith, weak)} />
      {weak && <p>{sendStep.weakBinding}</p>}
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

const commandFor = ({ activation_code: code }: Activation, begunWith: string, weak: boolean) =>
  [
    "berth vendor confirm --dir DESK --policy policy.jwt",
    `--license-key ${quoteForShell(licenseKey.value.trim())}`,
    `--activation-code ${quoteForShell(code.replaceAll("\n", " "))}`,
    ...(begunWith === "" ? [] : [`--initialization-code ${quoteForShell(begunWith)}`]),
    ...(weak ? ["--allow-weak-binding"] : []),
  ].join(" ");
