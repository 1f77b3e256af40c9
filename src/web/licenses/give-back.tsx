import { signal, useSignal } from "@preact/signals";
import { admin, done, Refused } from "../api.ts";
import { number } from "../format.ts";
import { Answers } from "../parts/answers.tsx";
import { Button } from "../parts/button.tsx";
import { Check } from "../parts/check.tsx";
import { Command } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { HandOver } from "../parts/hand-over.tsx";
import { Notice } from "../parts/notice.tsx";
import { giveBack } from "../texts/licenses.ts";
import { readKnown } from "./known.ts";
import type { Standing } from "./license.ts";

interface GivenBack {
  readonly id: number;
  readonly product: string;
  readonly text: string;
}

/** Outlives the license it is of, and the screen that showed it. */
const receipt = signal<GivenBack | null>(null);
const isOpen = signal(false);

/** For good; so it is asked first, and nothing is lost by asking twice. */
export function GiveBack({ standing }: { standing: Standing }) {
  const asking = useSignal(false);
  return (
    <section class="card">
      <h3>{giveBack.title}</h3>
      <p>{giveBack.text}</p>
      <Button kind="danger" onClick={() => void (asking.value = true)}>
        {giveBack.open}
      </Button>
      {asking.value && <Asked standing={standing} onClose={() => (asking.value = false)} />}
    </section>
  );
}

function Asked({ standing, onClose }: { standing: Standing; onClose: () => void }) {
  const borrowed = useSignal(false);
  const withBorrows = useSignal(false);
  const { license_id: id, product, floating_slots_in_use: held } = standing;
  const act = async (): Promise<void> => {
    const body = { license_id: String(id), with_borrows: String(withBorrows.value) };
    const { receipt: text } = await done(admin.licenses.remove.post(body)).catch(noteBorrows);
    receipt.value = { id, product, text };
    isOpen.value = true;
    void readKnown();
  };
  const noteBorrows = (error: unknown): never => {
    borrowed.value ||= error instanceof Refused && error.code === "slots_borrowed";
    throw error;
  };
  return (
    <Dialog title={giveBack.ask(product)} onClose={onClose}>
      <ul>
        <li>{giveBack.forGood}</li>
        <li>{held === 0 ? giveBack.noSlots : giveBack.slots(number(held), held)}</li>
        <li>{giveBack.receipt}</li>
      </ul>
      {borrowed.value && <Check label={giveBack.borrows} value={withBorrows} />}
      <Answers act={giveBack.sure} kind="danger" onAct={act} onCancel={onClose} />
      <Command text={`berth license remove ${id} --out receipt.jwt`} />
    </Dialog>
  );
}

/** Offered as long as this page is open: closing it too early must not lose anything. */
export function Receipt() {
  if (receipt.value === null) return null;
  const { id, product, text } = receipt.value;
  if (!isOpen.value) {
    return (
      <Notice kind="note" title={giveBack.done(product)}>
        <Button onClick={() => void (isOpen.value = true)}>{giveBack.showAgain}</Button>
      </Notice>
    );
  }
  return (
    <Dialog title={giveBack.done(product)} onClose={() => (isOpen.value = false)}>
      <p>{giveBack.send}</p>
      <HandOver text={text} filename={`berth-receipt-${id}.jwt`} />
      <p>{giveBack.vendor}</p>
      <Command text={giveBack.vendorCommand} />
      <p>{giveBack.again}</p>
      <Command text={`berth license remove ${id} --out receipt.jwt`} />
      <div class="row way">
        <Button kind="main" onClick={() => void (receipt.value = null)}>
          {giveBack.finish}
        </Button>
      </div>
    </Dialog>
  );
}
