import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { errorMessageOf } from "../api.ts";
import { formatNumber } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { token } from "../session.ts";
import { docs } from "../texts/docs.ts";
import { frame } from "../texts/frame.ts";
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

/** The call itself, made from this page to the server that the page came from. */
export function TryIt({ operation }: { operation: Operation }) {
  const filled = useSignal(initialFormState(operation));
  const busy = useSignal(false);
  const asking = useSignal(false);
  const wrong = useSignal("");
  const sent = useSignal<SentRequest | null>(null);
  const id = useId();
  const act = async (): Promise<void> => {
    const sending = buildRequest(operation, filled.value);
    const { caller, authorization } = callerOf(operation);
    busy.value = true;
    wrong.value = "";
    sent.value = null;
    try {
      const answer = await sendRequest(sending, authorization);
      sent.value = { response: answer, curlCommand: curlCommand(location.origin, sending, caller) };
    } catch (error) {
      wrong.value = errorMessageOf(error);
    } finally {
      busy.value = false;
    }
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (busy.value) return;
    if (operation.destructionWarning !== null) asking.value = true;
    else void act();
  };
  return (
    <section class="card try" aria-labelledby={id}>
      <h3 id={id}>{docs.tryIt.title}</h3>
      <p class="hint">{docs.tryIt.warning}</p>
      <form onSubmit={submit}>
        <RequestForm operation={operation} form={filled} />
        {operation.plane === "login" && <BasicFields />}
        {(operation.plane === "admin" || operation.plane === "client") && <TokenField />}
        <button type="submit" class="button main" aria-busy={busy.value}>
          {busy.value ? docs.tryIt.sending : docs.tryIt.send}
        </button>
      </form>
      <p class="outcome" role="status">
        {sent.value !== null && <ResponseStatus {...sent.value.response} />}
      </p>
      {wrong.value !== "" && (
        <Notice kind="bad" title={docs.tryIt.failed}>
          {wrong.value}
        </Notice>
      )}
      {sent.value !== null && <ResponseView {...sent.value} />}
      {asking.value && (
        <Dialog title={docs.tryIt.confirmTitle} onClose={() => (asking.value = false)}>
          <p>{operation.destructionWarning}</p>
          <div class="row">
            <Button
              kind="danger"
              onClick={() => {
                asking.value = false;
                void act();
              }}
            >
              {docs.tryIt.confirm}
            </Button>
            <Button onClick={() => void (asking.value = false)}>{frame.cancel}</Button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

const ResponseStatus = ({ status, milliseconds }: ApiResponse) => (
  <>
    {docs.tryIt.response} <span class={status < 400 ? "good" : "bad"}>{status}</span>{" "}
    <span class="quiet">{docs.tryIt.duration(formatNumber(Math.round(milliseconds)))}</span>
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
  if (plane === "open" || token.value === null) return { caller: "nobody", authorization: null };
  return { caller: "token", authorization: `Bearer ${token.value}` };
}
