import { useSignal } from "@preact/signals";
import type { OpenRequestReply } from "../../http/routes/requests/requests.ts";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { frame } from "../parts/common-texts.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { DocumentTransfer } from "../parts/document-transfer.tsx";
import { Time } from "../parts/time.tsx";
import { canChange } from "../session.ts";
import { CodeDisplay } from "./air-gap/code-display.tsx";
import { loadLicenseData, openRequests } from "../licenses/license-data.ts";
import { ageTextOf, nameOf, wantedTextOf } from "./request-row.ts";
import { requests as texts } from "./requests-texts.ts";

/** The document of a request that is shown again. */
interface ShownRequest {
  readonly request: OpenRequestReply;
  readonly text: string;
  readonly filename: string;
}

/** The requests that wait for an answer; nothing if there is none. */
export function OpenRequests({ now }: { now: string }) {
  const shown = useSignal<ShownRequest | null>(null);
  const { value: requests } = openRequests;
  const show = async (request: OpenRequestReply): Promise<void> => {
    shown.value = await readDocument(request);
  };
  if (requests === null || requests.length === 0) return null;
  return (
    <section class="card">
      <h3>{texts.title}</h3>
      <p class="muted">{texts.text}</p>
      <ul class="open-requests">
        {requests.map((request) => (
          <li key={request.id}>
            <RequestRow request={request} now={now} onShow={() => show(request)} />
          </li>
        ))}
      </ul>
      {shown.value !== null && (
        <ShowDialog shown={shown.value} onClose={() => (shown.value = null)} />
      )}
    </section>
  );
}

interface RequestRowProps {
  readonly request: OpenRequestReply;
  readonly now: string;
  readonly onShow: () => Promise<void>;
}

function RequestRow({ request, now, onShow }: RequestRowProps) {
  const name = nameOf(request);
  const cancel = async (): Promise<void> => {
    await unwrapReply(admin.requests.cancel.post({ request_id: request.id }));
    await loadLicenseData();
  };
  return (
    <>
      <div class="request-facts">
        <strong>{name}</strong>
        <span>{request.kind === "code" ? texts.byCode : wantedTextOf(request)}</span>
        <span class="muted">
          <Time at={request.created_at} as="date" />, {ageTextOf(request, now)}
        </span>
      </div>
      <div class="row">
        <Button label={texts.showLabel(name)} onClick={onShow}>
          {texts.show}
        </Button>
        {canChange.value && (
          <ConfirmButton
            actionLabel={texts.cancel}
            label={texts.cancelLabel(name)}
            title={texts.cancelTitle(name)}
            onConfirm={cancel}
          >
            <p>{texts.cancelText}</p>
          </ConfirmButton>
        )}
      </div>
    </>
  );
}

function ShowDialog({ shown, onClose }: { shown: ShownRequest; onClose: () => void }) {
  const isCode = shown.request.kind === "code";
  return (
    <Dialog title={texts.shownTitle(nameOf(shown.request))} onClose={onClose}>
      <p>{isCode ? texts.codeText : texts.shownText}</p>
      {isCode && <CodeDisplay code={shown.text} isSpelledOut={false} />}
      <DocumentTransfer text={shown.text} filename={shown.filename} isTextVisible={isCode} />
      <div class="row actions">
        <Button kind="main" onClick={onClose}>
          {frame.close}
        </Button>
      </div>
    </Dialog>
  );
}

async function readDocument(request: OpenRequestReply): Promise<ShownRequest> {
  const { activation_code: code } = request;
  if (code !== null) return { request, text: code, filename: "activation-code.txt" };
  const query = { request_id: request.id };
  const { payload, filename } = await unwrapReply(admin.requests.document.get({ query }));
  return { request, text: payload, filename };
}
