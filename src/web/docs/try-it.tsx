import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { sentenceOf } from "../api.ts";
import { number } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { token } from "../session.ts";
import { docs } from "../texts/docs.ts";
import { frame } from "../texts/frame.ts";
import { send, type Answer } from "./answer.ts";
import { AnswerView } from "./answer-view.tsx";
import { Basic, basicOf, Bearer, name } from "./credentials.tsx";
import { curlLine, type Caller } from "./curl.ts";
import type { Operation } from "./document.ts";
import { RequestForm } from "./request-form.tsx";
import { bodyOf, exampleValues, sendingOf, type Filled } from "./sending.ts";

interface Sent {
  readonly answer: Answer;
  readonly line: string;
}

/** The call itself, made from this page to the server that the page came from. */
export function TryIt({ operation }: { operation: Operation }) {
  const filled = useSignal(firstFilled(operation));
  const busy = useSignal(false);
  const asking = useSignal(false);
  const wrong = useSignal("");
  const sent = useSignal<Sent | null>(null);
  const id = useId();
  const act = async (): Promise<void> => {
    const sending = sendingOf(operation, filled.value);
    const { caller, authorization } = callerOf(operation);
    busy.value = true;
    wrong.value = "";
    sent.value = null;
    try {
      const answer = await send(sending, authorization);
      sent.value = { answer, line: curlLine(location.origin, sending, caller) };
    } catch (error) {
      wrong.value = sentenceOf(error);
    } finally {
      busy.value = false;
    }
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (busy.value) return;
    if (operation.destroys !== null) asking.value = true;
    else void act();
  };
  return (
    <section class="card try" aria-labelledby={id}>
      <h3 id={id}>{docs.tryIt.title}</h3>
      <p class="hint">{docs.tryIt.warning}</p>
      <form onSubmit={submit}>
        <RequestForm operation={operation} filled={filled} />
        {operation.plane === "login" && <Basic />}
        {(operation.plane === "admin" || operation.plane === "client") && <Bearer />}
        <button type="submit" class="button main" aria-busy={busy.value}>
          {busy.value ? docs.tryIt.sending : docs.tryIt.send}
        </button>
      </form>
      <p class="outcome" role="status">
        {sent.value !== null && <Outcome {...sent.value.answer} />}
      </p>
      {wrong.value !== "" && (
        <Notice kind="bad" title={docs.tryIt.failed}>
          {wrong.value}
        </Notice>
      )}
      {sent.value !== null && <AnswerView {...sent.value} />}
      {asking.value && (
        <Dialog title={docs.tryIt.sure} onClose={() => (asking.value = false)}>
          <p>{operation.destroys}</p>
          <div class="row">
            <Button
              kind="danger"
              onClick={() => {
                asking.value = false;
                void act();
              }}
            >
              {docs.tryIt.go}
            </Button>
            <Button onClick={() => void (asking.value = false)}>{frame.cancel}</Button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

const Outcome = ({ status, milliseconds }: Answer) => (
  <>
    {docs.tryIt.answer} <span class={status < 400 ? "good" : "bad"}>{status}</span>{" "}
    <span class="quiet">{docs.tryIt.took(number(Math.round(milliseconds)))}</span>
  </>
);

function firstFilled(operation: Operation): Filled {
  const values = exampleValues(operation, Date.now());
  const mode = operation.takesFile ? "file" : "fields";
  return { values, mode, body: bodyOf(operation, values), file: null };
}

function callerOf({ plane }: Operation): { caller: Caller; authorization: string | null } {
  if (plane === "login") return { caller: { user: name.value }, authorization: basicOf() };
  if (plane === "open" || token.value === null) return { caller: "nobody", authorization: null };
  return { caller: "token", authorization: `Bearer ${token.value}` };
}
