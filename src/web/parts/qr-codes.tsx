import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { admin, unwrapReply } from "../api.ts";
import { useQuery } from "../use-query.ts";
import { qrCodes } from "./parts-texts.ts";
import { QueryContent } from "./query-content.tsx";

interface QrFrame {
  readonly svg: string;
}

/** Slow enough for a camera that has to focus. */
const FRAME_INTERVAL = 3_000;

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

/** A text as QR codes; several codes are shown one after the other. */
export function QrCodes({ text }: { text: string }) {
  const query = useQuery(
    async (signal) => (await unwrapReply(admin.qr.post({ text }, { fetch: { signal } }))).frames,
    [text],
    { watch: () => null },
  );
  return <QueryContent query={query}>{(frames) => <QrFigure frames={frames} />}</QueryContent>;
}

function QrFigure({ frames }: { frames: readonly QrFrame[] }) {
  const [first, second] = frames;
  if (first === undefined) return null;
  return second === undefined ? (
    <figure class="qr one">
      <QrImage frame={first} index={1} total={1} />
      <figcaption>{qrCodes.one}</figcaption>
    </figure>
  ) : (
    <QrSequence frames={frames} />
  );
}

function QrSequence({ frames }: { frames: readonly QrFrame[] }) {
  const index = useSignal(0);
  const isPlaying = useSignal(!reducedMotion.matches);
  const all = frames.length;
  const turn = (by: number): void => {
    index.value = (index.value + by + all) % all;
  };
  useEffect(() => {
    const timer = isPlaying.value ? setInterval(() => turn(1), FRAME_INTERVAL) : undefined;
    return () => clearInterval(timer);
  }, [isPlaying.value, all]);
  const turnManually = (by: number) => () => {
    isPlaying.value = false;
    turn(by);
  };
  const frame = frames[index.value];
  return (
    <figure class="qr">
      {frame !== undefined && <QrImage frame={frame} index={index.value + 1} total={all} />}
      <figcaption>
        <strong aria-live={isPlaying.value ? "off" : "polite"}>
          {qrCodes.frame(index.value + 1, all)}
        </strong>
        <span class="row">
          <button type="button" class="button" onClick={turnManually(-1)}>
            {qrCodes.previous}
          </button>
          <button type="button" class="button" onClick={() => (isPlaying.value = !isPlaying.value)}>
            {isPlaying.value ? qrCodes.pause : qrCodes.play}
          </button>
          <button type="button" class="button" onClick={turnManually(1)}>
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
