import { useSignal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";
import { berthCommand } from "../commands.ts";
import { formatNumber } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { frame } from "../parts/common-texts.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Notice } from "../parts/notice.tsx";
import { releaseAllCommand } from "./release-command.ts";
import type { ReleaseOutcome } from "./release-dialog.tsx";
import { slotList } from "./slot-data.ts";
import { slots } from "./slots-texts.ts";

interface Props {
  readonly product: string;
  readonly inUse: number;
  readonly borrowed: number;
  readonly onClose: () => void;
  readonly onReleased: (outcome: ReleaseOutcome) => void;
}

/** Releases every slot of a product, after its name was typed. */
export function ReleaseProductDialog({ product, inUse, borrowed, onClose, onReleased }: Props) {
  const { allOfProduct, dialog } = slots;
  const typed = useSignal("");
  const release = async (): Promise<void> => {
    const { released, remaining } = await unwrapReply(
      admin.registrations.release.all.post({ product }),
    );
    await slotList.refresh();
    onReleased({
      released: allOfProduct.released(formatNumber(released), released, product),
      notReleased:
        remaining === 0 ? [] : [allOfProduct.remaining(remaining, formatNumber(remaining))],
    });
    onClose();
  };
  return (
    <Dialog title={allOfProduct.title(product)} onClose={onClose}>
      <p>{allOfProduct.text(product, inUse, formatNumber(inUse))}</p>
      <p>{dialog.consequence(inUse)}</p>
      {borrowed > 0 && (
        <Notice kind="warn">{dialog.borrowed(borrowed, formatNumber(borrowed), inUse)}</Notice>
      )}
      <Field label={allOfProduct.field(product)} value={typed} />
      <CliCommands commands={[berthCommand(releaseAllCommand(product))]} />
      <div class="row actions">
        <Button onClick={onClose}>{frame.cancel}</Button>
        <Button kind="danger" onClick={release} disabled={typed.value.trim() !== product}>
          {allOfProduct.confirm}
        </Button>
      </div>
    </Dialog>
  );
}
