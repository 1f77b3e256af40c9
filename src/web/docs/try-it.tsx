import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { errorMessageOf } from "../api.ts";
import { formatNumber } from "../format.ts";
import { DialogActions } from "../parts/dialog-actions.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { token } from "../session.ts";
import { docs } from "./docs-texts.ts";
import { sendRequest, type ApiResponse } from "./api-response.ts";
import { ResponseView } from "./response-view.tsx";
import { BasicFields, basicAuthorization, TokenField, userName } from "./credentials.tsx";
import { curlCommand, type Caller } from "./curl.ts";
import type { Operation } from "./document.ts";
import { RequestForm } from "./request-form.tsx";
import {
  jsonBodyOf,
  exampleValues,
  buildRequest,
  type RequestFormState,
} from "./outgoing-request.ts";

interface SentRequest {
  readonly response: ApiResponse;
  readonly curlCommand: string;
}

/** Sends the request from this page to its own server and shows the response. */
export function TryIt({ operation }: { operation: Operation }) {
  const form = useSignal(initialFormState(operation));
  const isSending = useSignal(false);
  const isConfirming = useSignal(false);
  const sendError = useSignal("");
  const sentRequest = useSignal<SentRequest | null>(null);
  const id = useId();
  const send = async (): Promise<void> => {
    const request = buildRequest(operation, form.value);
    const { caller, authorization } = callerOf(operation);
    isSending.value = true;
    sendError.value = "";
    sentRequest.value = null;
    try {
      const response = await sendRequest(request, authorization);
      sentRequest.value = { response, curlCommand: curlCommand(location.origin, request, caller) };
    } catch (error) {
      sendError.value = errorMessageOf(error);
    } finally {
      isSending.value = false;
    }
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isSending.value) return;
    if (operation.destructionWarning !== null) isConfirming.value = true;
    else void send();
  };
  return (
    <section class="card try-it" aria-labelledby={id}>
      <h3 id={id}>{docs.tryIt.title}</h3>
      <p class="hint">{docs.tryIt.warning}</p>
      <form onSubmit={submit}>
        <RequestForm operation={operation} form={form} />
        {operation.plane === "login" && <BasicFields />}
        {(operation.plane === "admin" || operation.plane === "client") && <TokenField />}
        <div class="row actions">
          <button type="submit" class="button main" aria-busy={isSending.value}>
            {isSending.value ? docs.tryIt.sending : docs.tryIt.send}
          </button>
        </div>
      </form>
      <p class="outcome" role="status">
        {sentRequest.value !== null && <ResponseStatus {...sentRequest.value.response} />}
      </p>
      {sendError.value !== "" && (
        <Notice kind="bad" title={docs.tryIt.failed}>
          {sendError.value}
        </Notice>
      )}
      {sentRequest.value !== null && <ResponseView {...sentRequest.value} />}
      {isConfirming.value && (
        <Dialog title={docs.tryIt.confirmTitle} onClose={() => (isConfirming.value = false)}>
          <p>{operation.destructionWarning}</p>
          <DialogActions
            actionLabel={docs.tryIt.confirm}
            kind="danger"
            onConfirm={async () => {
              isConfirming.value = false;
              await send();
            }}
            onCancel={() => (isConfirming.value = false)}
          />
        </Dialog>
      )}
    </section>
  );
}

const ResponseStatus = ({ status, milliseconds }: ApiResponse) => (
  <>
    {docs.tryIt.response} <span class={status < 400 ? "good" : "bad"}>{status}</span>{" "}
    <span class="muted">{docs.tryIt.duration(formatNumber(Math.round(milliseconds)))}</span>
  </>
);

function initialFormState(operation: Operation): RequestFormState {
  const values = exampleValues(operation, Date.now());
  const mode = operation.canUploadFile ? "file" : "fields";
  return { values, mode, body: jsonBodyOf(operation, values), file: null };
}

function callerOf({ plane }: Operation): { caller: Caller; authorization: string | null } {
  if (plane === "login")
    return { caller: { user: userName.value }, authorization: basicAuthorization() };
  if (plane === "open" || token.value === null) return { caller: "anonymous", authorization: null };
  return { caller: "token", authorization: `Bearer ${token.value}` };
}
