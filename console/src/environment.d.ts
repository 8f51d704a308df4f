/// <reference types="vite/client" />

/**
 * Types of the part of @event-calendar that the console uses. Dates are exchanged as strings, because the `Date`
 * objects that the library passes to callbacks may be shifted by the time zone.
 */
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

  /** An event as the library passes it to callbacks. */
  export type RenderedEvent = Pick<GridEvent, 'id' | 'title'> & {
    readonly extendedProps: Readonly<Record<string, unknown>>;
  };

  /** Distance in time by which the user has dragged an event or one of its ends. */
  export type Delta = { readonly days: number; readonly seconds: number };

  export type GridOptions = {
    readonly eventClick: (info: { readonly event: RenderedEvent; readonly jsEvent: Event }) => void;
    readonly eventContent: (info: { readonly event: RenderedEvent; readonly timeText: string }) => Content | undefined;
    readonly eventDidMount: (info: { readonly event: RenderedEvent; readonly el: HTMLElement }) => void;
    readonly eventDrop: (info: { readonly event: RenderedEvent; readonly delta: Delta }) => void;
    readonly eventResize: (info: {
      readonly event: RenderedEvent;
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
