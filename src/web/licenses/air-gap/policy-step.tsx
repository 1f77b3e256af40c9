import { useSignal } from "@preact/signals";
import { Button } from "../../parts/button.tsx";
import { FileDrop } from "../../parts/file-drop.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Way } from "../../parts/steps.tsx";
import { misplaced } from "../../texts/adding.ts";
import { policy as say } from "../../texts/air-gap.ts";
import { lookAtTrust, type Offered } from "../../trust/offered.ts";
import { TrustOffer } from "../../trust/trust-offer.tsx";
import { kindOf, plainText, policyIn } from "../documents.ts";
import { readKnown } from "../known.ts";
import { activated, ACTIVATION, CONFIRMATION, KEY, policy, step } from "./state.ts";

/** The terms, which came with the install medium. */
export function PolicyStep() {
  const trust = useSignal<Offered | null>(null);
  const take = async (text: string): Promise<void> => {
    const plain = plainText(text);
    const kind = kindOf(plain);
    if (kind === "trust") trust.value = await lookAtTrust(plain);
    else if (kind === "policy") policy.value = plain;
    else if (kind === null || kind === "license") throw new Error(say.notOne);
    else throw new Error(`${say.notOne} ${misplaced[kind]}`);
  };
  const close = (): void => {
    trust.value = null;
  };
  const trusted = async (): Promise<void> => {
    await readKnown();
    close();
  };
  return (
    <>
      <p>{say.text}</p>
      {policy.value !== "" && <Notice kind="good">{taken(policy.value)}</Notice>}
      {trust.value === null ? (
        <FileDrop what={say.what} onText={take} />
      ) : (
        <TrustOffer offered={trust.value} onTrusted={trusted} onCancel={close} />
      )}
      <Way onBack={() => (step.value = activated.value === null ? KEY : ACTIVATION)}>
        <Button
          kind="main"
          disabled={policy.value === ""}
          onClick={() => void (step.value = CONFIRMATION)}
        >
          {say.next}
        </Button>
      </Way>
    </>
  );
}

function taken(text: string): string {
  const read = policyIn(text);
  return read === null ? say.takenPlain : say.taken(read.id, read.product);
}
