import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { DialogActions } from "../parts/dialog-actions.tsx";
import { frame } from "../parts/common-texts.ts";
import { Notice } from "../parts/notice.tsx";
import { useAction } from "../parts/use-action.ts";
import { TrustVendorPrompt } from "../trust/trust-vendor-prompt.tsx";
import { InstallOutcomeNotice } from "./document-installer.tsx";
import { parseLicenseClaims } from "./documents.ts";
import { installDocument, installPending, type InstallOutcome } from "./install-document.ts";
import { InstallQuestion } from "./install-question.tsx";
import { loadLicenseData } from "./license-data.ts";
import { pageDrop as texts } from "./page-drop-texts.ts";

interface Props {
  readonly kind: "license" | "trust" | "time" | "ack" | "text" | "qr";
  readonly text: string;
  readonly onClose: () => void;
}

/** A dropped document that can be used here, after confirmation. */
export function DroppedDocument({ kind, text, onClose }: Props) {
  const outcome = useSignal<InstallOutcome | null>(null);
  /** What was done with a document that is not installed; empty: nothing yet. */
  const outcomeText = useSignal("");
  const { wrong, act } = useAction();
  const install = async (): Promise<void> => {
    outcome.value = await installDocument(text);
  };
  const acknowledge = async (): Promise<void> => {
    const { statements } = admin;
    const reply = await unwrapReply(statements.acknowledge.post({ license: text.trim() }));
    outcomeText.value = texts.acknowledged(reply.number, reply.is_new);
  };
  // A trust document is only read: the fingerprint is the question. A text that is no document has
  // nothing to confirm: the server says what is wrong with it.
  useEffect(() => {
    void loadLicenseData();
    if (kind === "ack") void act(acknowledge);
    else if (kind === "trust" || kind === "text") void act(install);
  }, []);
  const claims = kind === "license" ? parseLicenseClaims(text) : null;
  const { value: current } = outcome;
  const title =
    kind === "time"
      ? texts.clockTitle
      : claims !== null && current === null
        ? texts.installTitle(claims.product)
        : texts.title;
  return (
    <Dialog title={title} onClose={onClose}>
      {current?.kind === "trust" ? (
        <>
          <h3>{texts.trustTitle}</h3>
          <TrustVendorPrompt
            offer={current}
            onTrusted={async (vendor) => {
              outcome.value = await installPending(vendor);
            }}
            onCancel={onClose}
          />
        </>
      ) : current !== null ? (
        <Finished onClose={onClose}>
          <InstallOutcomeNotice outcome={current} />
        </Finished>
      ) : outcomeText.value !== "" ? (
        <Finished onClose={onClose}>
          <Notice kind="good">{outcomeText.value}</Notice>
        </Finished>
      ) : kind === "time" ? (
        <>
          <p>{texts.clockText}</p>
          <DialogActions
            kind="danger"
            actionLabel={texts.clockAct}
            onCancel={onClose}
            onConfirm={async () => {
              await unwrapReply(admin.clock.repair.post({ license: text.trim() }));
              outcomeText.value = texts.clockDone;
            }}
          />
        </>
      ) : kind === "license" ? (
        <InstallQuestion claims={claims} onCancel={onClose} onConfirm={install} />
      ) : wrong.value === "" ? (
        <p class="muted loading">{frame.loading}</p>
      ) : (
        <>
          <Notice kind="bad">{wrong.value}</Notice>
          <DialogActions
            kind="main"
            actionLabel={frame.retry}
            onCancel={onClose}
            onConfirm={() => act(kind === "ack" ? acknowledge : install)}
          />
        </>
      )}
    </Dialog>
  );
}

function Finished({ children, onClose }: { children: ComponentChildren; onClose: () => void }) {
  return (
    <>
      {children}
      <div class="row actions">
        <Button kind="main" onClick={onClose}>
          {texts.close}
        </Button>
      </div>
    </>
  );
}
