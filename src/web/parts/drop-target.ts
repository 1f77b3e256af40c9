import { signal } from "@preact/signals";

/**
 * The place for a file that is on the screen now. A file that is dropped anywhere on the page goes
 * to it, if it takes that kind of file.
 */
export interface DropTarget {
  readonly receive: (file: File) => void;
  /** Whether it receives files of this kind. */
  readonly takes: (kind: string) => boolean;
}

/** Null: no place for a file is on the screen. */
export const dropTarget = signal<DropTarget | null>(null);

/** A file is being dragged over the page. */
export const isDragging = signal(false);
