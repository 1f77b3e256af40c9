import { berthCommand } from "../commands.ts";
import { formatDateTime } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { Facts } from "../parts/facts.tsx";
import { DocumentTransfer } from "../parts/document-transfer.tsx";
import { Notice } from "../parts/notice.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { StepActions } from "../parts/wizard.tsx";
import { quoteForShell } from "../shell-quote.ts";
import { requestStep, sendStep } from "./request-texts.ts";
import {
  canChooseHosts,
  findRenewedLicense,
  note,
  productCode,
  wantedSlots,
  wantedUntil,
  type CreatedRequest,
} from "./request-state.ts";

interface Props {
  readonly request: CreatedRequest;
  readonly onBack: () => void;
  readonly onNext: () => void;
}

/** The request, with every way to take it out. */
export function RequestStep({ request, onBack, onNext }: Props) {
  const { facts: labels } = requestStep;
  const facts = [
    [labels.product, request.product ?? requestStep.anyProduct],
    ...(request.license_key === null ? [] : [[labels.key, request.license_key] as const]),
    ...(request.hosts === undefined ? [] : [[labels.hosts, request.hosts.join(", ")] as const]),
    [labels.createdAt, formatDateTime(request.created_at)],
  ] as const;
  return (
    <>
      {request.warnings.map((warning) => (
        <Notice key={warning} kind="warn">
          {warning}
        </Notice>
      ))}
      <p>{requestStep.text}</p>
      <Facts as="lines" facts={facts} />
      <DocumentTransfer text={request.payload} filename={request.filename} />
      {request.cloud_payload !== null && (
        <>
          <h4>{requestStep.cloud}</h4>
          <p>{requestStep.cloudText}</p>
          <DocumentTransfer
            text={request.cloud_payload}
            filename={request.cloud_filename ?? "request.req"}
          />
        </>
      )}
      <CliCommands commands={[berthCommand(commandFor(request))]} />
      <StepActions onBack={onBack}>
        <Button kind="main" onClick={onNext}>
          {requestStep.next}
        </Button>
      </StepActions>
    </>
  );
}

const commandFor = ({ product, license_key, hosts }: CreatedRequest): string =>
  [
    "license request",
    ...(product === null ? [] : [`--product ${quoteForShell(product)}`]),
    ...(license_key === null ? [] : [`--license-key ${quoteForShell(license_key)}`]),
    // Without it, the request is for as many hosts as the installed license.
    ...(canChooseHosts.value ? [`--hosts ${hosts?.length ?? 1}`] : []),
    ...(wantedSlots.value === "" ? [] : [`--slots ${quoteForShell(wantedSlots.value)}`]),
    ...(wantedUntil.value === "" ? [] : [`--until ${quoteForShell(wantedUntil.value)}`]),
    ...(note.value.trim() === "" ? [] : [`--note ${quoteForShell(note.value.trim())}`]),
    "--out request.jwt --qr",
  ].join(" ");

/** A new license needs an end; a renewal keeps the one that it has. */
function validUntilFlag(): string[] {
  if (wantedUntil.value !== "") return [`--valid-until ${quoteForShell(wantedUntil.value)}`];
  return findRenewedLicense(productCode.value) === null ? ["--valid-until DAY"] : [];
}

/** How to send the request, and what the vendor does with it. */
export function SendStep({ request, onBack, onNext }: Props) {
  const isWeak = serverStatus.value?.appliance.weak_binding === true;
  const command = [
    `berth vendor issue --dir DESK --request ${request.filename}`,
    ...(request.hosts === undefined ? [] : [`--hosts ${request.hosts.length}`]),
    ...(wantedSlots.value === "" ? [] : [`--slots ${quoteForShell(wantedSlots.value)}`]),
    ...validUntilFlag(),
    ...(isWeak ? ["--allow-weak-binding"] : []),
    "--out license.jwt",
  ].join(" ");
  return (
    <>
      <p>{sendStep.text}</p>
      <p>{sendStep.vendor}</p>
      <Command text={command} />
      {isWeak && <p>{sendStep.weakBinding}</p>}
      <details>
        <summary>{sendStep.byQr}</summary>
        <p>{sendStep.scanned}</p>
        <Command text={sendStep.scannedCommand} />
      </details>
      <p>{sendStep.bringAnswerBack}</p>
      <p>
        <strong>{sendStep.resumeLater}</strong>
      </p>
      <StepActions onBack={onBack}>
        <Button kind="main" onClick={onNext}>
          {sendStep.next}
        </Button>
      </StepActions>
    </>
  );
}
