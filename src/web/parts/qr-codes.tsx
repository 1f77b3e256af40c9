import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { admin, done, sentenceOf } from "../api.ts";
import { qrCodes } from "../texts/parts.ts";
import { Notice } from "./notice.tsx";

interface Frame {
  readonly svg: string;
}

/** Slow enough for a camera that has to find its focus. */
const TURN = 3_000;

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** A text as QR codes; of several, one after the other. */
export function QrCodes({ text }: { text: string }) {
  const frames = useSignal<readonly Frame[]>([]);
  const wrong = useSignal("");
  useEffect(() => {
    done(admin.qr.post({ text })).then(
      (made) => (frames.value = made.frames),
      (error: unknown) => (wrong.value = sentenceOf(error)),
    );
  }, [text]);
  if (wrong.value !== "") return <Notice kind="bad">{wrong.value}</Notice>;
  const [first, second] = frames.value;
  if (first === undefined) return null;
  return second === undefined ? (
    <figure class="qr one">
      <Picture frame={first} index={1} all={1} />
      <figcaption>{qrCodes.one}</figcaption>
    </figure>
  ) : (
    <Several frames={frames.value} />
  );
}

function Several({ frames }: { frames: readonly Frame[] }) {
  const at = useSignal(0);
  const playing = useSignal(!still.matches);
  const all = frames.length;
  const turn = (by: number): void => {
    at.value = (at.value + by + all) % all;
  };
  useEffect(() => {
    const timer = playing.value ? setInterval(() => turn(1), TURN) : undefined;
    return () => clearInterval(timer);
  }, [playing.value, all]);
  const byHand = (by: number) => () => {
    playing.value = false;
    turn(by);
  };
  const shown = frames[at.value];
  return (
    <figure class="qr">
      {shown !== undefined && <Picture frame={shown} index={at.value + 1} all={all} />}
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

const Picture = ({ frame, index, all }: { frame: Frame; index: number; all: number }) => (
  <img
    src={`data:image/svg+xml,${encodeURIComponent(frame.svg)}`}
    alt={qrCodes.alt(index, all)}
    width={320}
    height={320}
  />
);
