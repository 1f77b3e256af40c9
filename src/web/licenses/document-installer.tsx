import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { VendorReply } from "../../http/routes/trust.ts";
import { FileDrop } from "../parts/file-drop.tsx";
import { Notice } from "../parts/notice.tsx";
import { linkTo } from "../router.ts";
import { addLicense, remedies } from "../texts/add-license.ts";
import { terms } from "../texts/terms.ts";
import { trust } from "../texts/trust.ts";
import type { VendorOffer } from "../trust/vendor-offer.ts";
import { TrustVendorPrompt } from "../trust/trust-vendor-prompt.tsx";
import { loadLicenseData } from "./license-data.ts";
import type { License } from "./license.ts";
import { installDocument, type InstallOutcome } from "./install-document.ts";
import { validityTextOf } from "./terms.ts";

interface Props {
  /** What is wanted, in a word or two. */
  readonly fileDescription: string;
  readonly onInstalled?: () => void;
}

/** Takes in whatever a vendor sent, and says what came of it. */
export function DocumentInstaller({ fileDescription, onInstalled }: Props) {
  const outcome = useSignal<InstallOutcome | null>(null);
  /** A license whose vendor was not trusted yet. */
  const waiting = useSignal<string | null>(null);
  const take = async (text: string): Promise<void> => {
    const came = await installDocument(text);
    outcome.value = came;
    const untrusted = came.kind === "refused" && came.code === "untrusted_vendor";
    if (came.kind === "new" || came.kind === "renewed") onInstalled?.();
    if (came.kind !== "trust") waiting.value = untrusted ? text : null;
  };
  const trusted = async (vendor: VendorReply): Promise<void> => {
    await loadLicenseData();
    outcome.value = { kind: "trusted", vendor };
    if (waiting.value !== null) void take(waiting.value);
  };
  const { value: came } = outcome;
  if (came?.kind === "trust") {
    const cancel = (): void => {
      outcome.value = null;
    };
    return <TrustVendorPrompt offer={came} onTrusted={trusted} onCancel={cancel} />;
  }
  return (
    <>
      <FileDrop fileDescription={fileDescription} onText={take} />
      {came !== null && (
        <ScrollIntoView key={came}>
          <InstallOutcomeNotice outcome={came} />
        </ScrollIntoView>
      )}
    </>
  );
}

/** What was dropped on a long page may have its answer below the edge of the screen. */
function ScrollIntoView({ children }: { children: ComponentChildren }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => ref.current?.scrollIntoView({ block: "nearest" }), []);
  return <div ref={ref}>{children}</div>;
}

/** What came of it, and what to do next. */
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
    case "misplaced":
      return <Notice kind="warn">{outcome.message}</Notice>;
    default:
      return <RefusedNotice code={outcome.code} message={outcome.message} />;
  }
}

const productNameOf = ({ product_details: product }: License): string => product.product_name;

interface InstalledNoticeProps {
  readonly title: string;
  readonly license: License;
  /** What a renewal changed; nothing given: there was nothing before it. */
  readonly children?: readonly string[];
}

function InstalledNotice({ title, license, children: changes }: InstalledNoticeProps) {
  const told = changes ?? [
    addLicense.installedText(terms.slots(license.floating_users), validityTextOf(license)),
  ];
  return (
    <Notice kind={license.is_expired ? "warn" : "good"} title={title}>
      {told.length === 0 ? (
        <p>{addLicense.unchanged}</p>
      ) : (
        told.map((line) => <p key={line}>{line}</p>)
      )}
      {license.is_expired && <p>{addLicense.expiredText}</p>}
      <a href={linkTo("licenses", String(license.id))}>{addLicense.viewLicense}</a>
    </Notice>
  );
}

/** Where the way on is a new request. */
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
