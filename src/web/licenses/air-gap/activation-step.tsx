import { useSignal } from "@preact/signals";
import { when } from "../../format.ts";
import { status } from "../../live.ts";
import { Button } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { HandOver } from "../../parts/hand-over.tsx";
import { Way } from "../../parts/steps.tsx";
import { shellWord } from "../../shell.ts";
import { activation } from "../../texts/air-gap.ts";
import { askSend } from "../../texts/ask.ts";
import { CodeShown } from "./code-shown.tsx";
import { initialization, key, KEY, POLICY, step, type Activated } from "./state.ts";

/** The code that goes out, and what is said with it. */
export function ActivationStep({ made }: { made: Activated }) {
  const spelled = useSignal(false);
  const weak = status.value?.appliance.weak_binding === true;
  const [begunWith = ""] = initialization.value;
  return (
    <>
      <p>
        {activation.text} {activation.until(when(made.expires_at))}
      </p>
      <CodeShown code={made.activation_code} spelled={spelled.value} />
      <HandOver text={made.activation_code} filename="activation-code.txt" isShown>
        <Button onClick={() => void (spelled.value = !spelled.value)}>
          {spelled.value ? activation.unspell : activation.spell}
        </Button>
      </HandOver>
      <h4>{activation.tell}</h4>
      <ul>
        <li>{activation.tellKey(key.value.trim())}</li>
        <li>{activation.tellCode}</li>
        {begunWith !== "" && <li>{activation.tellInitialization}</li>}
      </ul>
      <p>{activation.command}</p>
      <Command text={commandFor(made, begunWith, weak)} />
      {weak && <p>{askSend.weak}</p>}
      <p>
        <strong>{activation.later}</strong>
      </p>
      <Way onBack={() => (step.value = KEY)}>
        <Button kind="main" onClick={() => void (step.value = POLICY)}>
          {activation.next}
        </Button>
      </Way>
    </>
  );
}

const commandFor = ({ activation_code: code }: Activated, begunWith: string, weak: boolean) =>
  [
    "berth vendor confirm --dir DESK --policy policy.jwt",
    `--license-key ${shellWord(key.value.trim())}`,
    `--activation-code ${shellWord(code.replaceAll("\n", " "))}`,
    ...(begunWith === "" ? [] : [`--initialization-code ${shellWord(begunWith)}`]),
    ...(weak ? ["--allow-weak-binding"] : []),
  ].join(" ");
