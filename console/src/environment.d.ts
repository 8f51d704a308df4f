/// <reference types="vite/client" />

/** The calendar, so far as it is used here. Its dates go in as texts; what it hands back as Date may have been shifted. */
declare module '@event-calendar/build/dist/event-calendar.min.js' {
  export type Content = { readonly domNodes: readonly Node[] };

  export type GridEvent = {
    readonly id: string;
    readonly allDay: boolean;
    readonly start: string;
    readonly end: string;
    readonly title: string;
    readonly display?: 'auto' | 'background';
    readonly startEditable?: boolean;
    readonly durationEditable?: boolean;
    readonly classNames?: readonly string[];
    readonly styles?: readonly string[];
    readonly extendedProps?: Readonly<Record<string, unknown>>;
  };

  /** An event as it is handed back. */
  export type Seen = Pick<GridEvent, 'id' | 'title'> & { readonly extendedProps: Readonly<Record<string, unknown>> };

  /** How far something was dragged. */
  export type Delta = { readonly days: number; readonly seconds: number };

  export type GridOptions = {
    readonly eventClick: (info: { readonly event: Seen; readonly jsEvent: Event }) => void;
    readonly eventContent: (info: { readonly event: Seen; readonly timeText: string }) => Content | undefined;
    readonly eventDidMount: (info: { readonly event: Seen; readonly el: HTMLElement }) => void;
    readonly eventDrop: (info: { readonly event: Seen; readonly delta: Delta }) => void;
    readonly eventResize: (info: {
      readonly event: Seen;
      readonly startDelta: Delta;
      readonly endDelta: Delta;
    }) => void;
    readonly dateClick: (info: { readonly dateStr: string; readonly allDay: boolean }) => void;
    readonly select: (info: { readonly startStr: string; readonly endStr: string; readonly allDay: boolean }) => void;
    readonly [name: string]: unknown;
  };

  export interface Grid {
    setOption(name: string, value: unknown): Grid;
    unselect(): Grid;
  }

  export function create(target: HTMLElement, options: GridOptions): Grid;
  export function destroy(grid: Grid): Promise<void>;
}
