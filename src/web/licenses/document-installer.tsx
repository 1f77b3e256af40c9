import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { VendorReply } from "../../http/routes/trust/trust.ts";
import { Dialog } from "../parts/dialog.tsx";
import { FileDrop } from "../parts/file-drop.tsx";
import { Notice } from "../parts/notice.tsx";
import { linkTo } from "../router.ts";
import { addLicense, remedies } from "./add-license-texts.ts";
import { terms } from "./terms-texts.ts";
import { trust } from "../trust/trust-texts.ts";
import type { VendorOffer } from "../trust/vendor-offer.ts";
import { TrustVendorPrompt } from "../trust/trust-vendor-prompt.tsx";
import {
  documentKindOf,
  normalizeDocument,
  parseLicenseClaims,
  type LicenseClaims,
} from "./documents.ts";
import { InstallQuestion } from "./install-question.tsx";
import { loadLicenseData } from "./license-data.ts";
import { pageDrop } from "./page-drop-texts.ts";
import type { InstalledOutcome } from "./install-success.tsx";
import type { License } from "./license.ts";
import { installDocument, installPending, type InstallOutcome } from "./install-document.ts";
import { validityTextOf } from "./terms.ts";

/** Other files that are dropped have a place of their own. */
const TAKEN_KINDS = [
  "license",
  "trust",
  "request",
  "policy",
  "lease",
  "receipt",
  "qr",
  "text",
  "too-large",
] as const;

interface Props {
  /** Names the file to drop, such as "the vendor’s file". */
  readonly fileDescription: string;
  /**
   * The product whose license is wanted here, so that no question is left; null: any product.
   * Absent: every license is shown before it is installed.
   */
  readonly wantedProduct?: string | null;
  /** The button to choose a file is the main one of the screen. */
  readonly isMain?: boolean;
  readonly onInstalled?: (outcome: InstalledOutcome) => void;
}

/** A license that is installed if the user confirms it. */
interface OfferedLicense {
  readonly text: string;
  readonly claims: LicenseClaims;
}

/** Receives a document from a vendor, installs it, and shows the outcome. */
export function DocumentInstaller({ wantedProduct, onInstalled, ...place }: Props) {
  const outcome = useSignal<InstallOutcome | null>(null);
  const offered = useSignal<OfferedLicense | null>(null);
  const finish = (result: InstallOutcome): void => {
    outcome.value = result;
    if (result.kind === "new" || result.kind === "renewed") onInstalled?.(result);
  };
  const install = async (text: string): Promise<void> => finish(await installDocument(text));
  const receive = async (received: string): Promise<void> => {
    const { text, claims } = readLicense(received);
    if (claims === null || wantedProduct === null || wantedProduct === claims.product)
      return install(text);
    await loadLicenseData();
    offered.value = { text, claims };
  };
  const { value: current } = outcome;
  if (current?.kind === "trust") {
    const cancel = (): void => {
      outcome.value = null;
    };
    const onTrusted = async (vendor: VendorReply): Promise<void> =>
      finish(await installPending(vendor));
    return <TrustVendorPrompt offer={current} onTrusted={onTrusted} onCancel={cancel} />;
  }
  const { value: offer } = offered;
  const close = (): void => {
    offered.value = null;
  };
  return (
    <>
      <FileDrop {...place} onText={receive} takes={TAKEN_KINDS} />
      {current !== null && (
        <ScrollIntoView key={current}>
          <InstallOutcomeNotice outcome={current} />
        </ScrollIntoView>
      )}
      {offer !== null && (
        <Dialog title={pageDrop.installTitle(offer.claims.product)} onClose={close}>
          <InstallQuestion
            claims={offer.claims}
            onCancel={close}
            onConfirm={async () => {
              await install(offer.text);
              close();
            }}
          />
        </Dialog>
      )}
    </>
  );
}

/** The document in a text, and what it claims if it is a license. */
function readLicense(text: string): { text: string; claims: LicenseClaims | null } {
  const document = normalizeDocument(text);
  if (documentKindOf(document) !== "license") return { text, claims: null };
  return { text: document, claims: parseLicenseClaims(document) };
}

/** On a long page, the outcome can be below the edge of the screen. */
function ScrollIntoView({ children }: { children: ComponentChildren }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => ref.current?.scrollIntoView({ block: "nearest" }), []);
  return <div ref={ref}>{children}</div>;
}

/** The outcome, and what to do next. */
export function InstallOutcomeNotice({
  outcome,
}: {
  outcome: Exclude<InstallOutcome, VendorOffer>;
}) {
  switch (outcome.kind) {
    case "new":
      return (
        <InstalledNotice
          title={addLicense.installed(productNameOf(outcome.license))}
          license={outcome.license}
        />
      );
    case "same":
      return (
        <Notice kind="note" title={addLicense.same(productNameOf(outcome.license))}>
          {addLicense.sameText}
        </Notice>
      );
    case "renewed":
      return (
        <InstalledNotice
          title={addLicense.renewed(productNameOf(outcome.license))}
          license={outcome.license}
        >
          {outcome.changes}
        </InstalledNotice>
      );
    case "trusted":
      return <Notice kind="good">{trust.accepted(outcome.vendor.name)}</Notice>;
    case "wrong-document":
      return <Notice kind="warn">{outcome.message}</Notice>;
    default:
      return <RefusedNotice code={outcome.code} message={outcome.message} />;
  }
}

const productNameOf = ({ product_details: product }: License): string => product.product_name;

interface InstalledNoticeProps {
  readonly title: string;
  readonly license: License;
  /** What a renewal changed; absent for a new license. */
  readonly children?: readonly string[];
}

function InstalledNotice({ title, license, children: changes }: InstalledNoticeProps) {
  const lines = changes ?? [
    addLicense.installedText(terms.slots(license.floating_users), validityTextOf(license)),
  ];
  return (
    <Notice kind={license.is_expired ? "warn" : "good"} title={title}>
      {lines.length === 0 ? (
        <p>{addLicense.unchanged}</p>
      ) : (
        lines.map((line) => <p key={line}>{line}</p>)
      )}
      {license.is_expired && <p>{addLicense.expiredText}</p>}
      <a href={linkTo("licenses", String(license.id))}>{addLicense.viewLicense}</a>
    </Notice>
  );
}

/** Refusals after which a new request helps. */
const NEW_REQUEST_CODES = new Set([
  "hardware_mismatch",
  "request_unknown",
  "request_used",
  "stale_license",
]);

function RefusedNotice({ code, message }: { code: string; message: string }) {
  const remedy = remedies[code];
  return (
    <Notice kind="bad" title={addLicense.refused}>
      <p>{message}</p>
      {remedy !== undefined && (
        <p>
          <strong>{addLicense.nextStep}: </strong>
          {remedy}
        </p>
      )}
      {code === "untrusted_vendor" && <p>{addLicense.retriedOnTrust}</p>}
      {NEW_REQUEST_CODES.has(code) && (
        <a href={linkTo("licenses", "request")}>{addLicense.requestLicense}</a>
      )}
    </Notice>
  );
}
