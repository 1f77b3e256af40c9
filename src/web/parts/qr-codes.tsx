import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { admin, unwrapReply, errorMessageOf } from "../api.ts";
import { qrCodes } from "../texts/parts.ts";
import { Notice } from "./notice.tsx";

interface QrFrame {
  readonly svg: string;
}

/** Slow enough for a camera that has to find its focus. */
const FRAME_INTERVAL = 3_000;

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

/** A text as QR codes; of several, one after the other. */
export function QrCodes({ text }: { text: string }) {
  const frames = useSignal<readonly QrFrame[]>([]);
  const wrong = useSignal("");
  useEffect(() => {
    unwrapReply(admin.qr.post({ text })).then(
      (made) => (frames.value = made.frames),
      (error: unknown) => (wrong.value = errorMessageOf(error)),
    );
  }, [text]);
  if (wrong.value !== "") return <Notice kind="bad">{wrong.value}</Notice>;
  const [first, second] = frames.value;
  if (first === undefined) return null;
  return second === undefined ? (
    <figure class="qr one">
      <QrImage frame={first} index={1} total={1} />
      <figcaption>{qrCodes.one}</figcaption>
    </figure>
  ) : (
    <QrSequence frames={frames.value} />
  );
}

function QrSequence({ frames }: { frames: readonly QrFrame[] }) {
  const at = useSignal(0);
  const playing = useSignal(!reducedMotion.matches);
  const all = frames.length;
  const turn = (by: number): void => {
    at.value = (at.value + by + all) % all;
  };
  useEffect(() => {
    const timer = playing.value ? setInterval(() => turn(1), FRAME_INTERVAL) : undefined;
    return () => clearInterval(timer);
  }, [playing.value, all]);
  const byHand = (by: number) => () => {
    playing.value = false;
    turn(by);
  };
  const shown = frames[at.value];
  return (
    <figure class="qr">
      {shown !== undefined && <QrImage frame={shown} index={at.value + 1} total={all} />}
      <figcaption>
        <strong aria-live={playing.value ? "off" : "polite"}>
          {qrCodes.frame(at.value + 1, all)}
        </strong>
        <span class="row">
          <button type="button" class="button" onClick={byHand(-1)}>
            {qrCodes.previous}
          </button>
          <button type="button" class="button" onClick={() => (playing.value = !playing.value)}>
            {playing.value ? qrCodes.pause : qrCodes.play}
          </button>
          <button type="button" class="button" onClick={byHand(1)}>
            {qrCodes.next}
          </button>
        </span>
        <span>{qrCodes.several}</span>
      </figcaption>
    </figure>
  );
}

const QrImage = ({ frame, index, total }: { frame: QrFrame; index: number; total: number }) => (
  <img
    src={`data:image/svg+xml,${encodeURIComponent(frame.svg)}`}
    alt={qrCodes.alt(index, total)}
    width={320}
    height={320}
  />
);
