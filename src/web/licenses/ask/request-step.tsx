import { when } from "../../format.ts";
import { status } from "../../live.ts";
import { Button } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { HandOver } from "../../parts/hand-over.tsx";
import { Notice } from "../../parts/notice.tsx";
import { OnTerminal } from "../../parts/on-terminal.tsx";
import { Way } from "../../parts/steps.tsx";
import { shellWord } from "../../shell.ts";
import { askRequest, askSend } from "../../texts/ask.ts";
import type { Made } from "./state.ts";

interface Props {
  readonly made: Made;
  readonly onBack: () => void;
  readonly onNext: () => void;
}

/** The request, in every way in which it can leave. */
export function RequestStep({ made, onBack, onNext }: Props) {
  const { facts } = askRequest;
  const words = [
    [facts.product, made.product ?? askRequest.anyProduct],
    ...(made.license_key === null ? [] : [[facts.key, made.license_key] as const]),
    [facts.made, when(made.created_at)],
  ] as const;
  return (
    <>
      {made.warnings.map((warning) => (
        <Notice key={warning} kind="warn">
          {warning}
        </Notice>
      ))}
      <p>{askRequest.text}</p>
      <Facts as="lines" facts={words} />
      <HandOver text={made.payload} filename={made.filename} />
      {made.cloud_payload !== null && (
        <>
          <h4>{askRequest.cloud}</h4>
          <p>{askRequest.cloudText}</p>
          <HandOver text={made.cloud_payload} filename={made.cloud_filename ?? "request.req"} />
        </>
      )}
      <OnTerminal commands={[commandFor(made)]} />
      <Way onBack={onBack}>
        <Button kind="main" onClick={onNext}>
          {askRequest.next}
        </Button>
      </Way>
    </>
  );
}

const commandFor = ({ product, license_key }: Made): string =>
  [
    "berth license request",
    ...(product === null ? [] : [`--product ${shellWord(product)}`]),
    ...(license_key === null ? [] : [`--license-key ${shellWord(license_key)}`]),
    "--out request.jwt --qr",
  ].join(" ");

/** Where it goes, what happens there, and how the answer comes back. */
export function SendStep({ made, onBack, onNext }: Props) {
  const weak = status.value?.appliance.weak_binding === true;
  const terms = weak ? "--slots 10 --allow-weak-binding" : "--slots 10";
  const command = `berth vendor issue --dir DESK --request ${made.filename} ${terms}`;
  return (
    <>
      <p>{askSend.text}</p>
      <p>{askSend.vendor}</p>
      <Command text={`${command} --out license.jwt`} />
      {weak && <p>{askSend.weak}</p>}
      <details>
        <summary>{askSend.byQr}</summary>
        <p>{askSend.scanned}</p>
        <Command text={askSend.scannedCommand} />
      </details>
      <p>{askSend.back}</p>
      <p>
        <strong>{askSend.later}</strong>
      </p>
      <Way onBack={onBack}>
        <Button kind="main" onClick={onNext}>
          {askSend.next}
        </Button>
      </Way>
    </>
  );
}
